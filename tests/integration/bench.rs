//! `fori bench`, and what of the executors only it uses.

use std::process::{Command, Output};

use fori::arenas::Arenas;
use fori::config::TrainConfig;
use fori::executor::{Chunk, Executor as _, Report};
use fori::gpu::GpuExecutor;
use fori::plan::{Plan, TrainStep};
use fori::shader::Walk;
use fori::trainer::plan_of;
use serde_json::Value;

use crate::common::device;

/// The rows, with two models in the ensemble.
const ROWS: [&str; 9] = [
    "one submission per op",
    "one submission per step",
    "10 steps per submission",
    "100 steps per submission",
    "1,000 steps per submission",
    "10,000 steps per submission",
    "persistent",
    "persistent, ensemble of 2",
    "cpu",
];

/// Runs a short benchmark of a tiny network.
fn bench(arguments: &[&str], adapter: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fori"));
    command.args(["bench", "--hidden", "4", "--batch-size", "8", "--quiet", "--bench-models", "2"]);
    command.args(["--seconds", "0.01", "--rounds", "1"]).args(arguments).env_remove("LP_NUM_THREADS");
    if !adapter {
        let absent = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES", "LIBGL_DRIVERS_PATH"];
        command.envs(absent.map(|name| (name, "/nonexistent")));
    }
    command.output().expect("fori starts")
}

/// The standard output of a run that must succeed.
fn stdout(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "fori bench failed with {}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).expect("the output is UTF-8")
}

fn rows(output: &Output) -> (Value, Vec<Value>) {
    let object: Value = serde_json::from_str(&stdout(output)).expect("one JSON object");
    let rows = object["rows"].as_array().expect("rows").clone();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ROWS, "rows of the table");
    (object, rows)
}

#[test]
fn cpu_is_measured_without_an_adapter() {
    let output = bench(&["--json"], false);
    let (object, rows) = rows(&output);
    assert_eq!(object["network"], serde_json::json!([2, 4, 1]), "network");
    let cpu = &rows[8];
    assert!(cpu["error"].is_null(), "cpu runs everywhere: {cpu}");
    assert!(cpu["us_per_step"]["median"].as_f64().is_some_and(|us| us > 0.0), "a time per step: {cpu}");
    assert!(cpu["final_loss"].is_number() && cpu["verified"] == true && cpu["agree"] == true, "a verified loss: {cpu}");
    assert!(cpu["gpu_us_per_step"].is_null(), "no device time: {cpu}");
    if object["adapter"].is_null() {
        for row in &rows[..8] {
            assert_eq!(row["error"], "no adapter", "{row}");
        }
        assert!(cpu["speedup"].is_null(), "nothing to compare with: {cpu}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("apt install mesa-vulkan-drivers"), "what to install: {errors}");
    }
}

#[test]
fn markdown_and_chart_have_a_row_per_way() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chart = folder.path().join("speed.svg");
    let text = stdout(&bench(&["--markdown", "--plot", chart.to_str().expect("a path in UTF-8")], false));
    let table: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 2 + ROWS.len(), "head, rule and rows: {text}");
    for line in &table {
        assert_eq!(line.matches('|').count(), 12, "11 columns: {line}");
    }
    let svg = std::fs::read_to_string(&chart).expect("the chart is there");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "an SVG: {svg}");
    for (name, line) in ROWS.iter().zip(&table[2..]) {
        assert!(line.starts_with(&format!("| {name} |")), "{name}: {line}");
        assert!(svg.contains(name), "{name} in the chart");
    }
    let left = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert_eq!(left, 1, "files beside the chart");
}

#[test]
fn all_ways_train_alike_on_an_adapter() {
    if device().is_none() {
        return;
    }
    let (object, rows) = rows(&bench(&["--json"], true));
    assert!(object["adapter"]["name"].is_string(), "the adapter: {object}");
    for row in &rows {
        assert!(row["error"].is_null(), "runs: {row}");
        assert!(row["verified"] == true && row["agree"] == true, "same losses, and all steps done: {row}");
        assert!(row["speedup"].as_f64().is_some_and(|speed| speed > 0.0), "speed: {row}");
        assert!(row["first_step_seconds"].as_f64().is_some_and(|s| s > 0.0), "first step: {row}");
    }
    assert_eq!((&rows[6]["models"], &rows[7]["models"]), (&1.into(), &2.into()), "models");
    assert_eq!((&rows[0]["speedup"], &rows[1]["steps_per_submission"]), (&1.0.into(), &1.into()), "first rows");
}

#[test]
fn flags_that_cannot_be_measured_are_refused() {
    for (arguments, code, want) in [
        (["--rounds", "0"].as_slice(), 2, "from 1 to"),
        (&["--bench-models", "0"], 2, "from 1 to"),
        (&["--seconds", "0"], 2, "0.001 to 3600"),
        (&["--executor", "cpu"], 2, "--executor"),
        (&["--plot", "speed.jpg"], 2, ".svg or .png"),
        (&["--json", "--markdown"], 2, "--markdown"),
        (&["--plot", "/nonexistent/speed.svg"], 2, "/nonexistent/speed.svg"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_fori")).arg("bench").args(arguments).output().expect("fori starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(errors.contains(want), "{arguments:?} should say {want}: {errors}");
    }
}

/// Runs five steps of a small network as the executor is told.
fn five_steps(prepare: impl Fn(&mut GpuExecutor)) -> Option<(Report, Arenas<f32>, usize)> {
    let device = device()?;
    let config = TrainConfig { hidden: vec![5, 3], batch_size: 7, ..TrainConfig::default() };
    let (_, plan) = plan_of(&config, 1).expect("a plan");
    let plan = Plan::new(TrainStep { products: device.products, ..plan.step }).expect("a plan");
    let arenas = Arenas::initial(&plan, &[0], None, 0.0).expect("initial arenas");
    let ops = plan.ops.len();
    let hyper = vec![config.hyper];
    let mut executor = GpuExecutor::new(device, plan, hyper, &arenas, Walk::Recorded, true).expect("an executor");
    prepare(&mut executor);
    executor.enqueue(Chunk { first_step: 0, steps: 5, iters_per_submit: 2 }).expect("a chunk is taken");
    let report = executor.collect().expect("a chunk runs").expect("a chunk is in flight");
    let arenas = executor.read().expect("arenas can be read");
    Some((report, arenas, ops))
}

#[test]
fn submissions_per_op_give_the_same_bits() {
    let Some((want, arenas, ops)) = five_steps(|_| {}) else { return };
    let Some((got, same, _)) = five_steps(|executor| executor.submit_per_op(true)) else { return };
    assert_eq!((want.submissions, got.submissions), (3, 5 * ops), "submissions");
    assert_eq!((want.dispatches, got.dispatches), (5 * ops, 5 * ops), "dispatches");
    assert_eq!(want.losses, got.losses, "losses");
    assert!(arenas == same, "arenas differ");
    assert_eq!((want.gpu, want.short(), got.short()), (None, None, None), "nothing timed, nothing short");
}

#[test]
fn device_time_does_not_exceed_wall_time() {
    let start = std::time::Instant::now();
    let Some((report, ..)) = five_steps(|executor| executor.measure_gpu_time(true)) else { return };
    // Not every adapter has timestamps.
    let Some(gpu) = report.gpu else { return };
    assert!(!gpu.is_zero() && gpu <= start.elapsed(), "{gpu:?} on the device of {:?}", start.elapsed());
}
