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
