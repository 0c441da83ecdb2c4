//! `fori train`: what it prints and writes when all goes well, and how it ends when training does not.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::{Dir, Ran, TINY};
use crate::common;

/// Keys of the object of `--json`, in every run.
const KEYS: [&str; 19] = [
    "steps",
    "verified_steps",
    "final_loss",
    "seconds",
    "us_per_step",
    "first_step_seconds",
    "executor",
    "iters_per_submit",
    "submissions",
    "dispatches_per_step",
    "recording_us_per_dispatch",
    "repeated_chunks",
    "parameters",
    "adapter",
    "seed",
    "interrupted",
    "version",
    // Of an ensemble or a table alone.
    "models",
    "us_per_model_step",
];

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap_or_else(|| panic!("expected an object: {value}")).keys().map(String::as_str).collect()
}

/// The columns of a CSV file: its header and its rows.
fn csv(text: &str) -> (Vec<&str>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let header = lines.next().expect("a header").split(',').collect();
    let number = |field: &str| field.parse().unwrap_or_else(|e| panic!("{field}: {e}"));
    (header, lines.map(|line| line.split(',').map(number).collect()).collect())
}

#[test]
fn defaults_are_those_of_the_reference_run() {
    let json = Dir::new().run("train --executor cpu --steps 3 --json").exits(0).json();
    assert_eq!(json["parameters"], 4417, "2-64-64-1 with biases");
    assert_eq!(json["seed"], 0, "seed");
    let golden = common::golden("trajectory.safetensors");
    let loss = json["final_loss"].as_f64().expect("a finite loss");
    common::assert_close("loss of step 3", &[loss], &golden["loss_f64"][2..3], 1e-4, 1e-4);
}

#[test]
fn json_is_the_whole_of_stdout_and_has_the_documented_keys() {
    let json = Dir::new().run(&format!("train {TINY} --steps 40 --seed 3 --json")).exits(0).json();
    assert_eq!(keys(&json), KEYS[..17].iter().copied().collect(), "keys");
    for (key, want) in [("steps", 40), ("verified_steps", 40), ("parameters", 17), ("seed", 3)] {
        assert_eq!(json[key], want, "{key} in {json}");
    }
    assert_eq!(json["executor"], "cpu", "executor");
    assert!(json["adapter"].is_null(), "no adapter: {json}");
    for key in ["final_loss", "seconds", "us_per_step", "first_step_seconds"] {
        assert!(json[key].as_f64().is_some_and(|v| v > 0.0), "{key} in {json}");
    }
}

#[test]
fn json_of_an_ensemble_lists_the_models() {
    let sweep = "--sweep learning_rate=0.1,0.01 --sweep b1=0.5,0.9 --ensemble 2 --seed 5";
    let json = Dir::new().run(&format!("train {TINY} {sweep} --steps 40 --json")).exits(0).json();
    assert_eq!(keys(&json), KEYS.iter().copied().collect(), "keys");
    let models = json["models"].as_array().expect("models");
    let key = |key: &'static str| models.iter().map(move |m| m[key].as_f64().expect(key)).collect::<Vec<_>>();
    assert_eq!(key("model"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "models");
    assert_eq!(key("seed"), [5.0, 6.0, 5.0, 6.0, 5.0, 6.0, 5.0, 6.0], "seeds");
    assert_eq!(key("learning_rate"), [0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01], "learning rates");
    assert_eq!(key("b1"), [0.5, 0.5, 0.9, 0.9, 0.5, 0.5, 0.9, 0.9], "the swept decay");
    let best = key("final_loss").into_iter().fold(f64::INFINITY, f64::min);
    assert_eq!(json["final_loss"], best, "the loss of the best model");
    let (step, model) = (json["us_per_step"].as_f64(), json["us_per_model_step"].as_f64());
    let share = step.expect("us_per_step") / 8.0;
    assert!((model.expect("us_per_model_step") / share - 1.0).abs() < 1e-9, "an eighth of us_per_step: {json}");
}

#[test]
fn a_model_of_an_ensemble_trains_as_it_does_alone() {
    let dir = Dir::new();
    let many = dir.run(&format!("train {TINY} --ensemble 3 --steps 50 --json")).exits(0).json();
    let alone = dir.run(&format!("train {TINY} --seed 2 --steps 50 --json")).exits(0).json();
    assert_eq!(many["models"][2]["final_loss"], alone["final_loss"], "loss of seed 2");
}

#[test]
fn metrics_hold_the_golden_losses_at_each_step() {
    let dir = Dir::new();
    dir.run("train --executor cpu --steps 200 --log-every 1 --metrics m.csv").exits(0);
    let text = dir.read("m.csv");
    let (header, rows) = csv(&text);
    assert_eq!(header, ["step", "loss", "learning_rate", "elapsed_s"], "columns");
    let column = |c: usize| rows.iter().map(|row| row[c]).collect::<Vec<_>>();
    assert_eq!(column(0), (1..=200).map(f64::from).collect::<Vec<_>>(), "steps");
    let golden = &common::golden("trajectory.safetensors")["loss_f64"][..200];
    common::assert_close("losses", &column(1), golden, 0.0, 1e-4);
    assert!(rows.iter().all(|row| row[2] == 0.001), "learning rate in every row");
    assert!(column(3).is_sorted() && rows[0][3] > 0.0, "time only grows");
    assert_eq!(dir.names(), ["m.csv"], "no partial file is left");
}

#[test]
fn rows_are_at_the_steps_asked_for_and_at_the_last() {
    let dir = Dir::new();
    for (every, iters, want) in [
        ("7", "auto", vec![7.0, 14.0, 20.0]),
        ("7", "3", vec![7.0, 14.0, 20.0]),
        ("10", "auto", vec![10.0, 20.0]),
        ("100", "6", vec![20.0]),
        ("1", "20", (1..=20).map(f64::from).collect()),
    ] {
        let flags = format!("--steps 20 --log-every {every} --iters-per-submit {iters} --metrics m.csv");
        let ran = dir.run(&format!("train {TINY} {flags}"));
        let text = dir.read("m.csv");
        let steps: Vec<_> = csv(&text).1.iter().map(|row| row[0]).collect();
        assert_eq!(steps, want, "steps of {}", ran.exits(0));
        let said = ran.stderr.lines().filter(|line| line.starts_with("step ")).count();
        assert_eq!(said, want.len(), "steps on the screen: {ran}");
    }
}

#[test]
fn metrics_of_an_ensemble_have_a_model_column_in_both_formats() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --ensemble 2 --steps 5 --log-every 5 --metrics m.csv")).exits(0);
    dir.run(&format!("train {TINY} --ensemble 2 --steps 5 --log-every 5 --metrics m.jsonl")).exits(0);
    let text = dir.read("m.csv");
    let (header, rows) = csv(&text);
    assert_eq!(header, ["step", "model", "loss", "learning_rate", "elapsed_s"], "columns");
    let lines = dir.read("m.jsonl");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    assert_eq!((rows.len(), lines.len()), (2, 2), "a row per model");
    for (row, line) in rows.iter().zip(&lines) {
        assert_eq!(keys(line), header.iter().copied().collect(), "keys");
        for (name, value) in header.iter().zip(row).take(4) {
            assert_eq!(line[name].as_f64(), Some(*value), "{name}");
        }
    }
}

#[test]
fn a_summary_tells_the_steps_of_this_run_and_where_one_model_diverged() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 30 --checkpoint c")).exits(0).prints(&["30 steps in"]);
    dir.run("train --resume c --steps 50").exits(0).prints(&["20 steps, from 30 to 50, in"]);
    let diverged = format!("train {TINY} --steps 30 --learning-rate 1e30 --json");
    assert_eq!(dir.run(&diverged).exits(3).json()["diverged_at"].as_u64(), Some(2));
    assert!(dir.run(&format!("train {TINY} --steps 3 --json")).json().get("diverged_at").is_none());
}

#[test]
fn balanced_classes_find_the_rare_one() {
    let dir = Dir::new();
    let row = |i: u32, class: &str| format!("{},{class}\n", f64::from(i) / 100.0);
    let frequent: String = (0..200).map(|i| row(i, "often")).collect();
    let rare: String = (0..10).map(|i| row(150 + 10 * i, "rare")).collect();
    dir.write("t.csv", &format!("x,y\n{frequent}{rare}"));
    let train = |flags: &str| {
        let run = "train --executor cpu --hidden none --learning-rate 0.1 --steps 1000 --data t.csv --target y --checkpoint c";
        let ran = dir.run(&format!("{run} {flags}"));
        ran.exits(0);
        let scores = dir.run("evaluate c --data t.csv --json").exits(0).json();
        (scores["metrics"]["balanced_accuracy"].as_f64().expect("a metric"), ran.stderr)
    };
    for loss in ["binary_cross_entropy", "softmax_cross_entropy"] {
        let (by_rows, _) = train(&format!("--loss {loss}"));
        let (balanced, said) = train(&format!("--loss {loss} --class-weight balanced"));
        assert!(said.contains("data: 210 rows to train on, classes balanced"), "{said}");
        assert!(balanced > 0.8 && balanced > by_rows + 0.1, "{loss}: {balanced} balanced, {by_rows} by rows");
        dir.run("train --resume c --steps 1010").exits(0).says(&["classes balanced"]);
        dir.run("train --resume c --steps 1020 --data t.csv --class-weight none")
            .exits(2)
            .says(&["which has balanced"]);
    }
    let numbers = format!("train {TINY} --data t.csv --target x --class-weight balanced");
    dir.run(&numbers).exits(2).says(&["--class-weight balanced needs one column of classes"]);
}

#[test]
fn quiet_leaves_the_summary_alone() {
    let ran = Dir::new().run(&format!("train {TINY} --steps 30 --quiet"));
    ran.exits(0).prints(&["30 steps in", "executor cpu", "final loss"]);
    assert_eq!(ran.stderr, "", "stderr of {ran}");
}

#[test]
fn without_quiet_progress_is_on_stderr_alone() {
    let ran = Dir::new().run(&format!("train {TINY} --steps 30"));
    ran.exits(0).says(&["training [2, 4, 1] (17 parameters) for 30 steps, executor cpu", "step        30  loss"]);
    assert_eq!(ran.stdout.lines().count(), 3, "stdout of {ran}");
}

#[test]
fn a_table_is_learned() {
    let data = common::path("data/diabetes.csv");
    let data = data.to_str().expect("a path in UTF-8");
    let flags = "--target progression --executor cpu --hidden 32 --steps 5000 --json";
    let args: Vec<_> = ["train", "--data", data].into_iter().chain(flags.split(' ')).collect();
    let ran = Dir::new().run_with(&args);
    let json = ran.exits(0).json();
    let loss = json["train_loss"].as_f64().expect("train_loss");
    assert!(loss < 0.45, "train_loss {loss}, of a target with variance 1: {ran}");
    let want: BTreeSet<_> = KEYS[..17].iter().copied().chain(["train_loss"]).collect();
    assert_eq!(keys(&json), want, "keys");
}

#[test]
fn a_diverged_run_ends_with_code_3_and_its_figures() {
    let dir = Dir::new();
    let sgd = format!("train {TINY} --optimizer sgd --steps 100 --log-every 50 --json --metrics m.csv");
    let ran = dir.run(&format!("{sgd} --learning-rate 1e6"));
    let json = ran.exits(3).says(&["error: training diverged at step", "--learning-rate"]).json();
    assert!(json["final_loss"].is_null(), "NaN is null: {json}");
    let text = dir.read("m.csv");
    let last = csv(&text).1.pop().expect("the last step is in the metrics though it was not asked for");
    assert_eq!(json["verified_steps"], last[0], "the last step");
    let ran = dir.run(&format!("{sgd} --sweep learning_rate=1e6,1e-3"));
    let json = ran.exits(0).json();
    assert!(json["models"][0]["diverged_at"].is_u64(), "one model diverged: {ran}");
    assert_eq!(json["models"][1].get("diverged_at"), None, "the other did not: {ran}");
}

#[test]
fn the_adapter_is_named() {
    if common::device().is_none() {
        return;
    }
    for (executor, iters) in [("auto", "auto"), ("recorded", "7"), ("persistent", "10")] {
        let flags = format!("--hidden 4 --steps 25 --executor {executor} --iters-per-submit {iters} --json --quiet");
        let ran: Ran = Dir::new().run(&format!("train {flags}"));
        let json = ran.exits(0).json();
        let auto = (executor == "auto").then_some("auto");
        assert_eq!(keys(&json), KEYS[..17].iter().copied().chain(auto).collect(), "keys of {ran}");
        assert!(auto.is_none() || json["auto"]["executor"] == json["executor"], "what auto took in {ran}");
        assert_eq!(keys(&json["adapter"]), BTreeSet::from(["name", "backend", "type", "driver"]), "adapter of {ran}");
        assert_eq!(json["verified_steps"], 25, "steps of {ran}");
        assert!(json["dispatches_per_step"].as_f64().is_some_and(|d| d > 0.0), "dispatches of {ran}");
        let cpu = Dir::new().run("train --executor cpu --hidden 4 --steps 25 --json").exits(0).json();
        let loss = |json: &Value| json["final_loss"].as_f64().expect("a finite loss");
        common::assert_close("loss against the cpu", &[loss(&json)], &[loss(&cpu)], 1e-4, 1e-5);
    }
}

#[test]
fn labels_are_not_standardized_and_are_checked() {
    let dir = Dir::new();
    let data = common::path("data/breast_cancer.csv");
    let data = format!("--data {} --target benign --loss binary_cross_entropy", data.display());
    let json = dir.run(&format!("train --executor cpu --hidden 8 {data} --steps 1000 --json -q")).exits(0).json();
    let loss = json["train_loss"].as_f64().expect("a loss over the table");
    assert!(loss < 0.15, "a small network tells nearly all cases: {loss}");
    dir.write("bad.csv", "a,y\n1,0\n2,3\n");
    let bad = format!("train {TINY} --data bad.csv --target y --loss binary_cross_entropy --steps 1");
    dir.run(&bad).exits(1).says(&["bad.csv", "\"y\"", "from 0 to 1", "found 3"]);
}
