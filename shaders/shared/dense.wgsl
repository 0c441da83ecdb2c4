// What the products of both kinds of kernels share: where a result goes.

// Stores the activation and its slope of the pre-activation `z` of row b; the last layer has no activation.
fn store_output(layer: u32, b: u32, vector: u32, z: vec4<f32>) {
    let l = LAYERS[layer];
    let at = model * ACTIVATIONS_SIZE + b * l.output_vectors + vector;
    if (layer + 1u == LAYER_COUNT) {
        activations[at + l.output] = z;
    } else {
        let h = activate(z);
        activations[at + l.output] = keep_columns(h.value, vector, l.outputs);
        activations[at + l.delta] = h.slope;
    }
}

// Turns the slope of the layer before `layer` into its delta: slope times the derivative by its activation.
fn store_delta(layer: u32, b: u32, vector: u32, derivative: vec4<f32>) {
    let at = model * ACTIVATIONS_SIZE + LAYERS[layer - 1u].delta + b * LAYERS[layer].input_vectors + vector;
    activations[at] = derivative * activations[at];
}
