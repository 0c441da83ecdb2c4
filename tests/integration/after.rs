//! What is done with a checkpoint: inspected, and exported.

use fori::checkpoint::Checkpoint;
use fori::network::{Network, Which};

use crate::cli::{Dir, TINY};

/// A folder with a trained checkpoint `c` of a table `t.csv`.
pub fn trained(flags: &str) -> Dir {
    let dir = Dir::new();
    dir.write("t.csv", "a,b,y\n1,2,3\n1,5,4\n0,1,7\n2,2,5\n");
    dir.run(&format!("train --executor cpu --batch-size 4 --checkpoint c -q {flags}")).exits(0);
    dir
}

fn read(dir: &Dir, name: &str) -> Checkpoint {
    Checkpoint::read(&dir.path(name)).unwrap_or_else(|e| panic!("{e}"))
}

/// A model of a checkpoint.
pub fn network(dir: &Dir, name: &str, model: usize) -> Network {
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
