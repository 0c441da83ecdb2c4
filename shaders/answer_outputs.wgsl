// Keeps what the network says of each row: its outputs. One invocation = one row. Reads activations, writes answers.

fn answer(tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= batch_rows()) {
        return;
    }
    let last = LAYERS[LAYER_COUNT - 1u];
    let source = model * ACTIVATIONS_SIZE + last.output + b * last.output_vectors;
    let place = model * GRADS_SIZE + ANSWERS + table_row(b) * last.output_vectors;
    for (var v = 0u; v < last.output_vectors; v++) {
        grads[place + v] = activations[source + v];
    }
}
