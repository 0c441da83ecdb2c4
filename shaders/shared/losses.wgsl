// Losses by element: the value and the derivative by the prediction, before the mean. The prelude's `loss_function`
// calls the plan's.

struct Lost {
    value: vec4<f32>,
    slope: vec4<f32>,
}

// (p - t)^2
fn mse(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {
    let error = prediction - expected;
    return Lost(error * error, error + error);
}

// |p - t|, derivative 1 at 0
fn mae(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {
    let error = prediction - expected;
    return Lost(abs(error), select(vec4<f32>(1.0), vec4<f32>(-1.0), error < vec4<f32>()));
}

// (p - t)^2 / 2 up to a distance of 1, |p - t| - 1/2 beyond
fn huber(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {
    let error = prediction - expected;
    let near = abs(error) <= vec4<f32>(1.0);
    return Lost(select(abs(error) - 0.5, 0.5 * error * error, near), select(sign(error), error, near));
}

// log(cosh(p - t)) = |e| + log(1 + exp(-2|e|)) - log 2
fn log_cosh(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {
    let error = prediction - expected;
    let tail = logarithm(1.0 + exponential(-2.0 * abs(error)));
    return Lost(abs(error) + tail - 0.69314718, tanh_activation(error).value);
}

// Of a logit p with a label t: max(p, 0) - p t + log(1 + exp(-|p|))
fn binary_cross_entropy(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {
    let tail = logarithm(1.0 + exponential(-abs(prediction)));
    return Lost(max(prediction, vec4<f32>()) - prediction * expected + tail, sigmoid(prediction) - expected);
}
