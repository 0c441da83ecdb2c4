// What the products of both kinds of kernels share: where a result goes. A layer is handed on by value: looking it up anew
// for each result costs software adapters more than the result.

// Stores the activation and its slope of the pre-activation `z` of row b; the last layer has no activation.
fn store_output(l: Layer, b: u32, vector: u32, z: vec4<f32>) {
    let at = model * ACTIVATIONS_SIZE + b * l.output_vectors + vector;
    if (l.is_last != 0u) {
        activations[at + l.output] = z;
    } else {
        let h = activate(z);
        activations[at + l.output] = keep_columns(flush(h.value, TINY), vector, l.outputs);
        activations[at + l.delta] = flush(h.slope, TINY);
    }
}

// Turns the slope of the layer before `l` into its delta: slope times the derivative by its activation.
fn store_delta(l: Layer, b: u32, vector: u32, derivative: vec4<f32>) {
    let at = model * ACTIVATIONS_SIZE + l.delta_before + b * l.input_vectors + vector;
    activations[at] = flush(derivative * activations[at], TINY);
}
