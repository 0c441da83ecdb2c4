// Activation functions: the value and the derivative at z. The prelude's `activate` calls the plan's.

struct Activated {
    value: vec4<f32>,
    slope: vec4<f32>,
}

fn identity(z: vec4<f32>) -> Activated {
    return Activated(z, vec4<f32>(1.0));
}

// max(z, 0), derivative 0 at 0; `max` itself may turn NaN into 0
fn relu(z: vec4<f32>) -> Activated {
    return Activated(select(z, vec4<f32>(), z < vec4<f32>()), select(vec4<f32>(), vec4<f32>(1.0), z > vec4<f32>()));
}

// tanh(z) = sign(z) (1 - e) / (1 + e), e = exp(-2|z|); a series near 0, where that cancels.
fn tanh_activation(z: vec4<f32>) -> Activated {
    let e = exponential(-2.0 * abs(z));
    let far = sign(z) * (1.0 - e) / (1.0 + e);
    let c = clamp(z, vec4<f32>(-0.625), vec4<f32>(0.625));
    let s = c * c;
    var p = s * -5.70498872745e-3 + 2.06390887954e-2;
    p = p * s - 5.37397155531e-2;
    p = p * s + 1.33314422036e-1;
    p = p * s - 3.33332819422e-1;
    let value = select(far, p * s * c + c, abs(z) < vec4<f32>(0.625));
    return Activated(value, 1.0 - value * value);
}

// z s, s = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (z + 0.044715 z^3): the tanh form without its cancellation.
fn gelu(z: vec4<f32>) -> Activated {
    // Beyond 10 the function is z or 0 to the last digit, and the cube stays finite.
    let c = clamp(z, vec4<f32>(-10.0), vec4<f32>(10.0));
    let s = 1.0 / (1.0 + exponential(-1.5957691216 * c * (1.0 + 0.044715 * c * c)));
    // A huge negative z would scale up what is left of s.
    let value = select(z * s, vec4<f32>(), z < vec4<f32>(-10.0));
    return Activated(value, s + c * s * (1.0 - s) * 1.5957691216 * (1.0 + 0.134145 * c * c));
}
