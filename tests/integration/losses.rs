//! Losses, and whole odd networks, against JAX, on the host.

use fori::spec::{Activation, Loss};

use crate::common::{assert_close, assert_near, f64s, golden};
use crate::network::Network;

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
