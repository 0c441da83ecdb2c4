// The loss of the batch, its history, and the delta of the last layer.
// history[step] = 1/n sum_b loss of row b;  delta[b,o] = 1/n its derivative by h[b,o], zero in the padding; n counts the
// terms of the rows that the batch has.
// One workgroup; an invocation walks every LANES-th row, then a tree of fixed shape adds the partial sums.

fn loss(tile: u32, lane: u32) {
    let last = LAYERS[LAYER_COUNT - 1u];
    let rows = batch_rows();
    let count = f32(rows * LOSS_TERMS);
    var sum = 0.0;
    for (var b = lane; b < ROWS; b += LANES) {
        sum += row_loss(last, b, select(0u, last.outputs, b < rows), count);
    }
    let total = sum_of_lanes(sum, lane);
    if (lane == 0u) {
        let mean = total / count;
        history[slot()] = mean;
        if (not_finite(mean) && state[model].w == 0u) {
            state[model].w = state[model].x + 1u;
        }
    }
}

// The weight of row b, which ends its target.
fn row_weight(b: u32) -> f32 {
    if (WEIGHTED) {
        let column = TARGET_COLUMNS - 1u;
        return activations[target_of(b) + column / 4u][column % 4u];
    }
    return 1.0;
}

// Where the target of row b begins.
fn target_of(b: u32) -> u32 {
    return model * ACTIVATIONS_SIZE + TARGET + b * TARGET_VECTORS;
}
