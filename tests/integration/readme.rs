//! What the README says can be done with a checkout of the repository.

use std::fs;
use std::path::Path;

use crate::cli::Dir;
use crate::common::device;

/// The tables, the metric that the README promises of each, and its least value.
const PROMISED: [(&str, &str, f64); 4] = [
    ("digits.csv", "accuracy", 0.97),
    ("iris.csv", "accuracy", 0.93),
    ("breast_cancer.csv", "accuracy", 0.96),
    ("diabetes.csv", "r2", 0.40),
];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).replace('\r', "")
}

fn check(executor: &str) {
    let readme = read("README.md");
    for (file, metric, least) in PROMISED {
        let start = format!("fori train --data tests/data/{file} ");
        let line = readme.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no line {start}"));
        let command = line.split('#').next().unwrap_or_default();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
        let args = command.replace(&format!("tests/data/{file}"), "DATA");
        let args = format!("{args} --executor {executor} --json");
        let data = data.display().to_string();
        let args: Vec<_> = args.split_whitespace().skip(1).map(|arg| if arg == "DATA" { &data } else { arg }).collect();
        let ran = Dir::new().run_with(&args);
        let value = ran.exits(0).json()["validation"][metric].as_f64();
        assert!(value.is_some_and(|value| value >= least), "{metric} {value:?}, promised {least}: {ran}");
    }
}

#[test]
fn commands_for_tables_keep_what_the_readme_promises_on_the_cpu() {
    check("cpu");
}

#[test]
fn commands_for_tables_keep_what_the_readme_promises_on_an_adapter() {
    if device().is_some() {
        check("recorded");
    }
}

#[test]
fn the_first_example_is_the_one_in_the_repository() {
    let example = read("examples/hello.rs");
    let (_, code) = example.split_once("\n\n").expect("a heading and the code");
    assert!(
        read("README.md").contains(&format!("```rust\n{code}```")),
        "README.md has not the code of examples/hello.rs"
    );
}

#[test]
fn every_example_is_in_the_readme() {
    let readme = read("README.md");
    let examples = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).expect("the examples");
    let names = examples.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    for name in names.filter(|name| name.ends_with(".rs")) {
        assert!(readme.contains(&format!("(examples/{name})")), "README.md has no link to examples/{name}");
    }
}
