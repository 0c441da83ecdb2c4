// g[i,o] = sum_b x[b,i] delta[b,o], gb[o] = sum_b delta[b,o]; kernel and bias are updated from them,
// or they are stored.
// The columns of one factor go to the lanes, four each; sixteen columns of the other are broadcast, two rows at a time. The
// wider factor has the lanes: delta, or x where the layer is flipped. Reads activations, updates params and optimizer,
// or writes grads.

fn dense_update(l: Layer, tile: u32, lane: u32) {
    let flipped = l.update_flipped != 0u;
    let base = model * ACTIVATIONS_SIZE;
    let wide_vectors = select(l.output_vectors, l.input_vectors, flipped);
    let wide_offset = base + select(l.delta, l.input, flipped);
    let narrow_vectors = select(l.input_vectors, l.output_vectors, flipped);
    let narrow_offset = base + select(l.input, l.delta, flipped);
    let narrow_vector = 4u * (tile % l.update_row_tiles);
    let wide_vector = LANES * (tile / l.update_row_tiles) + lane;
    // Lanes 0..3 read four neighboring vectors of one row, lanes 4..7 those of the next.
    let row = select(lane / 4u % 2u, 0u, NARROW);
    var narrow = narrow_offset + row * narrow_vectors + min(narrow_vector + lane % 4u, narrow_vectors - 1u);
    var wide = wide_offset + min(wide_vector, wide_vectors - 1u);
    var g0 = mat4x4<f32>();
    var g1 = mat4x4<f32>();
    var g2 = mat4x4<f32>();
    var g3 = mat4x4<f32>();
    var sums = mat4x4<f32>();
    for (var b = 0u; b < ROWS; b += 2u) {
        let w0 = activations[wide];
        let w1 = activations[wide + wide_vectors];
        let n0 = activations[narrow];
        var n1 = n0;
        if (NARROW) {
            n1 = activations[narrow + narrow_vectors];
        }
        let r0 = first_four(n0);
        let r1 = second_four(n1);
        g0 += outer(w0, r0[0]);
        g1 += outer(w0, r0[1]);
        g2 += outer(w0, r0[2]);
        g3 += outer(w0, r0[3]);
        g0 += outer(w1, r1[0]);
        g1 += outer(w1, r1[1]);
        g2 += outer(w1, r1[2]);
        g3 += outer(w1, r1[3]);
        sums[0] += select(w0 + w1, r0[0] + r1[0], flipped);
        sums[1] += r0[1] + r1[1];
        sums[2] += r0[2] + r1[2];
        sums[3] += r0[3] + r1[3];
        narrow += 2u * narrow_vectors;
        wide += 2u * wide_vectors;
    }
    let hyper = load_hyper(lane);
    if (wide_vector >= wide_vectors) {
        return;
    }
    if (flipped) {
        g0 = transpose(g0);
        g1 = transpose(g1);
        g2 = transpose(g2);
        g3 = transpose(g3);
    }
    // Result 5s + c is row c of narrow vector s, and 5s + 4 what it adds to the bias.
    for (var r = 0u; r < 5u * min(4u, narrow_vectors - narrow_vector); r++) {
        let s = r / 5u;
        let c = r % 5u;
        let i = select(4u * (narrow_vector + s), 4u * wide_vector, flipped) + c;
        let column = select(wide_vector, narrow_vector + s, flipped);
        let is_bias = c == 4u;
        let first_rows = select(narrow_vector + s == 0u, wide_vector == 0u, flipped);
        if (select(i < l.inputs, first_rows, is_bias)) {
            let at = select(l.kernel + i * l.output_vectors, l.bias, is_bias) + column;
            let g = select(result_of(g0, g1, 2u * c + s % 2u), result_of(g2, g3, 2u * c + s % 2u), s >= 2u);
            let sum = select(select(sums[0], sums[1], s == 1u), select(sums[2], sums[3], s == 3u), s >= 2u);
            use_gradient(at, select(g, sum, is_bias), is_bias, hyper);
        }
    }
}
