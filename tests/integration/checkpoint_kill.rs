//! Runs that are killed at random moments, and resumed until they are done.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fori::rng::Key;

use crate::cli::{Dir, TINY};

/// Processes that are killed while they live.
const KILLS: u32 = 200;

fn flags() -> String {
    format!("{TINY} --ensemble 2 --steps 60000 --checkpoint c --checkpoint-every 200 --keep 2 -q")
}

/// Starts or resumes the run, and kills it after `delay`; whether the kill found it alive. Fails if it ended badly.
fn kill_after(dir: &Dir, delay: Duration) -> bool {
    let args = if dir.path("c").exists() { "train --resume c -q".into() } else { format!("train {}", flags()) };
    let mut command = dir.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
    std::thread::sleep(delay);
    child.kill().expect("a child can be killed");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    let killed = output.status.signal() == Some(9);
    assert!(killed || output.status.success(), "fori {args} ended with {}: {said}", output.status);
    killed
}

/// SIGKILL hits 200 living processes at random moments; each run goes on from what is there, and its last file is that of a
/// run which nobody disturbed.
#[test]
fn two_hundred_killed_runs_end_in_the_same_bits() {
    let reference = Dir::new();
    reference.run(&format!("train {TINY} --steps 1")).exits(0);
    let started = Instant::now();
    reference.run(&format!("train {}", flags())).exits(0);
    // About forty lives for each run, however fast the machine.
    let longest = started.elapsed() / 20 + Duration::from_millis(20);
    let (mut kills, mut runs, mut draws) = (0, 0, 0);
    while kills < KILLS {
        let dir = Dir::new();
        loop {
            draws += 1;
            let share = f64::from(Key::from_seed(3).bits(draws)) / f64::from(u32::MAX);
            if kills == KILLS || !kill_after(&dir, longest.mul_f64(share)) {
                break;
            }
            kills += 1;
        }
        let args = if dir.path("c").exists() { "train --resume c -q".into() } else { format!("train {}", flags()) };
        dir.run(&args).exits(0);
        runs += 1;
        assert_eq!(dir.names(), ["c", "c.59800", "c.60000"], "files after run {runs}");
        assert_eq!(dir.bytes("c"), reference.bytes("c"), "checkpoint after run {runs} and {kills} kills");
    }
    assert!(runs > 1, "{kills} kills never let a run end");
    eprintln!("{kills} kills in {runs} runs took {:?}", started.elapsed());
}
