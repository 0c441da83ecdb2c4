// A gradient goes into the update as soon as it is computed.

fn use_gradient(index: u32, g: vec4<f32>, is_bias: bool, h: Hyper) {
    update_parameters(index, clip_value(g), hyper_of(h, is_bias));
    if (KEEP_GRADIENTS) {
        grads[model * PARAMS_SIZE + index] = g;
    }
}

// Nothing is left to do when all gradients are computed.
fn finish_update(lane: u32) {}
