//! Initial parameters and the truth of the synthetic task against Flax.

use fori::rng::Key;
use fori::spec::{Activation, Init, Model, initial_parameters, linreg_truth};

use crate::cli::Dir;
use crate::common::{assert_close, assert_ulps, f64s, golden, word};

#[test]
fn initial_kernels_equal_those_of_flax() {
    let data = golden("init.safetensors");
    let model = Model::new(2, &[64, 64], 1, Activation::Gelu).expect("the widths are possible");
    let layers = initial_parameters(&model, Init::LecunNormal, 0);
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
        let (kernel, bias) = &initial_parameters(&model, Init::LecunNormal, 5)[0];
        let values = f64s(kernel);
        let mean_square = values.iter().map(|v| v * v).sum::<f64>() / f64::from(inputs) / 8192.0;
        let scaled = mean_square * f64::from(inputs);
        assert!((scaled - 1.0).abs() < 0.05, "inputs {inputs}: variance times inputs is {scaled}");
        let limit = 2.0 / 0.879_625_66 / f64::from(inputs).sqrt() * 1.000_001;
        assert!(values.iter().all(|v| v.abs() <= limit), "inputs {inputs}: a number beyond {limit}");
        assert!(bias.iter().all(|&v| v == 0.0), "inputs {inputs}: a bias that is not 0");
    }
}

#[test]
fn initial_kernels_equal_those_of_jax() {
    let data = golden("more.safetensors");
    let model = Model::new(3, &[5, 4, 4], 1, Activation::Sin).expect("the widths are possible");
    let model = Model { w0: 30.0, ..model };
    for &init in Init::ALL {
        for (i, (kernel, bias)) in initial_parameters(&model, init, 7).iter().enumerate() {
            // The QR factors of JAX are in single precision.
            let tolerance = if init == Init::Orthogonal { 2e-6 } else { 2e-7 };
            let name = format!("{init}{i}");
            assert_close(&name, &f64s(kernel), &data[&name], 0.0, tolerance);
            assert!(bias.iter().all(|&b| b == 0.0), "{name}: a bias that is not 0");
        }
    }
}

#[test]
fn orthogonal_kernels_have_orthogonal_columns_or_rows() {
    for (inputs, outputs) in [(65, 33), (33, 65), (64, 64), (1, 7)] {
        let model = Model::new(inputs, &[], outputs, Activation::Relu).expect("the widths are possible");
        let kernel = f64s(&initial_parameters(&model, Init::Orthogonal, 3)[0].0);
        let vector = |k: usize, n: usize| {
            if inputs >= outputs { kernel[n * outputs + k] } else { kernel[k * outputs + n] }
        };
        for a in 0..inputs.min(outputs) {
            for b in 0..=a {
                let product: f64 = (0..inputs.max(outputs)).map(|n| vector(a, n) * vector(b, n)).sum();
                let want = if a == b { 1.0 } else { 0.0 };
                assert_close(&format!("{inputs} {outputs}: {a} times {b}"), &[product], &[want], 0.0, 1e-6);
            }
        }
    }
}

#[test]
fn initializers_are_flags_and_part_of_the_experiment() {
    let dir = Dir::new();
    let train = "train --executor cpu --hidden 5 --batch-size 4 -q";
    for init in Init::ALL {
        let flags = if *init == Init::Siren { "--activation sin" } else { "" };
        dir.run(&format!("{train} --init {init} {flags} --steps 20 --checkpoint whole")).exits(0);
        dir.run(&format!("{train} --init {init} {flags} --steps 9 --checkpoint parts")).exits(0);
        dir.run("train --resume parts --steps 20 -q").exits(0);
        assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "{init} resumed");
    }
    for (flags, texts) in [
        ("--init siren", ["--init siren is made for --activation sin", "not for gelu"]),
        ("--w0 3", ["--w0 3.0 is made for --activation sin", "leave it out"]),
        ("--activation sin --w0 0", ["--w0 0.0", "above 0"]),
        ("--activation sin --w0 nan", ["--w0 NaN", "above 0"]),
        ("--init big_bang", ["--init", "expected one of lecun_normal"]),
    ] {
        dir.run(&format!("{train} --steps 2 {flags}")).exits(2).says(&texts);
    }
    dir.run("train --resume whole --init zeros").exits(2).says(&["--init zeros contradicts", "which has siren"]);
    dir.run("train --resume whole --w0 3").exits(2).says(&["--w0 3.0 contradicts", "which has 30.0"]);
}
