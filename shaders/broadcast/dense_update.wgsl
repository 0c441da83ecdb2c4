// g[i,o] = sum_b x[b,i] delta[b,o], gb[o] = sum_b delta[b,o]; kernel and bias are updated from them,
// or they are stored.
// The columns of one factor go to the lanes, four each; eight columns of the other are broadcast, four rows at a time. The
// wider factor has the lanes: delta, or x where the layer is flipped. Reads activations, updates params and optimizer,
// or writes grads.

fn dense_update(l: Layer, tile: u32, lane: u32) {
    let flipped = l.update_flipped != 0u;
    let base = model * ACTIVATIONS_SIZE;
    let wide_vectors = select(l.output_vectors, l.input_vectors, flipped);
    let wide_offset = base + select(l.delta, l.input, flipped);
    let narrow_vectors = select(l.input_vectors, l.output_vectors, flipped);
    let narrow_offset = base + select(l.input, l.delta, flipped);
    let narrow_vector = 2u * (tile % l.update_row_tiles);
    let wide_vector = LANES * (tile / l.update_row_tiles) + lane;
    // Lanes 2j and 2j + 1 read two neighboring vectors of row j.
    let row = select(lane / 2u % 4u, lane / 2u, NARROW);
    var narrow = narrow_offset + row * narrow_vectors + min(narrow_vector + lane % 2u, narrow_vectors - 1u);
    var wide = wide_offset + min(wide_vector, wide_vectors - 1u);
    var g0 = mat4x4<f32>();
    var g1 = mat4x4<f32>();
    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    for (var b = 0u; b < ROWS; b += 4u) {
        let w0 = activations[wide];
        let w1 = activations[wide + wide_vectors];
        let w2 = activations[wide + 2u * wide_vectors];
        let w3 = activations[wide + 3u * wide_vectors];
        let n01 = activations[narrow];
        var n23 = n01;
        if (NARROW) {
            n23 = activations[narrow + 2u * narrow_vectors];
        }
        let r01 = first_four(n01);
        let r23 = second_four(n23);
        g0 += outer(w0, r01[0]);
        g1 += outer(w0, r01[1]);
        g0 += outer(w1, r01[2]);
        g1 += outer(w1, r01[3]);
        g0 += outer(w2, r23[0]);
        g1 += outer(w2, r23[1]);
        g0 += outer(w3, r23[2]);
        g1 += outer(w3, r23[3]);
        if (flipped) {
            sum0 += r01[0] + r01[2] + r23[0] + r23[2];
            sum1 += r01[1] + r01[3] + r23[1] + r23[3];
        } else {
            sum0 += w0 + w1 + w2 + w3;
        }
        narrow += 4u * narrow_vectors;
        wide += 4u * wide_vectors;
    }
    if (wide_vector >= wide_vectors) {
        return;
    }
    if (flipped) {
        g0 = transpose(g0);
        g1 = transpose(g1);
    }
    keep_results(lane, g0, g1);
    results[8u * LANES + lane] = sum0;
    results[9u * LANES + lane] = sum1;
    let hyper = load_hyper();
    let both = narrow_vector + 1u < narrow_vectors;
    // Results 0, 2, 4, 6, 8 are those of the first narrow vector, 1, 3, 5, 7, 9 of the second; the last two the bias.
    for (var r = 0u; r < RESULTS; r++) {
        let second = r % 2u;
        let i = select(4u * (narrow_vector + second), 4u * wide_vector, flipped) + r / 2u;
        let column = select(wide_vector, narrow_vector + second, flipped);
        let is_bias = r >= 8u;
        let first_rows = select(narrow_vector == 0u && second == 0u, wide_vector == 0u, flipped);
        if (select(i < l.inputs, first_rows, is_bias) && (second == 0u || both)) {
            let at = select(l.kernel + i * l.output_vectors, l.bias, is_bias) + column;
            use_gradient(at, kept_result(lane, r), is_bias, hyper);
        }
    }
}
