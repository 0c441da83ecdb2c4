// Keeps what the network says of each row: the class of its largest logit (the first of equals), the cross-entropy of its true
// class without and with smoothing, and the margin of the second class over the first.
// One invocation = one row. Reads activations, writes answers.

fn answer(tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= batch_rows()) {
        return;
    }
    let last = LAYERS[LAYER_COUNT - 1u];
    let z = model * ACTIVATIONS_SIZE + last.output + b * last.output_vectors;
    var best = 0u;
    var largest = activations[z].x;
    for (var o = 1u; o < last.outputs; o++) {
        let logit = activations[z + o / 4u][o % 4u];
        if (logit > largest) {
            largest = logit;
            best = o;
        }
    }
    let class_index = u32(activations[target_of(b)].x);
    let logit = activations[z + class_index / 4u][class_index % 4u];
    let s = softmax_of(last, z);
    let plain = cross_entropy(s, logit, 1.0, 0.0);
    let smooth_loss = cross_entropy(s, logit, CERTAIN_SHARE, SMOOTHED_SHARE);
    let first = activations[z];
    grads[model * GRADS_SIZE + ANSWERS + table_row(b)] = vec4<f32>(f32(best), plain, smooth_loss, first.y - first.x);
}
