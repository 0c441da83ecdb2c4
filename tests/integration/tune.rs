//! `fori tune`, and `fori train` with what it found.

use crate::cli::Dir;
use crate::common;

#[test]
fn train_uses_what_tune_found_and_survives_a_broken_cache() {
    if common::device().is_none() {
        return;
    }
    let dir = Dir::new().with_own_cache();
    let found = dir.run("tune --hidden 3 --batch-size 16 --json").exits(0).json();
    let trials = found["trials"].as_array().expect("trials");
    assert!(trials.len() >= 4, "both executors with at least two variants: {found}");
    let times: Vec<_> = trials.iter().filter_map(|t| t["us_per_step"].as_f64()).collect();
    assert!(!times.is_empty() && times.is_sorted(), "the fastest is first: {found}");
    let submissions = found["submissions"].as_array().expect("sizes of submissions");
    assert!(!submissions.is_empty(), "sizes of submissions: {found}");
    let best = &found["best"]["iters_per_submit"];
    assert_eq!(*best, submissions[0][0], "the fastest size is first and kept: {found}");
    let train = "train --hidden 3 --batch-size 16 --steps 20 --json --quiet";
    let cached = |flags: &str| dir.run(&format!("{train}{flags}"));
    let json = cached("").exits(0).json();
    assert_eq!(json["executor"], trials[0]["executor"], "train takes what tune found");
    let why = |json: &serde_json::Value| json["auto"]["why"].as_str().unwrap_or_default().to_string();
    assert!(why(&json).contains("fori tune"), "and names it: {json}");
    let iters = json["iters_per_submit"].as_u64().expect("steps per submission");
    assert_eq!(iters, best.as_u64().expect("a size").min(20), "in submissions of the size that tune found: {json}");
    let json = cached(" --iters-per-submit 7").exits(0).json();
    assert_eq!(json["iters_per_submit"], 7, "a flag wins: {json}");
    let json = cached(" --no-tune-cache").exits(0).json();
    assert!(!why(&json).contains("fori tune"), "--no-tune-cache: {json}");
    let file = found["cache"].as_str().expect("the path of the cache");
    dir.write(file, "{ broken");
    let ran = cached("");
    ran.exits(0).says(&["tune.json is ignored"]);
}
