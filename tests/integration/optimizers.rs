//! Optimizers against Optax, on the host.

use fori::spec::{Hyperparameters, Optimizer, Schedule};
use num_traits::Float;

use crate::common::{assert_close, f64s, golden, singles};

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
