//! Which part of the crate may name which dependency.

use std::fs;
use std::path::Path;

use crate::common::files;

/// A crate, and where in `src/` it may be named.
const ALLOWED: [(&str, &[&str]); 6] = [
    ("wgpu", &["gpu/"]),
    ("clap", &["cli/"]),
    ("naga", &["shader/"]),
    ("prost", &["export/", "tensorboard"]),
    ("plotters", &["cli/chart/", "cli/plot/", "cli/bench/"]),
    ("resvg", &["cli/chart/"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether a line of code, without its comment, has a crate at the start of a path or in a `use`.
fn names(line: &str, name: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).any(|(at, _)| {
        let after = &code[at + name.len()..];
        !code[..at].ends_with(in_word) && ["::", ";", " as ", "]", ")"].iter().any(|end| after.starts_with(end))
    })
}

#[test]
fn code_is_told_from_comments() {
    for (line, want) in [
        ("use wgpu::Device;", true),
        ("use wgpu;", true),
        ("    let x = wgpu::Limits::default(); // why", true),
        ("    #[derive(wgpu)]", true),
        ("//! Owns wgpu::Device.", false),
        ("    f(1); // wgpu::Device counts", false),
        ("    say(\"wgpu said no\");", false),
        ("    let x = my_wgpu::like;", false),
        ("    let x = wgpu_like::new;", false),
    ] {
        assert_eq!(names(line, "wgpu"), want, "{line}");
    }
}

#[test]
fn dependencies_are_named_only_where_they_belong() {
    let source = root().join("src");
    let mut seen = [0; ALLOWED.len()];
    for file in files(&source) {
        let text = fs::read_to_string(&file).expect("sources are text");
        let place = file.strip_prefix(&source).expect("a file below src").to_string_lossy().replace('\\', "/");
        for ((name, allowed), seen) in ALLOWED.iter().zip(&mut seen) {
            let found: Vec<_> = text.lines().zip(1..).filter(|(line, _)| names(line, name)).collect();
            *seen += found.len();
            let belongs = allowed.iter().any(|allowed| place.starts_with(allowed));
            assert!(
                belongs || found.is_empty(),
                "src/{place} names {name}, which only {allowed:?} of src may: {found:?}"
            );
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "one of {ALLOWED:?} is named nowhere: {seen:?}");
}

/// A second naga would check other modules than those that wgpu compiles. The lock file has the crates of all systems,
/// where `cargo tree` wants them downloaded.
#[test]
fn there_is_one_naga() {
    let text = fs::read_to_string(root().join("Cargo.lock")).expect("the lock file is in the repository");
    let versions: Vec<_> =
        text.split("[[package]]").filter(|p| p.lines().any(|line| line == "name = \"naga\"")).collect();
    assert_eq!(versions.len(), 1, "packages named naga: {versions:?}");
}
