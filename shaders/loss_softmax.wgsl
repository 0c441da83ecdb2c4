// The cross-entropy of row b of logits with the index of its class, and its delta.
// loss = log(sum_o exp(z[o])) - sum_o q[o] z[o];  delta[o] = softmax(z)[o] - q[o]
// q = SMOOTHED_SHARE everywhere, and CERTAIN_SHARE more at the class.

struct Softmax {
    largest: f32, // of the logits
    sum: f32, // of exp(z - largest)
    distance: f32, // sum of z - largest
}

fn softmax_of(l: Layer, z: u32) -> Softmax {
    var largest = vec4<f32>(-3e38);
    for (var v = 0u; v < l.output_vectors; v++) {
        let column = 4u * v + vec4<u32>(0u, 1u, 2u, 3u);
        largest = select(largest, max(largest, activations[z + v]), column < vec4<u32>(l.outputs));
    }
    let top = max(max(largest.x, largest.y), max(largest.z, largest.w));
    var sum = vec4<f32>();
    var distance = vec4<f32>();
    for (var v = 0u; v < l.output_vectors; v++) {
        let below = activations[z + v] - top;
        sum += keep_columns(exponential(below), v, l.outputs);
        distance += keep_columns(below, v, l.outputs);
    }
    return Softmax(top, dot(sum, vec4<f32>(1.0)), dot(distance, vec4<f32>(1.0)));
}

// Cross-entropy of a class; a logit that is infinite or NaN makes it so too.
fn cross_entropy(s: Softmax, logit: f32, certain: f32, share: f32) -> f32 {
    let value = logarithm(vec4<f32>(s.sum)).x - certain * (logit - s.largest) - share * s.distance;
    return select(value, s.distance, not_finite(s.distance));
}

fn row_loss(l: Layer, b: u32, used: u32, count: f32) -> f32 {
    let base = model * ACTIVATIONS_SIZE + b * l.output_vectors;
    let z = base + l.output;
    let weight = row_weight(b);
    let class_index = u32(activations[target_of(b)].x);
    let s = softmax_of(l, z);
    for (var v = 0u; v < l.output_vectors; v++) {
        let column = 4u * v + vec4<u32>(0u, 1u, 2u, 3u);
        let q = select(vec4<f32>(), vec4<f32>(CERTAIN_SHARE), column == vec4<u32>(class_index)) + SMOOTHED_SHARE;
        let slope = exponential(activations[z + v] - s.largest) / s.sum - q;
        activations[base + l.delta + v] = keep_columns(slope * weight, v, used) / count;
    }
    let logit = activations[z + class_index / 4u][class_index % 4u];
    return select(0.0, cross_entropy(s, logit, CERTAIN_SHARE, SMOOTHED_SHARE) * weight, used > 0u);
}
