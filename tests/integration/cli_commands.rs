//! The other commands, help, closed pipes and signals.

use std::process::Stdio;

use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::cli::{Dir, TINY};
use crate::common;

#[test]
fn help_is_given_and_fits_100_columns() {
    let dir = Dir::new();
    dir.run("").exits(2).says(&["Usage: fori <COMMAND>", "train", "adapters", "plan"]);
    for command in ["--help", "train --help", "plan --help", "adapters --help"] {
        let ran = dir.run(command);
        ran.exits(0).prints(&["Usage: fori", "--help"]);
        let longest = ran.stdout.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(100), "the longest line has {longest:?} columns: {ran}");
    }
    dir.run("--version").exits(0).prints(&[env!("CARGO_PKG_VERSION")]);
    dir.run("trian").exits(2).says(&["trian", "train"]);
}

#[test]
fn plan_lists_ops_and_arenas() {
    let ran = Dir::new().run("plan --executor cpu --hidden 32,16 --batch-size 10 --ensemble 3");
    ran.exits(0).prints(&[
        "2-32-16-1 gelu mse adam batch 10 models 3",
        "dense_forward_2",
        "dispatches per step",
        "arena",
    ]);
    assert_eq!(ran.stderr, "", "stderr of {ran}");
}

#[test]
fn the_wgsl_of_a_plan_is_a_valid_module() {
    let dir = Dir::new();
    for flags in ["", "--executor persistent", "--executor cpu --hidden none", "--activation tanh --optimizer sgd"] {
        let ran = dir.run(&format!("plan --wgsl {flags}"));
        let module = naga::front::wgsl::parse_str(&ran.exits(0).stdout);
        let module = module.unwrap_or_else(|e| panic!("{}: {ran}", e.emit_to_string(&ran.stdout)));
        assert!(!module.entry_points.is_empty(), "entry points of {ran}");
        let valid = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module);
        assert!(valid.is_ok(), "{valid:?}: {ran}");
    }
}

#[test]
fn plan_reads_the_table_that_train_reads() {
    let dir = Dir::new();
    dir.write("good.csv", "a,b,c,y\n1,2,3,4\n5,6,7,8\n");
    dir.run("plan --data good.csv --target y,c --hidden none").exits(0).prints(&["2-2 "]);
    dir.run("plan --data good.csv --target z").exits(1).says(&["--target \"z\""]);
    dir.run("plan --data absent.csv --target z").exits(1).says(&["--data absent.csv"]);
    dir.run("plan --hidden 0").exits(2).says(&["--hidden"]);
}

#[test]
fn adapters_are_listed_with_the_one_that_is_taken() {
    let Some(device) = common::device() else { return };
    let dir = Dir::new();
    dir.run("adapters").exits(0).prints(&[&device.summary.to_string(), "taken by default", "workgroup memory"]);
    let json = dir.run("adapters --json").exits(0).json();
    let first = &json.as_array().expect("a list")[0];
    assert_eq!(first["adapter"]["name"], device.summary.name.as_str(), "the first adapter is the one taken");
    assert!(first["unsuitable"].is_null(), "it can train: {first}");
    assert!(first["facts"]["workgroup_memory"].is_string(), "facts: {first}");
}

/// Starts a command whose readers are gone and waits for it.
fn with_closed_pipes(dir: &Dir, args: &str) -> Option<i32> {
    let command = dir.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = command.expect("the command starts");
    drop((child.stdout.take(), child.stderr.take()));
    child.wait().expect("the command ends").code()
}

#[test]
fn readers_that_go_away_are_no_failure() {
    let dir = Dir::new();
    let tiny = format!("train {TINY} --steps 20");
    for args in ["plan", "plan --wgsl", "adapters", "adapters --json", "train --help", &tiny, &format!("{tiny} --json")]
    {
        assert_eq!(with_closed_pipes(&dir, args), Some(0), "exit code of fori {args} with closed pipes");
    }
    assert_eq!(with_closed_pipes(&dir, "train --inputs 0"), Some(2), "a usage error with closed pipes");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full can be opened");
    let dir = Dir::new();
    let output =
        dir.command(&format!("train {TINY} --steps 5 --json")).stdout(full).output().expect("the command runs");
    let ran = crate::cli::Ran::new(&dir, "train > /dev/full".into(), output);
    ran.exits(1).says(&["error: stdout: "]);
}

#[cfg(target_os = "linux")]
#[test]
fn metrics_that_cannot_be_written_do_not_cost_the_training() {
    let dir = Dir::new();
    let ran = dir.run(&format!("train {TINY} --steps 500 --metrics /dev/full --checkpoint c"));
    ran.exits(1).prints(&["500 steps verified", "checkpoint of step 500 in c"]).says(&["error: /dev/full: "]);
    assert_eq!(ran.stderr.matches("training goes on").count(), 1, "it is said once: {ran}");
    dir.run("inspect c").exits(0).prints(&["step 500"]);
    let lost = "--steps 500 --learning-rate 1e30 --metrics /dev/full";
    dir.run(&format!("train {TINY} {lost}")).exits(3).says(&["note: /dev/full: ", "error: training diverged"]);
}

#[cfg(unix)]
mod signals {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command};

    use super::*;
    use crate::cli::Ran;

    /// A run that would take hours, once it has said a line that begins with `begin`.
    fn long_run(dir: &Dir, flags: &str, begin: &str) -> Child {
        let args = format!("train --executor cpu --steps 4000000000 --log-every 1 {flags}");
        let mut child = dir.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.as_mut().expect("stderr is piped"));
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            assert!(said.read_line(&mut line).expect("stderr is UTF-8") > 0, "the run ended before {begin:?}");
        }
        child
    }

    fn interrupt(child: &Child) {
        let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
        assert!(kill.expect("sh is there").success(), "the signal was sent");
    }

    #[test]
    fn the_first_ends_the_run_with_its_summary() {
        let dir = Dir::new();
        let child = long_run(&dir, "--hidden 4 --json --metrics m.csv", "step ");
        interrupt(&child);
        let ran = Ran::new(&dir, "train, interrupted".into(), child.wait_with_output().expect("it ends"));
        let json = ran.exits(130).json();
        assert_eq!(json["interrupted"], true, "interrupted: {ran}");
        assert!(ran.stderr.ends_with("interrupted\n"), "the last line of {ran}");
        let text = dir.read("m.csv");
        let last = text.lines().last().and_then(|row| row.split(',').next()).expect("a last row");
        assert_eq!(json["verified_steps"].to_string(), last, "every finished step is in the metrics");
    }

    #[test]
    fn the_second_ends_the_process_at_once() {
        let dir = Dir::new();
        // Its first submission takes far longer than this test.
        let mut child = long_run(&dir, "--hidden 512,512 --batch-size 4096 --iters-per-submit 1000", "training ");
        interrupt(&child);
        std::thread::sleep(std::time::Duration::from_millis(100));
        interrupt(&child);
        let sent = std::time::Instant::now();
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, Some(130), "exit code");
        assert!(sent.elapsed().as_secs() < 5, "it took {:?} to end", sent.elapsed());
    }
}
