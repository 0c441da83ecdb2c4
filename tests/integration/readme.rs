//! What the README says can be done with a checkout of the repository.

use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use crate::cli::{self, Dir};
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

/// Commands of the README that are not run here, and why.
const NOT_RUN: [(&str, &str); 9] = [
    ("cargo run --release -- train", "nothing is built here; `fori train` is run"),
    ("tests/run", "it runs this test"),
    ("tensorboard --logdir runs", "it serves until it is stopped; tensorboard.rs reads the events"),
    (
        "fori tune --hidden 32,32 --batch-size 32",
        "it takes long on software adapters; tune.rs runs it on a smaller network",
    ),
    (
        "fori bench --hidden 32,32 --batch-size 32",
        "it compiles another loop; `fori bench` on the default network is run",
    ),
    ("fori doctor", "doctor.rs runs it"),
    ("sudo apt-get update", "it needs root and the network"),
    ("sudo apt-get install -y --no-install-recommends mesa-vulkan-drivers libvulkan1", "it needs root and the network"),
    ("cargo install --path . --locked", "nothing is built here"),
];

/// What makes the others short: a text and what stands for it.
const SHORTER: [(&str, &str); 9] = [
    ("--steps 1000000", "--steps 90"),
    ("--checkpoint-every 50000", "--checkpoint-every 30"),
    ("--steps 2000000", "--steps 120"),
    ("--steps 100000", "--steps 300"),
    ("--steps 5000", "--steps 150"),
    ("--steps 3000", "--steps 150"),
    ("--steps 2000", "--steps 150"),
    ("--steps 1000", "--steps 300"),
    ("fori bench", "fori bench --rounds 1 --seconds 0.02"),
];

/// The commands in the code blocks of a document, one by one, without their comments.
fn commands(document: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut language = None;
    for line in document.lines() {
        match (line.strip_prefix("```"), language) {
            (Some(found), None) => language = Some(found),
            (Some(_), Some(_)) => language = None,
            (None, Some("sh" | "yaml")) => {
                let line = line.split("  #").next().unwrap_or_default().trim();
                let command = if language == Some("sh") { Some(line) } else { line.strip_prefix("- run: ") };
                commands.extend(command.into_iter().flat_map(|line| line.split(" && ")).map(str::to_owned));
            }
            _ => {}
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// A command that takes no time: with fewer steps, and on the executor that compiles fastest.
#[cfg(unix)]
fn shortened(command: &str) -> String {
    let (run, redirect) = command.split_once(" > ").map_or((command, String::new()), |(a, b)| (a, format!(" > {b}")));
    let mut run = run.to_owned();
    if let Some((long, short)) = SHORTER.iter().find(|(long, _)| run.contains(long)) {
        run = run.replace(long, short);
    }
    if run.starts_with("fori train") && !run.contains("--steps") {
        run += " --steps 150";
    }
    let first = command == "fori train";
    if run.starts_with("fori train") && !first && !run.contains("--executor") && !run.contains("--resume") {
        run += " --executor recorded";
    }
    run + &redirect
}

/// What the README takes for granted in the folder of its reader.
#[cfg(unix)]
fn prepare(dir: &Dir) {
    use std::io::Write as _;

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = |from: &str, to: &str| {
        let to = dir.path(to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder can be made");
        fs::copy(root.join(from), &to).unwrap_or_else(|e| panic!("{from}: {e}"));
    };
    for (file, ..) in PROMISED {
        copy(&format!("tests/data/{file}"), &format!("tests/data/{file}"));
    }
    copy("examples/experiment.toml", "examples/experiment.toml");
    copy("tests/data/formats/flat.jpg", "photo.jpg");
    copy("examples/image.png", "photo.png");
    copy("examples/image.png", "examples/image.png");
    for set in ["train", "t10k"] {
        copy("tests/data/formats/tiny-images-idx3-ubyte.gz", &format!("{set}-images-idx3-ubyte.gz"));
        let labels = fs::read(root.join("tests/data/formats/tiny-labels-idx1-ubyte")).expect("labels");
        let file = fs::File::create(dir.path(&format!("{set}-labels-idx1-ubyte.gz"))).expect("a file can be made");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed.write_all(&labels).and_then(|()| packed.finish().map(|_| ())).expect("labels can be packed");
    }
    let rows: String = (0..60).map(|i| format!("{i},{},{}\n", i % 7, 3 * i + i % 7)).collect();
    dir.write("t.csv", &format!("a,b,y\n{rows}"));
    for name in ["a", "b"] {
        dir.run(&format!("train {} --steps 50 --metrics {name}.csv -q", cli::TINY)).exits(0);
    }
    dir.run("train --executor cpu --steps 1 --checkpoint flax -q").exits(0);
    dir.run("export flax --out flax.safetensors").exits(0);
}

/// With the shell of Unix, which redirects.
#[cfg(unix)]
#[test]
fn every_command_of_the_readme_is_run() {
    if device().is_none() {
        return;
    }
    let dir = Dir::new();
    prepare(&dir);
    let commands = commands(&read("README.md"));
    for (command, why) in NOT_RUN {
        assert!(
            commands.iter().any(|c| c == command),
            "README.md no longer has {command:?}, which is not run as {why}"
        );
    }
    let mut ran = 0;
    for command in commands.iter().filter(|command| NOT_RUN.iter().all(|(name, _)| name != command)) {
        assert!(command.starts_with("fori "), "{command:?} is neither run nor excused: see NOT_RUN");
        let script = format!("fori() {{ {} \"$@\"; }}; {}", env!("CARGO_BIN_EXE_fori"), shortened(command));
        let output = Command::new("sh").args(["-c", &script]).current_dir(dir.path(".")).output().expect("sh starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\nas {}\n{}\n{stderr}", shortened(command), output.status);
        ran += 1;
    }
    assert!(ran > 40, "only {ran} commands were found");
    for (long, _) in SHORTER {
        assert!(commands.iter().any(|command| command.contains(long)), "no command has {long:?}");
    }
    for file in ["m.csv", "loss.svg", "compare.png", "model.onnx", "diabetes.h", "page.html", "photo.html", "bench.svg"]
    {
        assert!(!dir.bytes(file).is_empty(), "{file} was written");
    }
}

#[test]
fn commands_and_sections_that_the_readme_names_are_there() {
    let readme = read("README.md");
    let help = Dir::new().run("--help").exits(0).stdout.clone();
    let known = |name: &str| {
        help.lines().any(|line| line.strip_prefix("  ").is_some_and(|l| l.split(' ').next() == Some(name)))
    };
    for named in readme.split("`fori ").skip(1) {
        let name = named.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        assert!(name.is_empty() || known(name), "README.md names `fori {name}`, which is not there");
    }
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let slugs: Vec<_> = readme.lines().filter_map(|line| line.strip_prefix("## ")).map(slug).collect();
    for link in readme.split("](#").skip(1) {
        let link = link.split(')').next().unwrap_or_default();
        assert!(slugs.iter().any(|slug| slug == link), "README.md links to #{link}, which is no section of {slugs:?}");
    }
}
