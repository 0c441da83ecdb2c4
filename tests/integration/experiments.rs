//! Experiment files: what is read, what is written, and that both say the same run.

use crate::cli::{Dir, TINY};
use crate::common;

/// Trains with flags, then from what that has saved; fails unless both end in the same bits. Returns the file.
fn repeats(dir: &Dir, flags: &str) -> String {
    dir.run(&format!("train {flags} --checkpoint c --save-experiment e.toml -q")).exits(0);
    let first = dir.bytes("c");
    std::fs::remove_file(dir.path("c")).expect("it is there");
    dir.run("train e.toml").exits(0);
    assert!(
        dir.bytes("c") == first,
        "the checkpoint of `{flags}` differs from that of its experiment: {}",
        dir.read("e.toml")
    );
    let text = dir.read("e.toml");
    // What is saved of the second run is the same file.
    dir.run("train e.toml --save-experiment again.toml").exits(0);
    assert_eq!(dir.read("again.toml"), text, "saved again");
    text
}

fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|l| l == *line), "no line `{line}` in\n{text}");
    }
}

#[test]
fn a_run_on_the_default_task_repeats() {
    let text = repeats(&Dir::new(), &format!("{TINY} --steps 30 --seed 7 --optimizer lion"));
    has(
        &text,
        &["# Data", "inputs = 2", "seed = 7", "b2 = 0.99", "weight_decay = 0.001", "hidden = [4]", "quiet = true"],
    );
    has(&text, &["executor = \"cpu\"", "layer_norm = false", "learning_rate = 0.001", "schedule = \"constant\""]);
    for absent in ["sampling", "missing", "fourier", "min_delta", "validate_every", "adapter =", "\neps", "momentum"] {
        assert!(!text.contains(absent), "{absent} has no part in\n{text}");
    }
}

#[test]
fn a_table_with_validation_and_schedule_repeats() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("folder")).expect("a folder");
    let rows: String =
        (0..20).map(|i| format!("{i},{},{},{}\n", i * 7 % 5, if i % 3 == 0 { "p" } else { "q" }, i * i)).collect();
    dir.write("folder/t.csv", &format!("a,\"b,c\",\"k \"\"1\"\"\",y\n{rows}"));
    let flags =
        "--data folder/t.csv --target y --exclude \"b,c\" --validation 0.2 --schedule warmup_cosine --patience 50";
    let text = repeats(&dir, &format!("{TINY} {flags} --steps 60 --no-standardize --dropout 0.1"));
    has(
        &text,
        &[
            "data = \"folder/t.csv\"",
            "target = [\"y\"]",
            "exclude = [\"b,c\"]",
            "validation = 0.2",
            "missing = \"error\"",
        ],
    );
    has(&text, &["warmup_steps = 6", "decay_steps = 60", "end_value = 0.0", "validate_every = 1", "patience = 50"]);
    has(&text, &["no_standardize = true", "sampling = \"shuffle\"", "min_delta = 0"]);
    // A resumed run may have the file, too.
    dir.run("train e.toml --resume c --steps 70").exits(0);
    dir.run("train e.toml --resume c --seed 9").exits(2).says(&["--seed 9 contradicts the checkpoint"]);
    dir.write("other.toml", "seed = 9\n");
    dir.run("train other.toml --resume c")
        .exits(2)
        .says(&["error: seed 9 contradicts", "(other.toml: seed in line 1)"]);
}

#[test]
fn an_ensemble_with_a_sweep_repeats() {
    let sweep = "--ensemble 2 --sweep learning-rate=1e-3,0.02 --sweep b1=0.5,0.9";
    let text =
        repeats(&Dir::new(), &format!("{TINY} {sweep} --steps 20 --schedule piecewise --boundaries 15=0.1,10=0.5"));
    has(&text, &["sweep = { learning_rate = [0.001, 0.02], b1 = [0.5, 0.9] }", "boundaries = { 10 = 0.5, 15 = 0.1 }"]);
    assert!(!text.contains("\nlearning_rate") && !text.contains("\nb1"), "a swept number stands twice in\n{text}");
}

#[test]
fn a_run_whose_executor_was_found_repeats() {
    if common::device().is_none() {
        return;
    }
    let dir = Dir::new().with_own_cache();
    let text = repeats(&dir, "--hidden 4 --batch-size 4 --steps 30");
    assert!(!text.contains("executor = \"auto\""), "the executor is named in\n{text}");
}

#[test]
fn the_example_trains() {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/experiment.toml");
    let dir = Dir::new();
    let ran = dir.run(&format!("train {} --executor cpu --steps 150 --json -q", example.display()));
    let json = ran.exits(0).json();
    assert_eq!(json["steps"], 150, "a flag wins");
    assert_eq!(json["models"].as_array().map(Vec::len), Some(6), "models of {ran}");
    assert_eq!(json["validation"]["step"], 150, "validation of {ran}");
}

#[test]
fn paths_of_a_file_begin_in_its_folder() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("lab")).expect("a folder");
    dir.write("lab/t.csv", "a,y\n1,2\n2,3\n3,5\n");
    dir.write(
        "lab/e.toml",
        "data = \"t.csv\"\ntarget = \"y\"\nexecutor = \"cpu\"\nhidden = [4]\nsteps = 5\ncheckpoint = \"c\"\n",
    );
    dir.run("train lab/e.toml -q --save-experiment saved.toml").exits(0);
    let checkpoint = dir.bytes("lab/c");
    dir.run("train saved.toml -q").exits(0);
    assert_eq!(dir.bytes("lab/c"), checkpoint, "from a file in another folder");
    dir.run("train lab/e.toml -q --checkpoint here --save-experiment lab/saved.toml").exits(0);
    dir.run("train lab/saved.toml -q").exits(0);
    assert_eq!(dir.names(), ["here", "lab", "saved.toml"], "files");
    dir.write("lab/e.toml", "data = \"absent.csv\"\ntarget = \"y\"\n");
    dir.run("train lab/e.toml --executor cpu")
        .exits(1)
        .says(&["error: data lab/absent.csv: ", "(lab/e.toml: data in line 1)"]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("folder")).expect("a folder");
    dir.write("bad.toml", "stepz = 3\n").write("mine.toml", "steps = 3\n");
    dir.run("train absent.toml").exits(2).says(&["absent.toml: ", "expected an experiment file in TOML"]);
    dir.run("train folder").exits(2).says(&["folder: ", "expected an experiment file in TOML"]);
    dir.run("train bad.toml").exits(2).says(&["bad.toml, line 1: unknown key \"stepz\": did you mean \"steps\"?"]);
    dir.run("train mine.toml bad.toml").exits(2).says(&["bad.toml"]);
    let run = format!("train {TINY} --steps 3 -q --save-experiment");
    dir.run(&format!("{run} folder")).exits(2).says(&["--save-experiment folder", "found a folder"]);
    dir.run(&format!("{run} absent/e.toml")).exits(2).says(&["no folder absent; make it first"]);
    dir.run(&format!("{run} mine.toml")).exits(2).says(&["--save-experiment mine.toml: it exists", "another file"]);
    dir.run(&format!("{run} e.toml")).exits(0);
    dir.run(&format!("{run} e.toml --seed 3")).exits(0);
    assert!(dir.read("e.toml").contains("seed = 3"), "what it has written it replaces");
    dir.write("e.toml.partial", "of the user");
    dir.run(&format!("{run} e.toml --seed 4")).exits(0);
    assert_eq!(dir.read("e.toml.partial"), "of the user", "another file");
    std::fs::remove_file(dir.path("e.toml.partial")).expect("it is there");
    dir.run("train e.toml --save-experiment ./e.toml").exits(2).says(&["the file that the experiment was read from"]);
    dir.run("train --resume c --save-experiment e.toml").exits(2).says(&["--save-experiment", "--resume"]);
    assert_eq!(dir.read("mine.toml"), "steps = 3\n", "it is left alone");
    assert_eq!(dir.names(), ["bad.toml", "e.toml", "folder", "mine.toml"], "nothing else is left behind");
}
