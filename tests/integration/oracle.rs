//! The oracle against JAX: every value of the first step, and 1000 steps of the reference run.

use std::collections::HashMap;

use fori::arenas::Arenas;
use fori::cpu::Cpu;
use fori::plan::{Plan, Source, TrainStep};
use fori::spec::{Activation, Hyperparameters, Loss, Optimizer};

use crate::common::{assert_close, assert_near, assert_ulps, golden, single, word};
use crate::network::model;

/// The plan of the reference run, with its gradients kept and room between its tensors.
fn reference_plan() -> Plan {
    let model = model(&[2, 64, 64, 1], Activation::Gelu);
    let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 64, Source::Linreg);
    Plan::new(TrainStep { keep_gradients: true, gap: 2, ..step }).expect("the plan is possible")
}

/// The reference run before its first step, with NaN wherever a step writes before it reads.
fn reference<T: fori::real::Real>(plan: &Plan) -> Cpu<T> {
    let arenas = Arenas::initial(plan, &[0], None, T::nan()).expect("no table is needed");
    Cpu::new(plan.clone(), vec![Hyperparameters::default()], arenas)
}

/// The key of the loop, from the state of the first model.
fn key(cpu: &Cpu<f64>) -> Vec<u32> {
    cpu.arenas().state[0][1..3].to_vec()
}

/// Layer and part of each parameter tensor.
fn parameters() -> impl Iterator<Item = (usize, &'static str)> {
    (0..3).flat_map(|layer| ["kernel", "bias"].map(|part| (layer, part)))
}

fn words(values: &[f64]) -> Vec<u32> {
    values.iter().map(|&v| word(v)).collect()
}

/// The reference run after its first step, with its loss and the golden data.
fn first_step() -> (Plan, Cpu<f64>, f64, HashMap<String, Vec<f64>>) {
    let (plan, data) = (reference_plan(), golden("step0.safetensors"));
    let mut cpu = reference(&plan);
    assert_eq!(key(&cpu), words(&data["key_before"]), "the key of the first step");
    let loss = cpu.step()[0];
    assert_eq!(key(&cpu), words(&data["key_after"]), "the key of the second step");
    (plan, cpu, loss, data)
}

#[test]
fn the_first_batch_and_its_activations_equal_jax() {
    let (plan, cpu, loss, data) = first_step();
    let x: Vec<_> = cpu.arenas().get(&plan, 0, "x").into_iter().map(single).collect();
    assert_ulps("x", &x, &data["x"], 4, 0.0);
    for (name, want) in [("y", "y"), ("h1", "h1"), ("h2", "h2"), ("h3", "pred")] {
        let got = cpu.arenas().get(&plan, 0, name);
        let want = &data[&format!("{want}_f64")];
        assert_near(name, &got, want, 2e-7);
        assert_close(name, &got, want, 1e-6, 1e-6);
    }
    assert_close("loss", &[loss], &data["loss_f64"], 1e-6, 0.0);
}

#[test]
fn the_first_gradients_equal_jax() {
    let (plan, cpu, _, data) = first_step();
    for (layer, part) in parameters() {
        let name = format!("grads.layers.{layer}.{part}");
        assert_near(&name, &cpu.arenas().get(&plan, 0, &name), &data[&format!("g_{part}{layer}_f64")], 2e-6);
    }
    for (name, want) in [("delta1", "dz1_f32"), ("delta2", "dz2_f32"), ("delta3", "dpred_f32")] {
        assert_near(name, &cpu.arenas().get(&plan, 0, name), &data[want], 2e-6);
    }
}

#[test]
fn the_first_update_equals_optax() {
    let (plan, cpu, _, data) = first_step();
    for (layer, part) in parameters() {
        let get = |prefix: &str| cpu.arenas().get(&plan, 0, &format!("{prefix}layers.{layer}.{part}"));
        let want = |prefix: &str, kind: &str| &data[&format!("{prefix}_{part}{layer}_{kind}")];
        assert_near(&format!("mu of {part}{layer}"), &get("mu."), want("m", "f32"), 2e-6);
        assert_near(&format!("nu of {part}{layer}"), &get("nu."), want("v", "f32"), 4e-6);
        assert_close(&format!("new {part}{layer}"), &get(""), want("new", "f64"), 1e-6, 2e-7);
    }
}

#[test]
fn a_step_counts_and_keeps_no_nan() {
    let (plan, cpu, ..) = first_step();
    assert_eq!(cpu.arenas().state[0][0], 1, "finished steps");
    assert_eq!(cpu.arenas().state[0][3], 0, "the first step that was not finite");
    for tensor in &plan.tensors {
        let values = cpu.arenas().get(&plan, 0, &tensor.name);
        assert!(values.iter().all(|v| v.is_finite()), "{} is not finite after a step", tensor.name);
    }
}

#[test]
fn the_first_batches_equal_jax() {
    let (plan, data) = (reference_plan(), golden("trajectory.safetensors"));
    let mut cpu = reference::<f64>(&plan);
    for (step, want) in data["batch_x"].chunks_exact(128).enumerate() {
        cpu.step();
        let x: Vec<_> = cpu.arenas().get(&plan, 0, "x").into_iter().map(single).collect();
        assert_ulps(&format!("x of step {step}"), &x, want, 4, 0.0);
    }
}

/// Steps through the golden losses; returns the losses and the arenas after them.
fn losses<T: fori::real::Real>(plan: &Plan, steps: usize) -> (Vec<f64>, Arenas<T>) {
    let mut cpu = reference::<T>(plan);
    let losses = (0..steps).map(|_| cpu.step()[0].to_f64().expect("a float")).collect();
    (losses, cpu.arenas().clone())
}

#[test]
fn a_thousand_losses_in_f64_equal_jax() {
    let (plan, data) = (reference_plan(), golden("trajectory.safetensors"));
    let (losses, arenas) = losses::<f64>(&plan, 1000);
    assert_close("the first two losses", &losses[..2], &data["loss_f64"][..2], 1e-6, 0.0);
    assert_close("losses", &losses, &data["loss_f64"], 1e-5, 0.0);
    for (layer, part) in parameters() {
        let got = arenas.get(&plan, 0, &format!("layers.{layer}.{part}"));
        assert_near(&format!("final {part}{layer}"), &got, &data[&format!("final_{part}{layer}_f64")], 1e-5);
    }
}

#[test]
fn a_thousand_losses_in_f32_equal_jax() {
    let (plan, data) = (reference_plan(), golden("trajectory.safetensors"));
    let (losses, _) = losses::<f32>(&plan, 1000);
    assert_close("the first two losses", &losses[..2], &data["loss_f32"][..2], 1e-6, 0.0);
    assert_close("losses", &losses, &data["loss_f32"], 1e-4, 0.0);
}
