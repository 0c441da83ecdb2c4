//! Initial parameters and the truth of the synthetic task against Flax.

use fori::rng::Key;
use fori::spec::{Activation, Model, initial_parameters, linreg_truth};

use crate::common::{assert_close, assert_ulps, f64s, golden, word};

#[test]
fn initial_kernels_equal_those_of_flax() {
    let data = golden("init.safetensors");
    let model = Model::new(2, &[64, 64], 1, Activation::Gelu).expect("the widths are possible");
    let layers = initial_parameters(&model, 0);
    assert_eq!(layers.len(), 3, "layers");
    for (i, (kernel, bias)) in layers.iter().enumerate() {
        assert_close(&format!("kernel{i}"), &f64s(kernel), &data[&format!("kernel{i}")], 0.0, 2e-7);
        assert_eq!(f64s(bias), data[&format!("bias{i}")], "bias{i}");
    }
}

#[test]
fn kernels_use_every_other_child_of_the_root_key() {
    for (i, want) in (0..).zip(golden("init.safetensors")["kernel_keys"].chunks_exact(2)) {
        let key = Key::from_seed(0).fold_in(2 * i);
        assert_eq!(key.0, [word(want[0]), word(want[1])], "key of kernel{i}");
    }
}

#[test]
fn the_truth_equals_that_of_jax() {
    let data = golden("init.safetensors");
    let (weights, bias, key) = linreg_truth(0, 2, 1);
    assert_ulps("gt_weights", &weights, &data["gt_weights"], 4, 0.0);
    assert_ulps("gt_bias", &bias, &data["gt_bias"], 4, 0.0);
    let want: Vec<_> = data["loop_key"].iter().map(|&v| word(v)).collect();
    assert_eq!(key.0.to_vec(), want, "the key of the training loop");
}

/// `lecun_normal` has the variance `1 / inputs`, and nothing beyond two standard deviations of the uncut normal.
#[test]
fn kernels_have_the_variance_of_their_width() {
    for inputs in [1_u16, 3, 65, 257] {
        let model = Model::new(usize::from(inputs), &[], 8192, Activation::Relu).expect("the widths are possible");
        let (kernel, bias) = &initial_parameters(&model, 5)[0];
        let values = f64s(kernel);
        let mean_square = values.iter().map(|v| v * v).sum::<f64>() / f64::from(inputs) / 8192.0;
        let scaled = mean_square * f64::from(inputs);
        assert!((scaled - 1.0).abs() < 0.05, "inputs {inputs}: variance times inputs is {scaled}");
        let limit = 2.0 / 0.879_625_66 / f64::from(inputs).sqrt() * 1.000_001;
        assert!(values.iter().all(|v| v.abs() <= limit), "inputs {inputs}: a number beyond {limit}");
        assert!(bias.iter().all(|&v| v == 0.0), "inputs {inputs}: a bias that is not 0");
    }
}
