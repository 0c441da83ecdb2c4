//! The reference run on an adapter against golden data: the first step tensor by tensor, and the first 1000 losses.

use std::collections::HashMap;

use fori::arenas::Arenas;
use fori::executor::Executor;
use fori::gpu::Device;
use fori::plan::{Plan, Products, TrainStep};
use fori::shader::Walk;

use crate::adapter::{WALKS, assert_norm, executor, initial, member, reference, reference_step, train};
use crate::common::{assert_close, device, f64s, golden};

type Golden = HashMap<String, Vec<f64>>;

/// How far a tensor may be from golden in the 2-norm.
struct Row {
    ours: String,
    theirs: String,
    limit: f64,
}

fn row(ours: impl Into<String>, theirs: impl Into<String>, limit: f64) -> Row {
    Row { ours: ours.into(), theirs: theirs.into(), limit }
}

/// The tensors of the first step, ours and golden's. Golden has moments and deltas in single precision only, with rounding
/// errors of its own.
fn rows() -> Vec<Row> {
    let mut rows = vec![
        row("x", "x", 1e-6),
        row("y", "y_f64", 1e-6),
        row("h1", "h1_f64", 1e-6),
        row("h2", "h2_f64", 1e-6),
        row("h3", "pred_f64", 1e-6),
        row("delta1", "dz1_f32", 2e-6),
        row("delta2", "dz2_f32", 2e-6),
        row("delta3", "dpred_f32", 2e-6),
    ];
    for layer in 0..3 {
        for part in ["kernel", "bias"] {
            let (ours, theirs) = (format!("layers.{layer}.{part}"), format!("{part}{layer}"));
            rows.push(row(format!("grads.{ours}"), format!("g_{theirs}_f64"), 2e-6));
            rows.push(row(format!("mu.{ours}"), format!("m_{theirs}_f32"), 2e-6));
            rows.push(row(format!("nu.{ours}"), format!("v_{theirs}_f32"), 4e-6));
            // A bias after its first step is the step itself: the sign of the gradient times the learning rate.
            rows.push(row(ours, format!("new_{theirs}_f64"), if part == "kernel" { 1e-6 } else { 1e-5 }));
        }
    }
    rows
}

fn compare(walk: Walk, plan: &Plan, arenas: &Arenas<f32>, golden: &Golden) {
    for Row { ours, theirs, limit } in rows() {
        let got = f64s(&arenas.get(plan, 0, &ours));
        assert_norm(&format!("{walk:?} {ours}"), &got, &golden[&theirs], limit);
    }
}

fn first_step(device: Device, walk: Walk, golden: &Golden) {
    let step = TrainStep { keep_gradients: true, ..reference_step(device.products) };
    let plan = Plan::new(step).expect("the plan is possible");
    let members = [member(0)];
    let arenas = initial(&plan, &members, None, f32::NAN);
    let mut executor = executor(device, &plan, &members, &arenas, walk, false);
    let losses = train(&mut executor, 0..1, 1, 1);
    assert_close("loss", &f64s(&losses), &golden["loss_f64"], 1e-6, 0.0);
    let arenas = executor.read().expect("the arenas are read");
    compare(walk, &plan, &arenas, golden);
    let key: Vec<_> = arenas.state[0][1..3].iter().map(|&word| f64::from(word)).collect();
    assert_eq!(key, golden["key_after"], "{walk:?}: key after the step");
}

#[test]
fn the_first_step_matches_golden_tensor_by_tensor() {
    let golden = golden("step0.safetensors");
    for walk in WALKS {
        let Some(device) = device() else { return };
        first_step(device, walk, &golden);
    }
}

fn thousand_steps(device: Device, walk: Walk, golden: &Golden) {
    let (plan, mut executor) = reference(device, walk, false);
    let losses = f64s(&train(&mut executor, 0..1000, 250, 50));
    assert_close(&format!("{walk:?} losses against f32"), &losses, &golden["loss_f32"], 1e-4, 0.0);
    assert_close(&format!("{walk:?} losses against f64"), &losses, &golden["loss_f64"], 1e-4, 0.0);
    assert_close(&format!("{walk:?} first losses"), &losses[..2], &golden["loss_f64"][..2], 1e-6, 0.0);
    let arenas = executor.read().expect("the arenas are read");
    let names: Vec<_> = (0..3).flat_map(|l| ["kernel", "bias"].map(|part| (l, part))).collect();
    let got: Vec<_> = names.iter().flat_map(|(l, part)| arenas.get(&plan, 0, &format!("layers.{l}.{part}"))).collect();
    let want = |precision| -> Vec<f64> {
        names.iter().flat_map(|(l, part)| golden[&format!("final_{part}{l}_{precision}")].clone()).collect()
    };
    assert_norm(&format!("{walk:?} parameters against f64"), &f64s(&got), &want("f64"), 1e-5);
    assert_norm(&format!("{walk:?} parameters against f32"), &f64s(&got), &want("f32"), 1e-5);
}

#[test]
fn a_thousand_steps_match_golden_at_every_step() {
    let golden = golden("trajectory.safetensors");
    for walk in WALKS {
        let Some(device) = device() else { return };
        thousand_steps(device, walk, &golden);
    }
}

/// The kernels of most GPUs, also where the adapter is given others.
#[test]
fn a_thousand_steps_of_deep_kernels_match_golden() {
    let golden = golden("trajectory.safetensors");
    let Some(mut device) = device() else { return };
    device.products = Products::Deep { side: 16 };
    if device.fits(device.products).is_err() {
        device.products = Products::Deep { side: 8 };
    }
    thousand_steps(device, Walk::Recorded, &golden);
}
