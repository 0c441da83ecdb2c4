//! `fori doctor`: what it finds on the adapter of this machine, without one, and where an op computes wrongly.

use fori::arenas::Arenas;
use fori::cpu::Cpu;
use fori::doctor::compare::{Deviation, one_step, whole};
use fori::plan::{OpKind, Plan, Source, TrainStep};
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::cli::Dir;
use crate::common::device;

#[test]
fn the_adapter_of_this_machine_computes_correctly() {
    let Some(device) = device() else { return };
    let ran = Dir::new().run("doctor --json");
    let json = ran.exits(0).json();
    assert_eq!(json["adapter"]["name"], device.summary.name.as_str(), "the adapter that training would take");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"), "the version");
    assert_eq!(json["passed"], true, "the verdict: {ran}");
    assert!(json["limits"]["workgroup memory"].is_string(), "limits: {ran}");
    let findings = json["findings"].as_array().expect("a list of checks");
    for walk in ["recorded", "persistent"] {
        for op in ["sample", "dense_forward", "loss", "dense_backward", "dense_update", "advance", "after 20 steps"] {
            let is = |f: &&serde_json::Value| f["what"].as_str().is_some_and(|w| w.contains(walk) && w.contains(op));
            let finding = findings.iter().find(is).unwrap_or_else(|| panic!("{op} is checked in {walk}: {ran}"));
            assert_eq!(finding["result"], "pass", "{op} in {walk}: {finding}");
        }
    }
    for probe in ["loop budget", "subgroup width", "workgroup memory", "timestamps", "longest submission"] {
        let found = findings.iter().any(|f| f["what"].as_str().is_some_and(|w| w.starts_with(probe)));
        assert!(found, "{probe} is probed: {ran}");
    }
}

#[test]
fn a_machine_without_an_adapter_is_told_what_to_install() {
    let dir = Dir::new().without_adapter();
    dir.run("doctor").exits(1).prints(&["fori ", "FAIL  adapter: none was found", "mesa-vulkan-drivers"]);
    let ran = dir.run("doctor --json");
    let json = ran.exits(1).says(&["no graphics adapter was found", "mesa-vulkan-drivers"]).json();
    assert!(json["adapter"].is_null(), "there is none: {ran}");
    assert_eq!(json["passed"], false, "the verdict: {ran}");
    dir.run("doctor --adapter nonsense").exits(1).says(&["--adapter nonsense", "mesa-vulkan-drivers"]);
    dir.run("doctor --backend nonsense").exits(2).says(&["--backend", "vulkan"]);
}

#[test]
fn its_help_fits_100_columns() {
    let ran = Dir::new().run("doctor --help");
    ran.exits(0).prints(&["Usage: fori doctor", "--json"]);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{ran}");
}

fn plan() -> Plan {
    let model = Model::new(3, &[17, 5], 2, Activation::Gelu).expect("a valid model");
    let mut step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 20, Source::Linreg);
    (step.models, step.keep_gradients) = (2, true);
    Plan::new(step).expect("a valid plan")
}

/// Runs a step op by op, alters a result of the op numbered `wrong`, and lets the ops after it go on from there.
fn step_with_a_fault(plan: &Plan, wrong: usize, alter: impl Fn(&mut Arenas<f32>, &mut [f32])) -> Vec<Deviation> {
    let hyper = vec![Hyperparameters { eps: 1e-4, ..Hyperparameters::default() }; 2];
    let mut arenas = Arenas::initial(plan, &[3, 4], None, f32::NAN).expect("no table is needed");
    let mut losses = vec![0.0; 2];
    for (number, op) in plan.ops.iter().enumerate() {
        let mut cpu = Cpu::new(plan.clone(), hyper.clone(), arenas);
        for (model, loss) in losses.iter_mut().enumerate() {
            *loss = cpu.run_op(model, op.kind).unwrap_or(*loss);
        }
        arenas = cpu.arenas().clone();
        if number == wrong {
            alter(&mut arenas, &mut losses);
        }
    }
    let before = Arenas::initial(plan, &[3, 4], None, f64::NAN).expect("no table is needed");
    one_step(plan, &hyper, &before, &arenas, &losses)
}

/// Adds a thousandth of the largest value to the last one of a tensor of the second model.
fn alter(plan: &Plan, arenas: &mut Arenas<f32>, name: &str) {
    let mut values = arenas.get(plan, 1, name);
    let largest = values.iter().fold(0.0_f32, |a, v| a.max(v.abs()));
    *values.last_mut().expect("a tensor has values") += 1e-3 * largest;
    arenas.set(plan, 1, name, &values);
}

const ALLOWED: f64 = 1e-4;

#[test]
fn a_wrong_op_is_found_and_no_other_is_blamed() {
    let plan = plan();
    let right = step_with_a_fault(&plan, usize::MAX, |_, _| ());
    assert!(right.iter().all(|d| d.relative < ALLOWED), "nothing is wrong: {right:?}");
    for (number, op) in plan.ops.iter().enumerate() {
        let names: &[&str] = match op.kind {
            OpKind::Sample => &["x", "y"],
            OpKind::DenseForward { layer } => &[["h1", "h2", "h3"][layer]],
            OpKind::Loss => &["delta3", "loss"],
            OpKind::DenseBackward { layer } => &[["", "delta1", "delta2"][layer]],
            OpKind::DenseUpdate => &["layers.1.kernel", "layers.0.bias", "mu.layers.2.bias", "nu.layers.0.kernel"],
            OpKind::NormParts => &["norm_parts"],
            OpKind::Norm => &["norm"],
            OpKind::Update => &["layers.0.kernel", "nu.layers.1.bias"],
            OpKind::Answer | OpKind::Advance => &["state"],
            OpKind::Encode
            | OpKind::LayerNormForward { .. }
            | OpKind::LayerNormBackward { .. }
            | OpKind::LayerNormUpdate
            | OpKind::EmbeddingUpdate => {
                panic!("the network has no such op")
            }
        };
        for &name in names {
            let found = step_with_a_fault(&plan, number, |arenas, losses| match name {
                "state" => arenas.state[1][0] += 1,
                "loss" => losses[1] *= 1.01,
                _ => alter(&plan, arenas, name),
            });
            let wrong: Vec<_> = found.iter().filter(|d| d.relative >= ALLOWED).collect();
            let blamed: Vec<_> = wrong.iter().map(|d| (d.op, d.worst.as_str())).collect();
            assert_eq!(blamed, [(op.kind.function(), name)], "blamed for {name} of {}: {found:?}", op.kind);
        }
    }
}

#[test]
fn a_result_that_was_never_written_is_wrong() {
    let plan = plan();
    let found = step_with_a_fault(&plan, 1, |arenas, _| {
        let values = vec![f32::NAN; arenas.get(&plan, 0, "h1").len()];
        arenas.set(&plan, 0, "h1", &values);
    });
    let forward = found.iter().find(|d| d.op == "dense_forward").expect("it is checked");
    assert_eq!(forward.relative, f64::INFINITY, "a NaN is infinitely far off: {found:?}");
}

#[test]
fn a_training_that_ends_elsewhere_is_wrong() {
    let plan = plan();
    let start = Arenas::initial(&plan, &[3, 4], None, 0.0).expect("no table is needed");
    let wanted = Arenas::initial(&plan, &[3, 4], None, 0.0).expect("no table is needed");
    assert!(whole(&plan, &start, &wanted).relative < 1e-6, "they are the same");
    let mut other = start.clone();
    alter(&plan, &mut other, "layers.2.kernel");
    let found = whole(&plan, &other, &wanted);
    assert!(found.worst == "layers.2.kernel" && found.relative > ALLOWED, "{found:?}");
    let mut other = start;
    other.state[1][2] ^= 1;
    assert_eq!(whole(&plan, &other, &wanted).relative, f64::INFINITY, "another key");
}
