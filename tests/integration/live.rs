//! `fori train --live` in a terminal: `script` of Debian's base system makes one.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use crate::cli::{Dir, Ran, TINY};

/// Entering and leaving the alternate screen.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// Starts a run in a terminal; what the terminal shows is followed by the exit code and by the settings of the terminal.
fn start(dir: &Dir, flags: &str) -> Child {
    let fori = env!("CARGO_BIN_EXE_fori");
    let line = format!("stty rows 40 cols 120; {fori} train {TINY} {flags} --live; echo code $?; stty -a");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    command.current_dir(dir.path(".")).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("script starts")
}

/// Reads until a text appears, and fails where the output ends before.
fn read_until(child: &mut Child, want: &str) -> String {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count =
            child.stdout.as_mut().expect("stdout is piped").read(&mut buffer).expect("the terminal can be read");
        seen.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        if text.contains(want) {
            return text;
        }
        assert!(!text.contains("--live shows nothing"), "no view: {text}");
        assert!(count > 0, "the terminal showed no {want:?}: {text}");
    }
}

/// Reads to the end.
fn rest(child: &mut Child) -> String {
    let mut seen = Vec::new();
    child.stdout.as_mut().expect("stdout is piped").read_to_end(&mut seen).expect("the terminal can be read");
    child.wait().expect("script ends");
    String::from_utf8_lossy(&seen).into_owned()
}

/// Fails unless the view was entered and left, and the terminal is as it was.
fn assert_left(text: &str) {
    let (enter, leave) = (text.find(ENTER), text.rfind(LEAVE));
    assert!(enter.is_some() && enter < leave, "the view was entered and left: {text:?}");
    for setting in ["icanon", "echo", "isig"] {
        let on = text.split_whitespace().any(|word| word == setting);
        assert!(on, "the terminal lacks {setting}: {text:?}");
    }
}

#[test]
fn q_ends_the_run_and_leaves_the_terminal_as_it_was() {
    let dir = Dir::new();
    for key in ["q", "\x03"] {
        let mut child = start(&dir, "--steps 4000000000");
        let mut text = read_until(&mut child, "elapsed");
        child.stdin.as_mut().expect("stdin is piped").write_all(key.as_bytes()).expect("a key can be pressed");
        text += &rest(&mut child);
        assert!(text.contains("code 130"), "the exit code after {key:?}: {text:?}");
        assert_left(&text);
        let end = text.rsplit(LEAVE).next().unwrap_or_default();
        assert!(end.contains("steps verified") && end.contains("interrupted"), "the summary after {key:?}: {end:?}");
    }
}

#[test]
fn an_error_and_the_end_of_a_run_leave_it_too() {
    let dir = Dir::new();
    for (flags, code, want) in [
        ("--steps 200", 0, "200 steps verified"),
        ("--steps 200000 --metrics /dev/full", 1, "error: /dev/full"),
        ("--steps 2000 --learning-rate 1e30", 3, "training diverged"),
    ] {
        let mut child = start(&dir, flags);
        let text = rest(&mut child);
        assert_left(&text);
        let end = text.rsplit(LEAVE).next().unwrap_or_default();
        assert!(end.contains(want) && end.contains(&format!("code {code}")), "after {flags}: {end:?}");
    }
}

#[test]
fn without_a_terminal_it_says_so_and_trains() {
    let ran: Ran = Dir::new().run(&format!("train {TINY} --steps 40 --live"));
    ran.exits(0).says(&["note: --live shows nothing", "step        40"]).prints(&["40 steps verified"]);
    assert!(!ran.stderr.contains(ENTER), "no view: {ran}");
    Dir::new().run(&format!("train {TINY} --steps 4 --live --quiet")).exits(2).says(&["--quiet"]);
}
