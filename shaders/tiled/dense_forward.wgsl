// h[b,o] = f(z), slope[b,o] = f'(z), z = sum_i x[b,i] kernel[i,o] + bias[o]
// A tile is 4 SIDE rows x 4 SIDE columns. Reads activations and params, writes activations.

fn dense_forward(l: Layer, tile: u32, lane: u32) {
    let x = Matrix(model * ACTIVATIONS_SIZE + l.input, ROWS, l.input_vectors);
    let kernel = Matrix(model * PARAMS_SIZE + l.kernel, l.inputs, l.output_vectors);
    let b = 4u * SIDE * (tile % ROW_TILES);
    let column = SIDE * (tile / ROW_TILES) + lane % SIDE;
    var z = mat4x4<f32>();
    for (var k = 0u; k < l.inputs; k += DEPTH) {
        stage_left_transposed(x, b, k / 4u, lane);
        for (var part = lane; part < STAGED; part += LANES) {
            right[part] = load_parameter(kernel, k + part / SIDE, column);
        }
        multiply_staged(&z, l.inputs - k, lane);
    }
    if (column < l.output_vectors) {
        let bias = params[model * PARAMS_SIZE + l.bias + column];
        for (var r = 0u; r < 4u; r++) {
            let row = b + 4u * (lane / SIDE) + r;
            if (row < ROWS) {
                store_output(l, row, column, z[r] + bias);
            }
        }
    }
}
