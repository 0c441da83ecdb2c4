// Gathers a batch from the table on the device.
// r[b] = randint(sub, 0, TABLE_ROWS)[b], (key, sub) = split(key);  x[b] = features[r[b]];  y[b] = targets[r[b]]
// One invocation = one row. Writes x and y, zero past BATCH.

fn sample(tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= ROWS) {
        return;
    }
    let last = LAYERS[LAYER_COUNT - 1u];
    let row = random_integer(fold_in(state[model].yz, 1u), b, TABLE_ROWS);
    let x = model * ACTIVATIONS_SIZE + X + b * X_VECTORS;
    for (var v = 0u; v < X_VECTORS; v++) {
        activations[x + v] = select(vec4<f32>(), data[FEATURES + row * X_VECTORS + v], b < BATCH);
    }
    let y = model * ACTIVATIONS_SIZE + TARGET + b * last.output_vectors;
    for (var v = 0u; v < last.output_vectors; v++) {
        activations[y + v] = select(vec4<f32>(), data[TARGETS + row * last.output_vectors + v], b < BATCH);
    }
}
