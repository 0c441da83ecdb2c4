// Gradients are stored, for ops that need all of them: the global norm, and an update every ACCUMULATE steps.

// A tensor of params as these ops walk it.
struct Parameter {
    offset: u32, // in params, and in grads
    vectors: u32,
    first_tile: u32, // of all tiles of all tensors
    is_bias: u32,
}

// Stores the gradient of the first micro-batch, and adds those of the others to it.
fn use_gradient(index: u32, g: vec4<f32>, is_bias: bool, h: Hyper) {
    let at = model * GRADS_SIZE + index;
    if (ACCUMULATE == 1u || state[model].x % ACCUMULATE == 0u) {
        grads[at] = g;
    } else {
        grads[at] += g;
    }
}

// Whether the step in progress ends with an update.
fn is_due() -> bool {
    return ACCUMULATE == 1u || state[model].x % ACCUMULATE == ACCUMULATE - 1u;
}

// The mean of the gradients of the micro-batches, clipped by value.
fn mean_gradient(index: u32) -> vec4<f32> {
    return clip_value(grads[model * GRADS_SIZE + index] / f32(ACCUMULATE));
}

// The tensor that a tile belongs to.
fn parameter_of(tile: u32) -> Parameter {
    var p = 0u;
    while (p + 1u < PARAMETER_COUNT && tile >= PARAMETERS[p + 1u].first_tile) {
        p++;
    }
    return PARAMETERS[p];
}

// The ops after the gradients, in the persistent loop.
fn finish_update(lane: u32) {
    if (CLIP_NORM) {
        for (var tile = 0u; tile < PARAMETER_TILES; tile++) {
            norm_parts(tile, lane);
        }
        synchronize();
        norm(0u, lane);
        synchronize();
    }
    for (var tile = 0u; tile < PARAMETER_TILES; tile++) {
        update(tile, lane);
    }
    synchronize();
}
