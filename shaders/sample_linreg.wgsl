// Draws the batch of the synthetic task.
// x[b,i] = normal(sub, b I + i);  y[b,o] = sum_i x[b,i] true_weights[i,o] + true_bias[o] + 0.1 normal(sub, b O + o)
// with (key, sub) = split(key); x and noise share `sub`. One invocation = one row. Writes x and y, zero past BATCH.

fn sample(tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= ROWS) {
        return;
    }
    let sub = step_key();
    let last = LAYERS[LAYER_COUNT - 1u];
    let x = model * ACTIVATIONS_SIZE + X + b * X_VECTORS;
    for (var v = 0u; v < X_VECTORS; v++) {
        activations[x + v] = batch_normals(sub, b, v, X_COLUMNS);
    }
    let y = model * ACTIVATIONS_SIZE + TARGET + b * last.output_vectors;
    let truth = model * DATA_SIZE;
    for (var v = 0u; v < last.output_vectors; v++) {
        var sum = vec4<f32>();
        var weights = truth + TRUE_WEIGHTS + v;
        for (var k = 0u; k < X_VECTORS; k++) {
            let h = activations[x + k];
            sum += h.x * data[weights];
            sum += h.y * data[weights + last.output_vectors];
            sum += h.z * data[weights + 2u * last.output_vectors];
            sum += h.w * data[weights + 3u * last.output_vectors];
            weights += 4u * last.output_vectors;
        }
        let noise = batch_normals(sub, b, v, last.outputs);
        sum = sum + data[truth + TRUE_BIAS + v] + 0.1 * noise;
        activations[y + v] = select(vec4<f32>(), keep_columns(sum, v, last.outputs), b < BATCH);
    }
}

fn batch_rows() -> u32 {
    return BATCH;
}

// The key of the random numbers of this step.
fn step_key() -> vec2<u32> {
    return fold_in(state[model].yz, 1u);
}

// The key of the next step.
fn next_key() -> vec2<u32> {
    return fold_in(state[model].yz, 0u);
}

// Vector `vector` of row b of a matrix of normals `width` wide; zero where the batch has no element.
fn batch_normals(key: vec2<u32>, b: u32, vector: u32, width: u32) -> vec4<f32> {
    let index = vec4<u32>(b * width + 4u * vector) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(), keep_columns(random_normal(key, index), vector, width), b < BATCH);
}
