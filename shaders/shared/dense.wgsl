// What the products of both kinds of kernels share: where a result goes. A layer is handed on by value: looking it up anew
// for each result costs software adapters more than the result.

// Stores the result of the product for row b: the pre-activation `z` where a normalization follows, or its activation.
fn store_output(l: Layer, b: u32, vector: u32, z: vec4<f32>) {
    if (LAYER_NORM) {
        activations[model * ACTIVATIONS_SIZE + l.output + b * l.output_vectors + vector] = z;
    } else {
        store_activation(l, l.delta, b, vector, z);
    }
}

// Stores the activation of `z`, and its slope in the matrix at `slope`; of the last layer, which has none, `z` itself. Its
// slope, which the loss overwrites, costs less than a second store in the text: a software adapter compiles each for long.
fn store_activation(l: Layer, slope: u32, b: u32, vector: u32, z: vec4<f32>) {
    let at = model * ACTIVATIONS_SIZE + b * l.output_vectors + vector;
    let h = drop_units(l, b, vector, activate(z));
    var value = keep_columns(flush(h.value, TINY), vector, l.outputs);
    if (RESIDUAL && l.skip != 0u) {
        value += activations[at + l.input];
    }
    activations[at + l.output] = select(value, z, l.is_last != 0u);
    activations[at + slope] = flush(h.slope, TINY);
}

// Dropout: value and slope of a unit are divided by KEEP with that probability, else 0, as jax.random.bernoulli draws it
// from the key fold_in(sub, 2 + layer) for the shape (batch, outputs).
fn drop_units(l: Layer, b: u32, vector: u32, h: Activated) -> Activated {
    if (KEEP == 1.0) {
        return h;
    }
    let index = vec4<u32>(b * l.outputs + 4u * vector) + vec4<u32>(0u, 1u, 2u, 3u);
    let uniform = random_uniform(fold_in(step_key(), 2u + l.index), index);
    let factor = select(vec4<f32>(), vec4<f32>(1.0 / KEEP), uniform < vec4<f32>(KEEP));
    return Activated(h.value * factor, h.slope * factor);
}

// Turns the slope of the layer before `l` into its delta: slope times the derivative by its output, to which a skip adds
// the derivative by the output of `l`.
fn store_delta(l: Layer, b: u32, vector: u32, derivative: vec4<f32>) {
    let at = model * ACTIVATIONS_SIZE + b * l.input_vectors + vector;
    var d = derivative;
    if (RESIDUAL && l.skip != 0u) {
        d += activations[at + l.skip];
    }
    if (RESIDUAL && l.skip_before != 0u) {
        activations[at + l.skip_before] = flush(d, TINY);
    }
    activations[at + l.delta_before] = flush(d * activations[at + l.delta_before], TINY);
}
