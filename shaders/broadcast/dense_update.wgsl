// g[i,o] = sum_b x[b,i] delta[b,o], gb[o] = sum_b delta[b,o]; kernel and bias are updated from them.
// A lane has eight inputs x four outputs; eight inputs of four rows are broadcast. Reads activations, updates params and
// optimizer.

fn dense_update(layer: u32, tile: u32, lane: u32) {
    let l = LAYERS[layer];
    let row_vector = 2u * (tile % l.update_row_tiles);
    let column = LANES * (tile / l.update_row_tiles) + lane;
    // Lanes 2j and 2j + 1 read two neighboring vectors of row j.
    let x = model * ACTIVATIONS_SIZE + l.input;
    let row = select(lane / 2u % 4u, lane / 2u, NARROW);
    var at = x + row * l.input_vectors + min(row_vector + lane % 2u, l.input_vectors - 1u);
    var delta = model * ACTIVATIONS_SIZE + l.delta + min(column, l.output_vectors - 1u);
    var g0 = mat4x4<f32>();
    var g1 = mat4x4<f32>();
    var bias = vec4<f32>();
    for (var b = 0u; b < ROWS; b += 4u) {
        let d0 = activations[delta];
        let d1 = activations[delta + l.output_vectors];
        let d2 = activations[delta + 2u * l.output_vectors];
        let d3 = activations[delta + 3u * l.output_vectors];
        let x01 = activations[at];
        var x23 = x01;
        if (NARROW) {
            x23 = activations[at + 2u * l.input_vectors];
        }
        let r01 = first_four(x01);
        g0 += outer(d0, r01[0]) + outer(d1, r01[2]);
        g1 += outer(d0, r01[1]) + outer(d1, r01[3]);
        let r23 = second_four(x23);
        g0 += outer(d2, r23[0]) + outer(d3, r23[2]);
        g1 += outer(d2, r23[1]) + outer(d3, r23[3]);
        bias += d0 + d1 + d2 + d3;
        at += 4u * l.input_vectors;
        delta += 4u * l.output_vectors;
    }
    if (column < l.output_vectors) {
        let hyper = load_hyper();
        let i = 4u * row_vector;
        for (var r = 0u; r < 4u; r++) {
            if (i + r < l.inputs) {
                update_parameters(l.kernel + (i + r) * l.output_vectors + column, g0[r], hyper);
            }
            if (i + 4u + r < l.inputs) {
                update_parameters(l.kernel + (i + 4u + r) * l.output_vectors + column, g1[r], hyper);
            }
        }
        if (row_vector == 0u) {
            update_parameters(l.bias + column, bias, hyper);
        }
    }
}
