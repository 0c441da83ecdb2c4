// The loss of the batch, its history, and the delta of the last layer.
// history[step] = 1/(B O) sum_bo f(h[b,o], y[b,o]);  delta[b,o] = 1/(B O) f'(h[b,o], y[b,o]), zero in the padding.
// One workgroup; an invocation walks every LANES-th row, then a tree of fixed shape adds the partial sums.

fn loss(tile: u32, lane: u32) {
    let last = LAYERS[LAYER_COUNT - 1u];
    let base = model * ACTIVATIONS_SIZE;
    var sum = vec4<f32>();
    for (var b = lane; b < ROWS; b += LANES) {
        for (var v = 0u; v < last.output_vectors; v++) {
            let at = b * last.output_vectors + v;
            let lost = loss_function(activations[base + last.output + at], activations[base + TARGET + at]);
            let used = select(0u, last.outputs, b < BATCH);
            sum += keep_columns(lost.value, v, used);
            activations[base + last.delta + at] = keep_columns(lost.slope, v, used) / LOSS_COUNT;
        }
    }
    let total = sum_of_lanes(dot(sum, vec4<f32>(1.0)), lane);
    if (lane == 0u) {
        let mean = total / LOSS_COUNT;
        history[slot()] = mean;
        if (not_finite(mean) && state[model].w == 0u) {
            state[model].w = state[model].x + 1u;
        }
    }
}
