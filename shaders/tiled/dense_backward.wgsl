// delta'[b,i] = slope'[b,i] sum_o delta[b,o] kernel[i,o], where ' is the layer before.
// A tile is 4 SIDE rows x 4 SIDE columns. Reads activations and params, writes activations.

fn dense_backward(l: Layer, tile: u32, lane: u32) {
    let delta = Matrix(model * ACTIVATIONS_SIZE + l.delta, ROWS, l.output_vectors);
    let kernel = Matrix(model * PARAMS_SIZE + l.kernel, 4u * l.input_vectors, l.output_vectors);
    let b = 4u * SIDE * (tile % ROW_TILES);
    let first_column = SIDE * (tile / ROW_TILES);
    var derivative = mat4x4<f32>();
    for (var k = 0u; k < l.outputs; k += DEPTH) {
        stage_left_transposed(delta, b, k / 4u, lane);
        stage_right_transposed(kernel, 4u * first_column, k / 4u, lane);
        multiply_staged(&derivative, l.outputs - k, lane);
    }
    let column = first_column + lane % SIDE;
    if (column < l.input_vectors) {
        for (var r = 0u; r < 4u; r++) {
            let row = b + 4u * (lane / SIDE) + r;
            if (row < ROWS) {
                store_delta(l, row, column, derivative[r]);
            }
        }
    }
}
