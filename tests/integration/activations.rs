//! Activations against JAX, on the host.

use fori::spec::Activation;

use crate::common::{assert_close, f64s, golden, single, singles};

/// The activations and their names in the golden data.
const ACTIVATIONS: [(Activation, &str); 11] = [
    (Activation::Identity, "identity"),
    (Activation::Relu, "relu"),
    (Activation::LeakyRelu, "leaky_relu"),
    (Activation::Elu, "elu"),
    (Activation::Tanh, "tanh"),
    (Activation::Sigmoid, "sigmoid"),
    (Activation::Silu, "silu"),
    (Activation::Gelu, "gelu_tanh"),
    (Activation::GeluExact, "gelu_erf"),
    (Activation::Softplus, "softplus"),
    (Activation::Sin, "sin"),
];

#[test]
fn every_activation_is_in_the_table() {
    let named: Vec<_> = ACTIVATIONS.iter().map(|(activation, _)| *activation).collect();
    let all: Vec<_> = Activation::ALL.iter().copied().filter(|&a| a != Activation::Selu).collect();
    assert_eq!(named, all, "activations with golden data; selu has a test of its own");
}

#[test]
fn activations_in_f64_equal_jax() {
    let data = golden("activations.safetensors");
    for (activation, name) in ACTIVATIONS {
        let (value, slope): (Vec<_>, Vec<_>) = data["x"].iter().map(|&x| activation.evaluate(x)).unzip();
        assert_close(&format!("{name} value"), &value, &data[&format!("{name}_y_f64")], 1e-13, 1e-13);
        assert_close(&format!("{name} slope"), &slope, &data[&format!("{name}_d_f64")], 1e-12, 1e-12);
    }
}

#[test]
fn activations_in_f32_are_near_f64() {
    let data = golden("activations.safetensors");
    for (activation, name) in ACTIVATIONS {
        let (value, slope): (Vec<_>, Vec<_>) = singles(&data["x"]).iter().map(|&x| activation.evaluate(x)).unzip();
        assert_close(&format!("{name} value"), &f64s(&value), &data[&format!("{name}_y_f64")], 1e-6, 1e-6);
        assert_close(&format!("{name} slope"), &f64s(&slope), &data[&format!("{name}_d_f64")], 4e-6, 4e-6);
    }
}

/// jax.nn.selu is elu with a scale and a factor below 0.
#[test]
fn selu_is_elu_with_a_scale_and_a_factor() {
    let (scale, factor) = (1.050_700_987_355_480_5, 1.673_263_242_354_377_2);
    for x in [-30.0, -1.5, -0.1, 0.0, 0.1, 2.0, 50.0] {
        let (value, slope) = Activation::Elu.evaluate(x);
        let below = if x < 0.0 { scale * factor } else { scale };
        assert_close("selu", &[Activation::Selu.evaluate(x).0], &[below * value], 1e-14, 1e-15);
        assert_close("slope of selu", &[Activation::Selu.evaluate(x).1], &[below * slope], 1e-14, 1e-15);
    }
}

/// What value and slope come to far out.
fn limits(activation: Activation, x: f64) -> (f64, f64) {
    match activation {
        Activation::Identity => (x, 1.0),
        Activation::LeakyRelu if x < 0.0 => (0.01 * x, 0.01),
        Activation::Elu if x < 0.0 => (-1.0, 0.0),
        Activation::Selu if x < 0.0 => (-1.758_099_340_847_376_9, 0.0),
        Activation::Selu => (1.050_700_987_355_480_5 * x, 1.050_700_987_355_480_5),
        Activation::Sigmoid => (f64::from(u8::from(x > 0.0)), 0.0),
        Activation::Tanh => (x.signum(), 0.0),
        _ if x > 0.0 => (x, 1.0),
        _ => (0.0, 0.0),
    }
}

#[test]
fn activations_are_finite_far_out() {
    for &activation in Activation::ALL.iter().filter(|&&a| a != Activation::Sin) {
        for x in [1e2, -1e2, 1e10, -1e10, 1e20, -1e20, 3e38, -3e38] {
            let (value, slope) = limits(activation, x);
            let (value64, slope64) = activation.evaluate(x);
            assert_close(&format!("{activation}({x:e}) f64"), &[value64, slope64], &[value, slope], 1e-15, 1e-15);
            let (value32, slope32) = activation.evaluate(single(x));
            let got = f64s(&[value32, slope32]);
            assert_close(&format!("{activation}({x:e}) f32"), &got, &[value, slope], 1e-6, 1e-15);
        }
    }
}

#[test]
fn sines_stay_between_their_bounds_far_out() {
    for x in [1e5_f32, -1e7, 1e10, -1e10, 1e20, -3e38] {
        let (value, slope) = Activation::Sin.evaluate(x);
        assert!(value.abs() <= 1.001 && slope.abs() <= 1.001, "sin({x:e}) is {value}, its slope {slope}");
    }
}

/// Else a network that diverged would go on with units that are 0.
#[test]
fn activations_keep_nan() {
    for &activation in Activation::ALL {
        assert!(activation.evaluate(f64::NAN).0.is_nan(), "{activation}(NaN) in f64");
        assert!(activation.evaluate(f32::NAN).0.is_nan(), "{activation}(NaN) in f32");
    }
}

#[test]
fn the_slopes_at_zero_are_those_of_jax() {
    for (activation, slope) in [
        (Activation::Identity, 1.0),
        (Activation::Relu, 0.0),
        (Activation::Tanh, 1.0),
        (Activation::Gelu, 0.5),
        (Activation::LeakyRelu, 1.0),
        (Activation::Elu, 1.0),
    ] {
        assert_eq!(activation.evaluate(0.0_f64), (0.0, slope), "{activation} at 0 in f64");
        assert_eq!(activation.evaluate(-0.0_f64).1, slope, "{activation} at -0 in f64");
    }
}
