// delta'[b,i] = slope'[b,i] sum_o delta[b,o] kernel[i,o], where ' is the layer before.
// A lane has two rows x 16 columns; 16 rows of the kernel are broadcast, four numbers of each at a time. Reads
// activations and params, writes activations.

fn dense_backward(l: Layer, tile: u32, lane: u32) {
    let stride = l.output_vectors;
    let row0 = 2u * LANES * (tile % ROW_TILES) + lane;
    let row1 = row0 + LANES;
    let column = 4u * (tile / ROW_TILES);
    let delta = model * ACTIVATIONS_SIZE + l.delta;
    let delta0 = delta + min(row0, ROWS - 1u) * stride;
    let delta1 = delta + min(row1, ROWS - 1u) * stride;
    // Lane j reads kernel row j and row 8 + j of the tile; where there are but four lanes, also rows 4 + j and 12 + j.
    let last = 4u * l.input_vectors - 1u;
    let i = 4u * column + lane % 8u;
    let kernel = model * PARAMS_SIZE + l.kernel;
    let kernel0 = kernel + min(i, last) * stride;
    let kernel1 = kernel + min(i + 4u, last) * stride;
    let kernel2 = kernel + min(i + 8u, last) * stride;
    let kernel3 = kernel + min(i + 12u, last) * stride;
    var d0 = mat4x4<f32>();
    var d1 = mat4x4<f32>();
    for (var k = 0u; k < stride; k++) {
        let e0 = activations[delta0 + k];
        let e1 = activations[delta1 + k];
        let w0 = params[kernel0 + k];
        let w2 = params[kernel2 + k];
        var w1 = w0;
        var w3 = w2;
        if (NARROW) {
            w1 = params[kernel1 + k];
            w3 = params[kernel3 + k];
        }
        let r0 = first_four(w0);
        let r1 = second_four(w1);
        let r2 = first_four(w2);
        let r3 = second_four(w3);
        d0 += mat4x4<f32>(e0 * r0, e0 * r1, e0 * r2, e0 * r3);
        d1 += mat4x4<f32>(e1 * r0, e1 * r1, e1 * r2, e1 * r3);
    }
    for (var r = 0u; r < 2u * min(4u, l.input_vectors - column); r++) {
        let row = row0 + r % 2u * LANES;
        if (row < ROWS) {
            store_delta(l, row, column + r / 2u, result_of(d0, d1, r));
        }
    }
}
