//! Checkpoints made of imported weights.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::after::{network, trained};
use crate::cli::Dir;
use crate::common::path;

#[test]
fn exported_weights_are_imported_bit_for_bit() {
    let dir = trained("--steps 20 --data t.csv --target y --hidden 4,3");
    let trained = network(&dir, "c", 0);
    for naming in ["flax", "pytorch"] {
        dir.run(&format!("export c --format safetensors --naming {naming} --out w.safetensors")).exits(0);
        let flags = "--data t.csv --target y --hidden 4,3 --batch-size 4 --ensemble 2";
        for naming in ["", &format!("--naming {naming}")] {
            dir.run(&format!("import w.safetensors {naming} {flags} --out start"))
                .exits(0)
                .says(&["checkpoint of step 0"]);
            assert_eq!(network(&dir, "start", 0), trained, "imported {naming}");
            assert_eq!(network(&dir, "start", 1), trained, "all models of {naming}");
        }
    }
    dir.run("import c --data t.csv --target y --hidden 4,3 --out start").exits(0);
    assert_eq!(network(&dir, "start", 0), trained, "a checkpoint has the names of Flax");
    let ran = dir.run("train --resume start --executor cpu --steps 5 --json -q");
    assert_eq!(ran.exits(0).json()["verified_steps"], 5, "steps: {ran}");
    assert!(!ran.stderr.contains("may differ"), "nothing was computed before: {ran}");
    assert_ne!(network(&dir, "start", 0), trained, "it was trained");
}

#[test]
fn exported_normalization_and_frequencies_are_imported_bit_for_bit() {
    let norm = "--data t.csv --target y --hidden 4,4 --layer-norm";
    let fourier = format!("{norm} --residual --encoding fourier --fourier-features 3 --include-input");
    for (layers, namings) in [(norm, &["flax", "pytorch"][..]), (&fourier, &["flax"])] {
        let dir = trained(&format!("--steps 20 {layers}"));
        let trained = network(&dir, "c", 0);
        for naming in namings {
            dir.run(&format!("export c --format safetensors --naming {naming} --out w")).exits(0);
            dir.run(&format!("import w {layers} --batch-size 4 --seed 7 --out start")).exits(0);
            assert_eq!(network(&dir, "start", 0), trained, "imported {naming} of {layers}");
        }
    }
    let dir = trained(&format!("--steps 20 {norm}"));
    dir.run("export c --format safetensors --out w").exits(0);
    for (flags, text) in [
        ("", "the network has 0 layers with --layer-norm, and the file has 2 tensors of one axis named ...scale"),
        ("--layer-norm --encoding fourier --fourier-features 1", "lacks the tensor frequencies"),
    ] {
        let import = "import w --data t.csv --target y --hidden 4,4 --batch-size 4 --out other";
        dir.run(&format!("{import} {flags}")).exits(1).says(&[text]);
    }
    let dir = trained("--steps 20 --data t.csv --target y --hidden 4,4 --residual");
    let refusal = ["--naming pytorch", "--residual", "use --naming flax"];
    dir.run("export c --format safetensors --naming pytorch --out w").exits(2).says(&refusal);
    assert!(!dir.path("w").exists(), "nothing is written");
}

#[test]
fn exported_embeddings_are_imported_bit_for_bit() {
    let dir = Dir::new();
    let row = |i: usize| format!("a{},{},b{},{}\n", i % 5, i % 7, i % 3, i % 11);
    dir.write("t.csv", &format!("a,x,b,y\n{}", (0..40).map(row).collect::<String>()));
    let flags = "--data t.csv --target y --hidden 3,5 --batch-size 8 --categorical embedding --embedding-width 3";
    for layers in ["", "--layer-norm"] {
        dir.run(&format!("train {flags} {layers} --executor cpu --steps 20 --checkpoint c -q")).exits(0);
        let trained = network(&dir, "c", 0);
        for naming in ["flax", "pytorch"] {
            dir.run(&format!("export c --format safetensors --naming {naming} --out w")).exits(0);
            dir.run(&format!("import w {flags} {layers} --seed 7 --out start")).exits(0);
            assert_eq!(network(&dir, "start", 0), trained, "imported {naming} {layers}");
        }
        std::fs::remove_file(dir.path("c")).expect("it was written");
    }
    dir.run("import w --data t.csv --target y --features x --hidden 3,5 --layer-norm --naming pytorch --out other")
        .exits(1)
        .says(&["the network has 3 dense layers, and the file has 5 tensors of two axes named ...weight"]);
    dir.run(&format!("import w {flags} --features a,x --layer-norm --out other"))
        .exits(1)
        .says(&["the network has 1 embeddings, and the file has 2 tensors of two axes named ...weight without a bias"]);
}

/// Writes a safetensors file.
fn weights(dir: &Dir, file: &str, tensors: &[(&str, Dtype, &[usize], Vec<u8>)]) {
    let mut views = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        views.push((*name, TensorView::new(*dtype, shape.to_vec(), bytes).expect("a tensor")));
    }
    let bytes = safetensors::serialize(views, None::<HashMap<String, String>>).expect("it is written");
    std::fs::write(dir.path(file), bytes).expect("a file can be written");
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    bytemuck::cast_slice(values).to_vec()
}

#[test]
fn weights_of_other_names_and_types_are_imported() {
    let dir = Dir::new();
    let doubles: Vec<u8> = [1.5_f64, -2.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    // BF16 has the upper half of the bits of F32.
    let half = 0.25_f32.to_bits().to_le_bytes()[2..].to_vec();
    let tensors = [("fc.weight", Dtype::F64, &[1, 2][..], doubles), ("fc.bias", Dtype::BF16, &[1][..], half)];
    weights(&dir, "torch", &tensors);
    dir.run("import torch --hidden none --out start").exits(0);
    let network = network(&dir, "start", 0);
    assert_eq!(network.forward(&[1.0, 1.0]), [-0.75], "1.5 - 2.5 + 0.25");
    let kernel = f32_bytes(&[1.5, -2.5]);
    let flax = [
        ("params/Dense_0/kernel", Dtype::F32, &[2, 1][..], kernel),
        ("params/Dense_0/bias", Dtype::F32, &[1][..], f32_bytes(&[0.25])),
    ];
    weights(&dir, "flax", &flax);
    dir.run("import flax --hidden none --out other").exits(0);
    assert_eq!(crate::after::network(&dir, "other", 0), network, "the same weights");
}

#[test]
fn weights_that_do_not_fit_are_refused_with_what_was_found() {
    let dir = trained("--steps 20 --hidden 4");
    dir.run("export c --format safetensors --out w").exits(0);
    let kernel = f32_bytes(&[1.0, f32::NAN]);
    weights(&dir, "nan", &[("k.kernel", Dtype::F32, &[2, 1], kernel), ("k.bias", Dtype::F32, &[1], f32_bytes(&[0.0]))]);
    weights(&dir, "no-bias", &[("k.kernel", Dtype::F32, &[2, 1], f32_bytes(&[1.0, 2.0]))]);
    weights(&dir, "vector", &[("kernel", Dtype::F32, &[2], f32_bytes(&[1.0, 2.0]))]);
    let words = [1_u16, 2].iter().flat_map(|v| v.to_le_bytes()).collect();
    weights(&dir, "f16", &[("k.kernel", Dtype::F16, &[2, 1], words), ("k.bias", Dtype::F32, &[1], f32_bytes(&[0.0]))]);
    let names = dir.names();
    for (flags, code, texts) in [
        (
            "w --hidden 4,4 --out s",
            1,
            &["w: the network has 3 dense layers, and the file has 2", "layers.0.kernel [2, 4]"][..],
        ),
        ("w --hidden 5 --out s", 1, &["layers.0.kernel has the shape [2, 4], and the network asks for [2, 5]"]),
        ("w --hidden 4 --naming pytorch --out s", 1, &["0 tensors of two axes named ...weight"]),
        ("w --hidden 4 --inputs 4 --outputs 2 --out s", 1, &["[2, 4]", "[4, 4]"]),
        ("nan --hidden none --out s", 1, &["nan: its tensor k.kernel has the number NaN"]),
        ("no-bias --hidden none --out s", 1, &["lacks the tensor k.bias"]),
        ("vector --hidden none --out s", 1, &["no tensor of two axes", "kernel [2]"]),
        ("f16 --hidden none --out s", 1, &["F16", "expected F32, F64 or BF16"]),
        ("t.csv --hidden none --out s", 1, &["t.csv: expected a safetensors file"]),
        ("absent --hidden none --out s", 1, &["absent: "]),
        (". --hidden none --out s", 1, &["expected a safetensors file"]),
        ("w --hidden 4 --out w", 2, &["--out w", "which is read"]),
        ("w --hidden 4", 2, &["--out"]),
        ("w --hidden 4 --out absent/s", 2, &["--out absent/s", "no folder"]),
    ] {
        let ran = dir.run(&format!("import {flags}"));
        ran.exits(code).says(&["error: "]).says(texts);
        assert!(!ran.stderr.contains("panicked"), "no panic: {ran}");
    }
    assert_eq!(dir.names(), names, "nothing is written");
}

#[test]
fn every_damage_of_weights_is_refused_or_harmless() {
    let dir = trained("--steps 20 --hidden 4");
    dir.run("export c --format safetensors --out w").exits(0);
    let bytes = dir.bytes("w");
    let model = fori::spec::Model::new(2, &[4], 1, fori::spec::Activation::Gelu).expect("a network");
    let header = SafeTensors::read_metadata(&bytes).expect("a header").0 + 8;
    for at in 0..header {
        for flip in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            std::fs::write(dir.path("d"), damaged).expect("a file can be written");
            // It may only not panic; a changed text of the metadata changes nothing.
            let _ = fori::import::read(&dir.path("d"), None, &model);
        }
    }
    assert!(fori::import::read(&path("data/iris.csv"), None, &model).is_err(), "a table is no file of weights");
}
