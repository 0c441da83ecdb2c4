// Layer normalization between a hidden layer's product and its activation, without products: rows by rows.
// n[b,o] = (z[b,o] - mean_o z[b]) / sqrt(var_o z[b] + 1e-6);  a = n scale + bias;  h = f(a)
// Reference: Ba, Kiros, Hinton (2016), "Layer normalization".

struct Norm {
    scale: u32, // (outputs) in params
    bias: u32, // (outputs) in params
    normalized: u32, // (ROWS, outputs) in activations: n
    inverse: u32, // (ROWS, 1) in activations: 1 / sqrt(var + 1e-6)
    delta: u32, // (ROWS, outputs) in activations: slope of f, then the derivative of the loss by a
    update_tiles: u32,
}

// From z, which the product left in h, to h. One invocation = one row.
fn layer_norm_forward(l: Layer, tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= ROWS) {
        return;
    }
    let n = NORMS[l.index];
    let base = model * ACTIVATIONS_SIZE;
    let row = base + b * l.output_vectors;
    var sum = vec4<f32>();
    for (var v = 0u; v < l.output_vectors; v++) {
        sum += activations[row + l.output + v];
    }
    let mean = dot(sum, vec4<f32>(1.0)) / f32(l.outputs);
    var squares = vec4<f32>();
    for (var v = 0u; v < l.output_vectors; v++) {
        let d = keep_columns(activations[row + l.output + v] - mean, v, l.outputs);
        squares += d * d;
    }
    let inverse = 1.0 / sqrt(dot(squares, vec4<f32>(1.0)) / f32(l.outputs) + NORM_EPS);
    activations[base + n.inverse + b] = vec4<f32>(inverse, 0.0, 0.0, 0.0);
    for (var v = 0u; v < l.output_vectors; v++) {
        let normalized = keep_columns((activations[row + l.output + v] - mean) * inverse, v, l.outputs);
        activations[row + n.normalized + v] = flush(normalized, TINY);
        let a = normalized * params[model * PARAMS_SIZE + n.scale + v] + params[model * PARAMS_SIZE + n.bias + v];
        store_activation(l, n.delta, b, v, a);
    }
}

// delta = (g - mean g - n mean(g n)) / sqrt(var + 1e-6), g = da scale, da the derivative by a. One invocation = one row.
fn layer_norm_backward(l: Layer, tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= ROWS) {
        return;
    }
    let n = NORMS[l.index];
    let base = model * ACTIVATIONS_SIZE;
    let row = base + b * l.output_vectors;
    let scale = model * PARAMS_SIZE + n.scale;
    var sum = vec4<f32>();
    var product = vec4<f32>();
    for (var v = 0u; v < l.output_vectors; v++) {
        let g = activations[row + n.delta + v] * params[scale + v];
        sum += g;
        product += g * activations[row + n.normalized + v];
    }
    let mean = dot(sum, vec4<f32>(1.0)) / f32(l.outputs);
    let mean_product = dot(product, vec4<f32>(1.0)) / f32(l.outputs);
    let inverse = activations[base + n.inverse + b].x;
    for (var v = 0u; v < l.output_vectors; v++) {
        let g = activations[row + n.delta + v] * params[scale + v];
        let d = inverse * (g - mean - activations[row + n.normalized + v] * mean_product);
        activations[row + l.delta + v] = flush(keep_columns(d, v, l.outputs), TINY);
    }
}

// gscale[o] = sum_b da[b,o] n[b,o], gbias[o] = sum_b da[b,o], of all layers. One invocation = four columns.
fn layer_norm_update(tile: u32, lane: u32) {
    var rest = tile;
    var layer = 0u;
    while (rest >= NORMS[layer].update_tiles) {
        rest -= NORMS[layer].update_tiles;
        layer++;
    }
    let hyper = load_hyper(lane);
    let n = NORMS[layer];
    let vectors = LAYERS[layer].output_vectors;
    let v = rest * LANES + lane;
    if (v >= vectors) {
        return;
    }
    var scale = vec4<f32>();
    var bias = vec4<f32>();
    var at = model * ACTIVATIONS_SIZE + v;
    for (var b = 0u; b < BATCH; b++) {
        let d = activations[at + n.delta];
        bias += d;
        scale += d * activations[at + n.normalized];
        at += vectors;
    }
    // A loop, since what stands in it is compiled once.
    for (var part = 0u; part < 2u; part++) {
        let is_bias = part == 1u;
        use_gradient(select(n.scale, n.bias, is_bias) + v, select(scale, bias, is_bias), true, hyper);
    }
}

// The ops in the persistent loop, which walks a row tile per LANES rows. The last layer has none.
fn after_forward(l: Layer, lane: u32) {
    let tiles = select(NORM_TILES, 0u, l.is_last != 0u);
    for (var tile = 0u; tile < tiles; tile++) {
        layer_norm_forward(l, tile, lane);
    }
    synchronize();
}

// The op of the layer before `l`; before the first there is none.
fn after_backward(l: Layer, lane: u32) {
    let tiles = select(NORM_TILES, 0u, l.index == 0u);
    for (var tile = 0u; tile < tiles; tile++) {
        layer_norm_backward(LAYERS[l.index - 1u], tile, lane);
    }
    synchronize();
}

fn after_update(lane: u32) {
    for (var tile = 0u; tile < NORM_UPDATE_TILES; tile++) {
        layer_norm_update(tile, lane);
    }
}
