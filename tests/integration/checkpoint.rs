//! Checkpoints: a run that was stopped and resumed ends in the same bits as one that was not, and a run that diverges or is
//! interrupted leaves a good one.

use fori::checkpoint::Checkpoint;
use safetensors::SafeTensors;

use crate::cli::{Dir, TINY};
use crate::common;

fn read(dir: &Dir, name: &str) -> Checkpoint {
    Checkpoint::read(&dir.path(name)).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs to step 60 at once, and in three parts; the files must be the same.
fn resumes_to_the_same_bits(flags: &str) {
    let dir = Dir::new();
    dir.write("t.csv", "a,b,y\n1,2,3\n1,5,4\n0,1,7\n2,2,5\n");
    dir.run(&format!("train {flags} --steps 60 --checkpoint whole -q")).exits(0);
    dir.run(&format!("train {flags} --steps 23 --checkpoint parts -q")).exits(0);
    dir.run("train --resume parts --steps 24 -q").exits(0);
    let ran = dir.run("train --resume parts --steps 60 --json -q");
    let json = ran.exits(0).json();
    assert_eq!((&json["resumed_from"], &json["verified_steps"]), (&24.into(), &36.into()), "steps of {ran}");
    assert_eq!(ran.stderr.matches("note: the checkpoint was made").count(), 0, "the same executor: {ran}");
    assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "checkpoint of {flags}");
    assert_eq!(read(&dir, "whole").step(), 60, "step of {flags}");
}

const NETWORK: &str = "--hidden 5 --batch-size 6";
const MODELS: [&str; 3] = ["", "--ensemble 2 --sweep learning_rate=1e-2,1e-3", "--data t.csv --target y"];
const OPTIMIZERS: [&str; 3] = ["--optimizer adam", "--optimizer sgd --momentum 0.9", "--optimizer adagrad"];

fn resumes_on(executor: &str) {
    for models in MODELS {
        for optimizer in OPTIMIZERS {
            resumes_to_the_same_bits(&format!("--executor {executor} {NETWORK} {models} {optimizer}"));
        }
    }
}

#[test]
fn cpu_resumes_to_the_same_bits() {
    resumes_on("cpu");
}

#[test]
fn recorded_resumes_to_the_same_bits() {
    if common::device().is_some() {
        resumes_on("recorded");
    }
}

#[test]
fn persistent_resumes_to_the_same_bits() {
    if common::device().is_some() {
        resumes_on("persistent");
    }
}

#[test]
fn auto_resumes_on_the_executor_of_the_checkpoint_or_says_so() {
    if common::device().is_none() {
        return;
    }
    let dir = Dir::new();
    dir.run(&format!("train {NETWORK} --executor persistent --steps 20 --checkpoint c -q")).exits(0);
    let ran = dir.run("train --resume c --steps 30 --json -q");
    assert_eq!(ran.exits(0).json()["executor"], "persistent", "executor of {ran}");
    let ran = dir.run("train --resume c --steps 40 --executor auto --json -q");
    assert_eq!(ran.exits(0).json()["verified_steps"], 10, "auto measures from where the run is: {ran}");
    let ran = dir.run("train --resume c --steps 50 --executor cpu --json -q");
    let json = ran.exits(0).says(&["note: the checkpoint was made by executor", "and this is executor cpu"]).json();
    assert_eq!(json["executor"], "cpu", "executor of {ran}");
}

#[test]
fn checkpoints_are_at_exact_steps_whatever_the_chunks() {
    let (one, other) = (Dir::new(), Dir::new());
    let flags = format!("train {TINY} --steps 40 --checkpoint c --checkpoint-every 7 --log-every 1 --metrics m.csv -q");
    one.run(&format!("{flags} --keep 9 --iters-per-submit 5")).exits(0);
    other.run(&format!("{flags} --keep 9")).exits(0);
    let names = ["c", "c.14", "c.21", "c.28", "c.35", "c.40", "c.7", "m.csv"];
    assert_eq!((one.names(), other.names()), (names.map(String::from).into(), names.map(String::from).into()), "files");
    for (name, step) in names.iter().zip([40, 14, 21, 28, 35, 40, 7]) {
        assert_eq!(read(&one, name).step(), step, "step of {name}");
        assert_eq!(one.bytes(name), other.bytes(name), "{name}");
    }
    let text = one.read("m.csv");
    let steps: Vec<u64> = text.lines().skip(1).filter_map(|row| row.split(',').next()?.parse().ok()).collect();
    assert_eq!(steps, (1..=40).collect::<Vec<_>>(), "each step is reported once, in order");
}

#[test]
fn the_last_ones_are_kept_and_those_of_other_runs_left_alone() {
    let dir = Dir::new();
    dir.write("c.900", "of another run").write(".c.abcdef.partial", "half").write(".c.txt", "of the user");
    let flags = format!("train {TINY} --checkpoint c --checkpoint-every 10 --keep 2 -q");
    dir.run(&format!("{flags} --steps 35")).exits(0);
    assert_eq!(dir.names(), [".c.txt", "c", "c.30", "c.35", "c.900"], "the half-written file of a killed run is gone");
    dir.run("train --resume c --steps 50 -q").exits(0);
    assert_eq!(dir.names(), [".c.txt", "c", "c.40", "c.50", "c.900"], "a resumed run goes on keeping two");
    assert_eq!(dir.bytes("c"), dir.bytes("c.50"), "the file is the newest");
    std::fs::copy(dir.path("c.40"), dir.path("c.30")).expect("a file that a killed run had no time to remove");
    dir.run("train --resume c -q").exits(0);
    assert_eq!(dir.names(), [".c.txt", "c", "c.40", "c.50", "c.900"], "also where there is nothing left to train");
}

#[test]
fn the_file_is_safetensors_with_the_names_of_flax() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --ensemble 3 --steps 5 --checkpoint c -q")).exits(0);
    let bytes = dir.bytes("c");
    let tensors = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let shape = |name| tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}")).shape().to_vec();
    assert_eq!(shape("layers.0.kernel"), [3, 2, 4], "(models, in, out)");
    assert_eq!(shape("layers.1.bias"), [3, 1], "(models, out)");
    assert_eq!(shape("nu.layers.1.kernel"), [3, 4, 1], "as the parameters");
    assert_eq!((shape("key"), shape("step")), (vec![3, 2], vec![3]), "state words");
    dir.run(&format!("train {TINY} --steps 5 --checkpoint c -q")).exits(0);
    assert_eq!(read(&dir, "c").tensor("layers.0.kernel").len(), 8, "no axis of models for one model");
}

#[test]
fn a_diverged_state_never_replaces_a_good_checkpoint() {
    let dir = Dir::new();
    let flags =
        format!("train {TINY} --optimizer sgd --steps 300 --checkpoint-every 1 --checkpoint c --keep 200 --json -q");
    let ran = dir.run(&format!("{flags} --learning-rate 0.5"));
    let json = ran.exits(3).says(&["error: training diverged at step", "the last finite one, of step"]).json();
    let good = json["checkpoint"]["step"].as_u64().expect("a step");
    ran.says(&[&format!("note: the last good checkpoint, of step {good}, is c")]);
    ran.says(&[&format!("training diverged at step {}:", good + 1)]);
    assert!(json["steps"].as_u64() < Some(300), "it stopped: {ran}");
    let kept = dir.bytes("c");
    assert!(read(&dir, "c").tensor("layers.0.kernel").iter().all(|p| p.is_finite()), "the parameters are finite");
    let ran = dir.run(&format!("{flags} --learning-rate 0.5 --on-divergence continue"));
    assert_eq!(ran.exits(3).json()["steps"], 300, "it went on: {ran}");
    assert_eq!(read(&dir, "c").step(), good, "the same checkpoint is kept");
    assert_ne!(dir.bytes("c"), kept, "but for the answer to divergence in its experiment");
    let ran = dir.run("train --resume c.2 --learning-rate 1e-4 --override --checkpoint d --json -q");
    assert_eq!(ran.exits(0).json()["steps"], 300, "an early one and a smaller learning rate help: {ran}");
}

#[test]
fn in_an_ensemble_the_others_go_on_and_are_saved() {
    let dir = Dir::new();
    let flags = format!("train {TINY} --optimizer sgd --sweep learning_rate=0.5,1e-3 --json -q");
    let whole = dir.run(&format!("{flags} --steps 300 --checkpoint whole")).exits(0).json();
    assert!(whole["models"][0]["diverged_at"].is_u64(), "the first diverged: {whole}");
    dir.run(&format!("{flags} --steps 200 --checkpoint parts")).exits(0);
    let parts = dir.run("train --resume parts --steps 300 --json -q").exits(0).json();
    assert_eq!(parts["models"], whole["models"], "models");
    assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "checkpoints");
    dir.run(&format!("train {TINY} --optimizer sgd --sweep learning_rate=0.5,1.0 --steps 900")).exits(3);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_resumes_to_the_same_bits() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let dir = Dir::new();
    for signal in ["INT", "TERM"] {
        let args = format!("train {TINY} --steps 4000000000 --log-every 1000 --checkpoint c --json");
        let mut child = dir.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut lines = stderr.lines().map(|line| line.expect("stderr is UTF-8"));
        lines.find(|line| line.starts_with("step ")).expect("it trains");
        let kill = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(kill.expect("sh is there").success(), "the signal was sent");
        lines.for_each(drop);
        let ran = crate::cli::Ran::new(&dir, args, child.wait_with_output().expect("it ends"));
        let json = ran.exits(130).json();
        let step = json["steps"].as_u64().expect("steps");
        assert_eq!(json["checkpoint"]["step"], step, "the checkpoint is of the last step: {ran}");
        dir.run(&format!("train --resume c --steps {} -q", step + 500)).exits(0);
        dir.run(&format!("train {TINY} --steps {} --checkpoint whole -q", step + 500)).exits(0);
        assert_eq!(dir.bytes("c"), dir.bytes("whole"), "checkpoint after SIG{signal} at step {step}");
    }
}

/// `fori tune` may have chosen other kernels than the default ones, and other kernels are other bits.
#[test]
fn a_resumed_run_has_the_kernels_of_the_checkpoint() {
    if common::device().is_none() {
        return;
    }
    let dir = Dir::new().with_own_cache();
    let network = "--hidden 5 --batch-size 6";
    let tuned = dir.run(&format!("tune {network} --json")).exits(0).json();
    let (file, key) = (tuned["cache"].as_str().expect("a path"), tuned["key"].as_str().expect("a key"));
    let mut cache: serde_json::Value = serde_json::from_str(&dir.read(file)).expect("the cache is JSON");
    cache[key]["persistent"] = false.into();
    cache[key]["products"] = serde_json::json!({"Tiled": {"side": 8}});
    dir.write(file, &cache.to_string());
    dir.run(&format!("train {network} --steps 60 --checkpoint whole -q")).exits(0);
    assert_eq!(read(&dir, "whole").kernels.map(|k| k.to_string()), Some("tiled 8".into()), "kernels");
    dir.run(&format!("train {network} --steps 30 --checkpoint parts -q")).exits(0);
    let ran = dir.run("train --resume parts --steps 60 --no-tune-cache -q");
    assert!(!ran.exits(0).stderr.contains("was made by"), "the same kernels: {ran}");
    assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "checkpoint");
}
