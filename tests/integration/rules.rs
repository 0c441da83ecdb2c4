//! Activations, losses, optimizers and whole odd networks against JAX, on the host.

use fori::spec::{Activation, Hyperparameters, Loss, Optimizer, Schedule};
use num_traits::Float;

use crate::common::{assert_close, assert_near, f64s, golden, singles};
use crate::network::Network;

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
            let (value32, slope32) = activation.evaluate(crate::common::single(x));
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

#[test]
fn losses_equal_jax() {
    let data = golden("losses.safetensors");
    let names = [
        (Loss::Mse, "mse", "pred", "target"),
        (Loss::Mae, "mae", "pred", "target"),
        (Loss::Huber, "huber", "pred", "target"),
        (Loss::BinaryCrossEntropy, "bce", "bce_logit", "bce_label"),
    ];
    let elementwise = Loss::ALL.iter().filter(|loss| loss.is_elementwise()).count();
    assert_eq!(names.len() + 1, elementwise, "losses with golden data, and log_cosh");
    for (loss, name, prediction, target) in names {
        let rows = data[prediction].iter().zip(&data[target]);
        let (each, slope): (Vec<_>, Vec<_>) = rows.map(|(&p, &t)| loss.evaluate(p, t)).unzip();
        let count = f64::from(u16::try_from(each.len()).expect("a short table"));
        let grad: Vec<_> = slope.iter().map(|s| s / count).collect();
        assert_close(&format!("{name} each"), &each, &data[&format!("{name}_each_f64")], 1e-13, 1e-15);
        assert_close(&format!("{name} grad"), &grad, &data[&format!("{name}_grad_f64")], 1e-13, 1e-15);
        let mean = each.iter().sum::<f64>() / count;
        assert_close(&format!("{name} mean"), &[mean], &data[&format!("{name}_mean_f64")], 1e-13, 0.0);
    }
}

#[test]
fn softmax_cross_entropy_equals_jax() {
    let data = golden("losses.safetensors");
    let (mut each, mut grad) = (Vec::new(), Vec::new());
    for (row, &label) in data["ce_logits"].chunks_exact(10).zip(&data["ce_labels"]) {
        let mut slopes = vec![0.0; 10];
        each.push(Loss::SoftmaxCrossEntropy.row(row, &[label], 0.0, &mut slopes));
        grad.extend(slopes.iter().map(|slope| slope / 16.0));
    }
    // The golden value of a row of large logits has lost digits.
    assert_close("ce each", &each, &data["ce_each_f64"], 1e-12, 1e-15);
    assert_close("ce grad", &grad, &data["ce_grad_f64"], 1e-13, 1e-15);
}

/// Values by optax 0.2.8 in f64: softmax_cross_entropy(z, smooth_labels(one_hot(1, 3), 0.1)) and its gradient.
#[test]
fn label_smoothing_equals_optax() {
    let mut slopes = [0.0; 3];
    let value = Loss::SoftmaxCrossEntropy.row(&[1.0, -2.0, 0.5], &[1.0], 0.1, &mut slopes);
    assert_close("value", &[value], &[3.321_263_569_008_950_3], 1e-13, 0.0);
    assert_close(
        "slopes",
        &slopes,
        &[0.570_415_562_815_292_5, -0.903_274_445_763_759_4, 0.332_858_882_948_466_9],
        1e-13,
        1e-15,
    );
}

#[test]
fn log_cosh_is_the_logarithm_of_the_hyperbolic_cosine() {
    for error in [-20.0_f64, -3.0, -0.5, 0.0, 1e-3, 1.0, 10.0] {
        let (value, slope) = Loss::LogCosh.evaluate(2.0 + error, 2.0);
        let exact = (2.0 + error) - 2.0;
        assert_close("log_cosh", &[value, slope], &[exact.cosh().ln(), exact.tanh()], 1e-12, 1e-15);
    }
}

#[test]
fn losses_in_f32_are_near_f64() {
    for loss in Loss::ALL.iter().copied().filter(|loss| loss.is_elementwise()) {
        for (p, t) in [(0.3_f32, 1.0_f32), (-4.5, 0.0), (60.0, 1.0), (-90.0, 0.25), (1.5, 1.5)] {
            let (value, slope) = loss.evaluate(f64::from(p), f64::from(t));
            let (value32, slope32) = loss.evaluate(p, t);
            assert_close(&format!("{loss}({p}, {t})"), &f64s(&[value32, slope32]), &[value, slope], 1e-6, 1e-6);
        }
    }
}

/// Parameters after each of the golden steps, `(steps, parameters)` row-major.
fn optimize<T: Float>(optimizer: Optimizer, hyper: &Hyperparameters, first: &[T], grads: &[T]) -> Vec<T> {
    let start = T::from(optimizer.initial_state()).expect("a float holds it");
    let mut slots: Vec<_> = first.iter().map(|&p| (p, [start; 2])).collect();
    let (constants, mut path) = (hyper.constants(), Vec::new());
    for (step, row) in (0..).zip(grads.chunks_exact(first.len())) {
        let at_step = hyper.at_step(&Schedule::Constant, step);
        for ((p, state), &g) in slots.iter_mut().zip(row) {
            optimizer.update(&constants, &at_step, g, p, state);
        }
        path.extend(slots.iter().map(|(p, _)| *p));
    }
    path
}

/// Tensor, optimizer, learning rate, and what differs from its defaults.
type Golden = (&'static str, Optimizer, f64, &'static [(&'static str, f64)]);

const OPTIMIZERS: [Golden; 8] = [
    ("sgd", Optimizer::Sgd, 0.1, &[]),
    ("momentum", Optimizer::Sgd, 0.1, &[("momentum", 0.9)]),
    ("nesterov", Optimizer::Sgd, 0.1, &[("momentum", 0.9), ("nesterov", 1.0)]),
    ("adam", Optimizer::Adam, 1e-2, &[]),
    ("adamw", Optimizer::Adamw, 1e-2, &[("weight_decay", 0.01)]),
    ("rmsprop", Optimizer::Rmsprop, 1e-2, &[]),
    ("adagrad", Optimizer::Adagrad, 0.1, &[]),
    ("lion", Optimizer::Lion, 1e-3, &[]),
];

/// The defaults with some of them replaced.
fn hyper(optimizer: Optimizer, learning_rate: f64, others: &[(&str, f64)]) -> Hyperparameters {
    let mut hyper = Hyperparameters { learning_rate, ..optimizer.defaults() };
    others.iter().for_each(|(name, value)| hyper.set(name, *value).expect("a known name"));
    hyper
}

#[test]
fn optimizers_equal_optax() {
    let data = golden("optimisers.safetensors");
    for (name, optimizer, learning_rate, others) in OPTIMIZERS {
        let hyper = hyper(optimizer, learning_rate, others);
        let (first, grads) = (&data["p0"], &data["grads"]);
        let want = &data[&format!("{name}_f64")];
        assert_close(&format!("{name} f64"), &optimize(optimizer, &hyper, first, grads), want, 1e-12, 1e-14);
        let path = f64s(&optimize(optimizer, &hyper, &singles(first), &singles(grads)));
        // Column 7 of the sums of momentum is large, and later steps take it back.
        let rounding = if hyper.momentum > 0.0 { 4e-5 } else { 1e-7 };
        assert_close(&format!("{name} f32 to f64"), &path, want, 1e-6, rounding);
        // Optax forms Adam's corrections in f32, which moves a step by up to 2e-5 of the learning rate.
        let corrected = matches!(optimizer, Optimizer::Adam | Optimizer::Adamw);
        let slack = if corrected { 20.0 * 2e-5 * learning_rate } else { 0.0 };
        assert_close(&format!("{name} f32"), &path, &data[&format!("{name}_f32")], 1e-6, rounding + slack);
    }
}

/// The golden data has no nadam: these are the parameters after its 20 steps of `optax.nadam(1e-2)` in Optax 0.2.8, f64.
#[test]
fn nadam_equals_optax() {
    let data = golden("optimisers.safetensors");
    let want = [
        0.344_166_586_385_885_3,
        0.453_370_947_091_397_64,
        0.484_149_993_179_814_16,
        0.586_887_369_186_422_4,
        0.202_054_634_690_284_73,
        0.157_654_392_722_983_3,
        -1.545_537_173_532_737,
        -0.103_464_189_513_238_64,
    ];
    let hyper = hyper(Optimizer::Nadam, 1e-2, &[]);
    let path = optimize(Optimizer::Nadam, &hyper, &data["p0"], &data["grads"]);
    assert_close("nadam f64", &path[path.len() - 8..], &want, 1e-12, 1e-14);
    let path = f64s(&optimize(Optimizer::Nadam, &hyper, &singles(&data["p0"]), &singles(&data["grads"])));
    assert_close("nadam f32 to f64", &path[path.len() - 8..], &want, 1e-6, 1e-7);
}

#[test]
fn every_optimizer_is_compared_with_optax() {
    let compared = |optimizer| optimizer == Optimizer::Nadam || OPTIMIZERS.iter().any(|row| row.1 == optimizer);
    Optimizer::ALL.iter().for_each(|&optimizer| assert!(compared(optimizer), "{optimizer} has no golden data"));
}

/// Of Optax 0.2.8, which has none for the learning rate.
#[test]
fn defaults_are_those_of_optax() {
    for (optimizer, b1, b2, eps, weight_decay) in [
        (Optimizer::Adam, 0.9, 0.999, 1e-8, 0.0),
        (Optimizer::Adamw, 0.9, 0.999, 1e-8, 1e-4),
        (Optimizer::Nadam, 0.9, 0.999, 1e-8, 0.0),
        (Optimizer::Rmsprop, 0.9, 0.9, 1e-8, 0.0),
        (Optimizer::Adagrad, 0.9, 0.999, 1e-7, 0.0),
        (Optimizer::Lion, 0.9, 0.99, 1e-8, 1e-3),
    ] {
        let h = optimizer.defaults();
        assert_eq!((h.b1, h.b2, h.eps, h.weight_decay), (b1, b2, eps, weight_decay), "defaults of {optimizer}");
        assert_eq!((h.learning_rate, h.momentum, h.nesterov), (1e-3, 0.0, 0.0), "defaults of {optimizer}");
    }
}

/// Padding must stay 0, and NaN must not be hidden, with any eps.
#[test]
fn optimizers_keep_zero_and_nan() {
    for &optimizer in Optimizer::ALL {
        for eps in [0.0, 1e-8] {
            let hyper = Hyperparameters { eps, momentum: 0.9, nesterov: 1.0, ..optimizer.defaults() };
            let (constants, at_step) = (hyper.constants::<f32>(), hyper.at_step(&Schedule::Constant, 0));
            let (mut p, mut state) = (0.0, [0.0; 2]);
            optimizer.update(&constants, &at_step, 0.0, &mut p, &mut state);
            assert_eq!((p, state), (0.0, [0.0; 2]), "{optimizer} with eps {eps}: padding");
            optimizer.update(&constants, &at_step, f32::NAN, &mut p, &mut state);
            assert!(p.is_nan(), "{optimizer} with eps {eps}: {p} after a gradient that is NaN");
        }
    }
}

#[test]
fn odd_networks_equal_jax() {
    let data = golden("odd.safetensors");
    let (a, b, c): (&[usize], &[usize], &[usize]) = (&[5, 17, 33, 3], &[1, 1, 1], &[70, 65, 129, 31, 10]);
    let rows = [
        ("a", a, 13, Activation::Relu, "relu"),
        ("a", a, 13, Activation::Tanh, "tanh"),
        ("a", a, 13, Activation::Gelu, "gelu_tanh"),
        ("b", b, 1, Activation::Tanh, "tanh"),
        ("c", c, 67, Activation::Relu, "relu"),
        ("c", c, 67, Activation::Gelu, "gelu_tanh"),
    ];
    let losses = [(Loss::Mse, "mse"), (Loss::SoftmaxCrossEntropy, "ce")];
    for ((name, widths, batch_size, activation, function), (kind, suffix)) in
        rows.into_iter().flat_map(|row| losses.map(|loss| (row, loss)))
    {
        let mut network = Network::golden(name, widths, activation, batch_size, kind);
        let loss = network.step();
        let tensor = format!("{name}_{function}_{suffix}");
        assert_close(&format!("{tensor} loss"), &[loss], &data[&format!("{tensor}_loss_f64")], 1e-12, 1e-15);
        // The golden gradient is rounded to f32.
        let want = &data[&format!("{tensor}_grad")];
        assert_near(&format!("{tensor} gradient"), &network.gradient(), want, 1e-7);
        assert_close(&format!("{tensor} gradient"), &network.gradient(), want, 1e-7, 1e-10);
    }
}
