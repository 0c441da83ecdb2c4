// Activation functions: the value and the derivative at z. The prelude's `activate` calls the plan's, `NAME_activation`.

struct Activated {
    value: vec4<f32>,
    slope: vec4<f32>,
}

fn identity_activation(z: vec4<f32>) -> Activated {
    return Activated(z, vec4<f32>(1.0));
}

// max(z, 0), derivative 0 at 0; `max` itself may turn NaN into 0
fn relu_activation(z: vec4<f32>) -> Activated {
    return Activated(select(z, vec4<f32>(), z < vec4<f32>()), select(vec4<f32>(), vec4<f32>(1.0), z > vec4<f32>()));
}

// z, below 0 a hundredth of it; derivative 1 at 0
fn leaky_relu_activation(z: vec4<f32>) -> Activated {
    let slope = select(vec4<f32>(1.0), vec4<f32>(0.01), z < vec4<f32>());
    return Activated(z * slope, slope);
}

// scale z, below 0 scale factor (exp(z) - 1); the derivative at 0 is that of the right side
fn exponential_below_zero(z: vec4<f32>, scale: f32, factor: f32) -> Activated {
    let e = factor * exponential(z);
    let value = select(e - factor, z, z > vec4<f32>());
    let slope = select(vec4<f32>(1.0), e, z < vec4<f32>());
    return Activated(scale * value, scale * slope);
}

fn elu_activation(z: vec4<f32>) -> Activated {
    return exponential_below_zero(z, 1.0, 1.0);
}

fn selu_activation(z: vec4<f32>) -> Activated {
    return exponential_below_zero(z, 1.05070099, 1.67326324);
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

fn sigmoid(z: vec4<f32>) -> vec4<f32> {
    return 1.0 / (1.0 + exponential(-z));
}

fn sigmoid_activation(z: vec4<f32>) -> Activated {
    let s = sigmoid(z);
    return Activated(s, s * (1.0 - s));
}

// z sigmoid(z)
fn silu_activation(z: vec4<f32>) -> Activated {
    let s = sigmoid(z);
    // A huge negative z would scale up what is left of s.
    let value = select(z * s, vec4<f32>(), z < vec4<f32>(-80.0));
    return Activated(value, s + value * (1.0 - s));
}

// z s, s = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (z + 0.044715 z^3): the tanh form without its cancellation.
fn gelu_activation(z: vec4<f32>) -> Activated {
    // Beyond 10 the function is z or 0 to the last digit, and the cube stays finite.
    let c = clamp(z, vec4<f32>(-10.0), vec4<f32>(10.0));
    let s = 1.0 / (1.0 + exponential(-1.5957691216 * c * (1.0 + 0.044715 * c * c)));
    // A huge negative z would scale up what is left of s.
    let value = select(z * s, vec4<f32>(), z < vec4<f32>(-10.0));
    return Activated(value, s + c * s * (1.0 - s) * 1.5957691216 * (1.0 + 0.134145 * c * c));
}

// z P(z), P the normal distribution function. Abramowitz, Stegun (1964), 7.1.26: P is off by at most 7.5e-8.
fn gelu_exact_activation(z: vec4<f32>) -> Activated {
    let x = min(abs(z) * 0.70710678, vec4<f32>(9.0));
    let t = 1.0 / (1.0 + 0.3275911 * x);
    var p = t * 1.061405429 - 1.453152027;
    p = p * t + 1.421413741;
    p = p * t - 0.284496736;
    p = p * t + 0.254829592;
    let e = exponential(-x * x);
    let upper = 0.5 * p * t * e;
    let below = select(1.0 - upper, upper, z < vec4<f32>());
    let value = select(z * below, vec4<f32>(), z < vec4<f32>(-40.0));
    return Activated(value, below + clamp(z, vec4<f32>(-40.0), vec4<f32>(40.0)) * 0.39894228 * e);
}

// log(1 + exp(z))
fn softplus_activation(z: vec4<f32>) -> Activated {
    return Activated(max(z, vec4<f32>()) + logarithm(1.0 + exponential(-abs(z))), sigmoid(z));
}

// A quarter turn is taken away n times, in three parts; polynomials on the rest (Cephes sinf, cosf).
fn sin_activation(z: vec4<f32>) -> Activated {
    let n = floor(z * 0.636619772 + 0.5);
    let r = clamp(((z - n * 1.5703125) - n * 4.837512969970703e-4) - n * 7.549789948768648e-8, vec4<f32>(-0.79), vec4<f32>(0.79));
    let s = r * r;
    let sine = ((s * -1.9515295891e-4 + 8.3321608736e-3) * s - 1.6666654611e-1) * s * r + r;
    let cosine = ((s * 2.443315711809948e-5 - 1.388731625493765e-3) * s + 4.166664568298827e-2) * s * s - 0.5 * s + 1.0;
    let quarter = n - 4.0 * floor(n * 0.25);
    let odd = (quarter == vec4<f32>(1.0)) | (quarter == vec4<f32>(3.0));
    let a = select(sine, cosine, odd);
    let b = select(cosine, sine, odd);
    let inner = (quarter == vec4<f32>(1.0)) | (quarter == vec4<f32>(2.0));
    return Activated(select(a, -a, quarter >= vec4<f32>(2.0)), select(b, -b, inner));
}
