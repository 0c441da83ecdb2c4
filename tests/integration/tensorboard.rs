//! `fori train --tensorboard`, as TensorBoard itself reads it.

use serde_json::Value;

use crate::cli::{Dir, TINY};
use crate::peers::peers;

/// What TensorBoard reads below a folder.
fn read(dir: &Dir, folder: &str) -> Option<Value> {
    let text = peers("read_events.py", &dir.path(folder))?;
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

/// The steps and values of a tag.
fn scalars(run: &Value, tag: &str) -> Vec<(u64, f64)> {
    let list = run[tag].as_array().unwrap_or_else(|| panic!("no {tag} in {run}"));
    let pair = |pair: &Value| Some((pair[0].as_u64()?, pair[1].as_f64()?));
    list.iter().map(|p| pair(p).unwrap_or_else(|| panic!("no step and value: {p}"))).collect()
}

/// The steps and losses of a metrics file of one model.
fn metrics(dir: &Dir, name: &str) -> Vec<(u64, f64)> {
    let text = dir.read(name);
    let row = |row: &str| {
        let fields: Vec<_> = row.split(',').collect();
        (fields[0].parse().expect("a step"), f64::from(fields[1].parse::<f32>().expect("a loss")))
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn tensorboard_reads_what_the_metrics_file_has() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 40 --log-every 10 --metrics m.csv --tensorboard runs/a --optimizer adamw"))
        .exits(0);
    let Some(runs) = read(&dir, "runs") else { return };
    let run = &runs["a"];
    assert_eq!(scalars(run, "loss"), metrics(&dir, "m.csv"), "losses");
    let rates = scalars(run, "learning_rate");
    let want = f64::from(1e-3_f32);
    assert_eq!(rates, [(10, want), (20, want), (30, want), (40, want)], "learning rates");
    let hparams = &run["hparams"];
    for (name, value) in [("batch_size", 4.0), ("learning_rate", 1e-3), ("seed", 0.0), ("weight_decay", 1e-4)] {
        assert_eq!(hparams[name], value, "{name} in {hparams}");
    }
    for (name, value) in [("optimizer", "adamw"), ("activation", "gelu"), ("hidden", "4")] {
        assert_eq!(hparams[name], value, "{name} in {hparams}");
    }
    assert!(run["text"].as_str().is_some_and(|text| text.contains("| optimizer | adamw |")), "the text of {run}");
    assert_eq!(run["status"], 1, "the run succeeded");
}

#[test]
fn a_resumed_run_goes_on_and_replaces_later_steps() {
    let dir = Dir::new();
    let run = format!("train {TINY} --log-every 10 --tensorboard t");
    dir.run(&format!("{run} --steps 60 --checkpoint c.safetensors --checkpoint-every 30 --keep 2")).exits(0);
    dir.run("train --resume c.safetensors.30 --steps 80 --log-every 20 --metrics m.csv --tensorboard t").exits(0);
    let Some(runs) = read(&dir, "t") else { return };
    let losses = scalars(&runs["."], "loss");
    let steps: Vec<_> = losses.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [10, 20, 30, 40, 60, 80], "steps");
    assert_eq!(losses[3..], metrics(&dir, "m.csv"), "losses after the resume");
}

#[test]
fn each_model_of_an_ensemble_is_a_run() {
    let dir = Dir::new();
    let sweep = "--sweep learning_rate=0.1,0.01,0.001 --tensorboard t --tensorboard-models 2";
    dir.run(&format!("train {TINY} --steps 20 {sweep}")).exits(0).says(&["the first 2 of 3 models"]);
    let Some(runs) = read(&dir, "t") else { return };
    let names: Vec<_> = runs.as_object().expect("runs").keys().collect();
    assert_eq!(names, ["model_0", "model_1"], "runs");
    assert_eq!(runs["model_1"]["hparams"]["learning_rate"], 0.01, "the swept learning rate");
    assert_eq!(scalars(&runs["model_1"], "loss").len(), 20, "losses");
}

#[test]
fn other_runs_are_not_mixed_in_and_failures_are_told() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 5 --tensorboard t")).exits(0);
    let before = std::fs::read_dir(dir.path("t")).expect("the folder").count();
    dir.run(&format!("train {TINY} --steps 5 --tensorboard t")).exits(2).says(&["events of another run"]);
    assert_eq!(std::fs::read_dir(dir.path("t")).expect("the folder").count(), before, "files");
    dir.write("file", "");
    dir.run(&format!("train {TINY} --steps 5 --tensorboard file")).exits(2).says(&["--tensorboard file"]);
    dir.run(&format!("train {TINY} --steps 5 --tensorboard-models 3")).exits(2).says(&["--tensorboard <DIR>"]);
    dir.run(&format!("train {TINY} --steps 50 --learning-rate 1e30 --tensorboard d")).exits(3);
    if let Some(runs) = read(&dir, "d") {
        assert!(!scalars_or_nan(&runs["."]).is_empty(), "the losses of a run that diverged: {runs}");
    }
}

/// The losses, NaN or not.
fn scalars_or_nan(run: &Value) -> Vec<Value> {
    run["loss"].as_array().cloned().unwrap_or_default()
}
