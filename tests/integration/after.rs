//! What is done with a checkpoint: inspected, exported, and made of imported weights.

use std::collections::HashMap;

use fori::checkpoint::Checkpoint;
use fori::network::{Network, Which};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::cli::{Dir, TINY};
use crate::common::path;

/// A folder with a trained checkpoint `c` of a table `t.csv`.
fn trained(flags: &str) -> Dir {
    let dir = Dir::new();
    dir.write("t.csv", "a,b,y\n1,2,3\n1,5,4\n0,1,7\n2,2,5\n");
    dir.run(&format!("train --executor cpu --batch-size 4 --checkpoint c -q {flags}")).exits(0);
    dir
}

fn read(dir: &Dir, name: &str) -> Checkpoint {
    Checkpoint::read(&dir.path(name)).unwrap_or_else(|e| panic!("{e}"))
}

fn network(dir: &Dir, name: &str, model: usize) -> Network {
    Network::of(&read(dir, name), model).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn inspect_says_what_a_checkpoint_is() {
    let dir = trained("--steps 20 --data t.csv --target y --hidden 4,3 --activation tanh --seed 7");
    let version = env!("CARGO_PKG_VERSION");
    dir.run("inspect c").exits(0).prints(&[
        "checkpoint of step 20",
        &format!("written by       fori {version}"),
        "network          2 -> 4 -> tanh -> 3 -> tanh -> 1",
        "parameters       31",
        "input            a: number, mean 1.000000, std 0.707107",
        "target           y: number, mean 4.750000",
        "executor cpu",
        "seed             7",
        "last loss",
    ]);
    let json = dir.run("inspect c --json").exits(0).json();
    assert_eq!(json["step"], 20, "step of {json}");
    assert_eq!(json["parameters"], 31, "parameters of {json}");
    assert_eq!(json["schema"]["inputs"][1]["name"], "b", "schema of {json}");
    assert_eq!(json["experiment"]["seed"], 7, "experiment of {json}");
    let dir = trained("--steps 20 --hidden 4 --ensemble 3");
    let json = dir.run("inspect c --json").exits(0).json();
    assert_eq!(json["models"].as_array().map(Vec::len), Some(3), "models of {json}");
}

#[test]
fn a_file_that_is_no_checkpoint_is_refused_with_the_reason() {
    let dir = trained("--steps 20 --hidden 4");
    let bytes = dir.bytes("c");
    std::fs::write(dir.path("cut"), &bytes[..bytes.len() - 9]).expect("a file can be written");
    for command in ["inspect", "export --format json"] {
        dir.run(&format!("{command} cut")).exits(1).says(&["checkpoint cut: it was cut"]);
        dir.run(&format!("{command} absent")).exits(1).says(&["checkpoint absent: "]);
        dir.run(&format!("{command} t.csv")).exits(1).says(&["checkpoint t.csv: "]);
        dir.run(&format!("{command} .")).exits(1).says(&["checkpoint .: expected a file"]);
    }
}

#[test]
fn the_best_model_is_taken_unless_another_is_asked_for() {
    let dir = trained("--sweep learning_rate=0.0,0.01 --data t.csv --target y --hidden 4 --steps 200");
    let checkpoint = read(&dir, "c");
    let best = fori::network::Predictor::of(&checkpoint, Which::Best).expect("a model");
    let losses = checkpoint.start().losses;
    assert!(losses[1] < losses[0], "the one that learns has the smaller loss: {losses:?}");
    assert_eq!(best.models, [1], "the best model");
    let export = |flags: &str| {
        let ran = dir.run(&format!("export c --format json {flags}"));
        ran.exits(0).json()["stages"][0]["bias"].clone()
    };
    assert_eq!(export(""), export("--model 1"), "the default is the best");
    assert_ne!(export(""), export("--model 0"), "another model");
    dir.run("export c --format json --model 2").exits(2).says(&["--model 2", "models 0 to 1"]);
    let mean = fori::network::Predictor::of(&checkpoint, Which::Mean).expect("models");
    let row = [0.3, -0.2];
    let answers: Vec<_> =
        [0, 1].map(|m| network(&dir, "c", m)).iter().map(|n| n.answers(&n.forward(&row))[0]).collect();
    let predictions = mean.predict(&row);
    let close = |got: f64, want: f64| (got - want).abs() < 1e-12;
    assert!(close(predictions.answers[0], answers.iter().sum::<f64>() / 2.0), "mean of {answers:?}: {predictions:?}");
    assert!(close(predictions.std[0], (answers[0] - answers[1]).abs() / 2.0), "std of {answers:?}: {predictions:?}");
}

#[test]
fn a_diverged_model_predicts_nothing() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --optimizer sgd --sweep learning_rate=0.001,1e9 --steps 90 --checkpoint c -q"))
        .exits(0);
    dir.run("export c --format json --model 1").exits(1).says(&["checkpoint c: model 1", "diverged at step"]);
    dir.run("export c --format json").exits(0).json();
    dir.run("inspect c").exits(0).prints(&["diverged at step"]);
}

#[test]
fn exports_are_written_where_and_as_they_are_asked_for() {
    let dir = trained("--steps 20 --hidden 4");
    for (flags, file) in [
        ("--out n.onnx", "n.onnx"),
        ("--out n.h", "n.h"),
        ("--out n.NPZ", "n.NPZ"),
        ("--out n.json", "n.json"),
        ("--out n.wgsl", "n.wgsl"),
        ("--out m.wgsl", "m.weights.bin"),
        ("--out n.safetensors --naming pytorch", "n.safetensors"),
        ("--out other --format c", "other"),
    ] {
        dir.run(&format!("export c {flags}")).exits(0).says(&["wrote the model at step 20", file]);
        assert!(!dir.bytes(file).is_empty(), "{file} has something");
    }
    assert!(dir.read("n.h").contains("static inline void n_predict("), "the name is that of the file");
    dir.run("export c --format c --name heart").exits(0).prints(&["heart_predict(const float *in, float *out)"]);
    let names = dir.names();
    let before = dir.bytes("c");
    for (flags, code, texts) in [
        ("", 2, &["--format is missing", "onnx"][..]),
        ("--format tflite", 2, &["--format", "tflite", "onnx, safetensors, npz, c, json, wgsl"]),
        ("--out c --format onnx", 2, &["--out c", "which is read"]),
        ("--out absent/n.onnx", 2, &["--out absent/n.onnx", "no folder"]),
        ("--out . --format c", 2, &["--out .", "folder"]),
        ("--format onnx --naming flax", 2, &["--naming is for --format safetensors"]),
        ("--format onnx --name x", 2, &["--name is for --format c"]),
        ("--format c --name a-b", 2, &["--name \"a-b\"", "letters, digits"]),
        ("--format wgsl", 2, &["--format wgsl is two files", "--out"]),
        ("--out absent/n.wgsl", 2, &["--out absent/n.wgsl", "no folder"]),
        ("--format c --model -1", 2, &["--model"]),
    ] {
        dir.run(&format!("export c {flags}")).exits(code).says(&["error: "]).says(texts);
    }
    assert_eq!((dir.names(), dir.bytes("c")), (names, before), "nothing else is written");
}

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
fn a_shader_and_its_weights_are_both_written_or_neither() {
    let dir = trained("--steps 20 --hidden 4");
    std::fs::create_dir(dir.path("n.weights.bin")).expect("a folder can be made");
    dir.run("export c --out n.wgsl").exits(2).says(&["--out n.weights.bin", "folder"]);
    assert!(!dir.path("n.wgsl").exists(), "no module without weights");
    std::fs::rename(dir.path("c"), dir.path("c.weights.bin")).expect("it can be renamed");
    let before = dir.bytes("c.weights.bin");
    dir.run("export c.weights.bin --out c.wgsl").exits(2).says(&["--out c.weights.bin", "which is read"]);
    assert_eq!(dir.bytes("c.weights.bin"), before, "the checkpoint is as it was");
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
    assert_eq!(self::network(&dir, "other", 0), network, "the same weights");
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
