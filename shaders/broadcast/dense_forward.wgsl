// h[b,o] = f(z), slope[b,o] = f'(z), z = sum_i x[b,i] kernel[i,o] + bias[o]
// A lane has two rows x 16 columns; the rows of the kernel are broadcast. Reads activations and params, writes
// activations. Columns past the end of a row are computed from what lies there, and dropped.

fn dense_forward(l: Layer, tile: u32, lane: u32) {
    let stride = l.output_vectors;
    let row0 = 2u * LANES * (tile % ROW_TILES) + lane;
    let row1 = row0 + LANES;
    let column = 4u * (tile / ROW_TILES);
    let x = model * ACTIVATIONS_SIZE + l.input;
    let x0 = x + min(row0, ROWS - 1u) * l.input_vectors;
    let x1 = x + min(row1, ROWS - 1u) * l.input_vectors;
    // Lanes 0..3 read one row of the kernel, lanes 4..7 the next.
    var kernel = model * PARAMS_SIZE + l.kernel + column + lane % 4u + select(lane / 4u % 2u, 0u, NARROW) * stride;
    let bias = first_four(params[model * PARAMS_SIZE + l.bias + column + lane % 4u]);
    var z0 = bias;
    var z1 = bias;
    for (var k = 0u; k < l.input_vectors; k++) {
        let h0 = activations[x0 + k];
        let h1 = activations[x1 + k];
        let w0 = params[kernel];
        let w2 = params[kernel + 2u * stride];
        var w1 = w0;
        var w3 = w2;
        if (NARROW) {
            w1 = params[kernel + stride];
            w3 = params[kernel + 3u * stride];
        }
        let r0 = first_four(w0);
        z0 += h0.x * r0;
        z1 += h1.x * r0;
        let r1 = second_four(w1);
        z0 += h0.y * r1;
        z1 += h1.y * r1;
        let r2 = first_four(w2);
        z0 += h0.z * r2;
        z1 += h1.z * r2;
        let r3 = second_four(w3);
        z0 += h0.w * r3;
        z1 += h1.w * r3;
        kernel += 4u * stride;
    }
    for (var r = 0u; r < 2u * min(4u, stride - column); r++) {
        let row = row0 + r % 2u * LANES;
        if (row < ROWS) {
            store_output(l, row, column + r / 2u, result_of(z0, z1, r));
        }
    }
}
