// The loss of row b as a sum over its elements, and its delta. `used` is the number of columns that count: none in a row
// of the padding.

fn row_loss(l: Layer, b: u32, used: u32, count: f32) -> f32 {
    let base = model * ACTIVATIONS_SIZE + b * l.output_vectors;
    let weight = row_weight(b);
    var sum = vec4<f32>();
    for (var v = 0u; v < l.output_vectors; v++) {
        let lost = loss_function(activations[base + l.output + v], activations[target_of(b) + v]);
        sum += keep_columns(lost.value, v, used);
        activations[base + l.delta + v] = keep_columns(lost.slope * weight, v, used) / count;
    }
    return dot(sum, vec4<f32>(1.0)) * weight;
}
