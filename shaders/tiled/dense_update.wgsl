// g[i,o] = sum_b x[b,i] delta[b,o], gb[o] = sum_b delta[b,o]; kernel and bias are updated from them,
// or they are stored.
// A tile is 4 SIDE inputs x 4 SIDE outputs. Reads activations, updates params and optimizer, or writes grads.

fn dense_update(l: Layer, tile: u32, lane: u32) {
    let x = Matrix(model * ACTIVATIONS_SIZE + l.input, ROWS, l.input_vectors);
    let delta = Matrix(model * ACTIVATIONS_SIZE + l.delta, ROWS, l.output_vectors);
    let row_vector = SIDE * (tile % l.update_row_tiles);
    let column = SIDE * (tile / l.update_row_tiles) + lane % SIDE;
    var g = mat4x4<f32>();
    var bias = vec4<f32>();
    for (var b = 0u; b < ROWS; b += DEPTH) {
        for (var part = lane; part < STAGED; part += LANES) {
            left[part] = load_activation(x, b + part / SIDE, row_vector + lane % SIDE);
            right[part] = load_activation(delta, b + part / SIDE, column);
        }
        bias += multiply_staged(&g, ROWS - b, lane);
    }
    let i = 4u * (row_vector + lane / SIDE);
    if (column < l.output_vectors) {
        let hyper = load_hyper(lane);
        for (var r = 0u; r < 4u; r++) {
            if (i + r < l.inputs) {
                use_gradient(l.kernel + (i + r) * l.output_vectors + column, g[r], false, hyper);
            }
        }
        if (i == 0u) {
            use_gradient(l.bias + column, bias, true, hyper);
        }
    }
}
