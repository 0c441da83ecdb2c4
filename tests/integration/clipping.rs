//! Clipped gradients, means of several, and a decay that spares biases: against optax on the oracle, on every executor
//! against the oracle, and through runs that stop and go on.

use fori::arenas::Arenas;
use fori::config::Member;
use fori::cpu::{Cpu, CpuExecutor};
use fori::executor::Executor;
use fori::plan::{OpKind, Plan, Products, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer, Schedule};

use crate::adapter::{bits, executor, initial, train};
use crate::cli::Dir;
use crate::common::{assert_close, device, f64s, golden, singles};
use crate::gpu_kernels::{assert_margins, doubles, fill_gaps};
use crate::network::model;

/// A dense layer (3, 2), whose kernel and bias have the eight parameters of the golden data.
fn dense(optimizer: Optimizer) -> TrainStep {
    TrainStep::new(model(&[3, 2], Activation::Identity), Loss::Mse, optimizer, 4, Source::Table { rows: 1 })
}

/// The parameters after each step in which the golden gradients come, in f64.
fn path(step: TrainStep, hyper: Hyperparameters) -> Vec<f64> {
    let data = golden("optimisers.safetensors");
    let plan = Plan::new(step).expect("the plan is possible");
    let scalars = fori::plan::Arena::ALL.map(|arena| vec![0.0; 4 * plan.sizes.of(arena)]);
    let mut arenas = Arenas { scalars, state: vec![[0; 4]] };
    let p0 = singles(&data["p0"]);
    arenas.set(&plan, 0, "layers.0.kernel", &p0[..6]);
    arenas.set(&plan, 0, "layers.0.bias", &p0[6..]);
    let mut path = Vec::new();
    for g in singles(&data["grads"]).chunks_exact(8) {
        // Rows of a unit matrix pick the rows of the kernel's gradient; the last row makes up the bias's.
        arenas.set(&plan, 0, "x", &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        arenas.set(&plan, 0, "delta1", &[g, &[0.0; 2][..]].concat());
        let delta = plan.tensor("delta1").expect("the plan has deltas").indices().collect::<Vec<_>>();
        let activations = &mut arenas.scalars[fori::plan::Arena::Activations as usize];
        for o in 0..2 {
            let rows: f64 = (0..3).map(|i| activations[delta[2 * i + o]]).sum();
            activations[delta[6 + o]] = f64::from(g[6 + o]) - rows;
        }
        let mut cpu = Cpu::new(plan.clone(), vec![hyper], arenas);
        let after = plan.ops.iter().skip_while(|op| op.kind != OpKind::DenseUpdate);
        after.for_each(|op| assert!(cpu.run_op(0, op.kind).is_none(), "{} has no loss", op.kind));
        arenas = cpu.arenas().clone();
        path.extend(["kernel", "bias"].iter().flat_map(|part| arenas.get(&plan, 0, &format!("layers.0.{part}"))));
    }
    path
}

#[test]
fn clipping_by_norm_equals_optax() {
    let data = golden("optimisers.safetensors");
    for (name, optimizer, learning_rate) in [("clip_adam", Optimizer::Adam, 1e-2), ("clip_sgd", Optimizer::Sgd, 0.1)] {
        let hyper = Hyperparameters { learning_rate, clip_norm: 1.0, ..optimizer.defaults() };
        let got = path(TrainStep { clip_norm: true, ..dense(optimizer) }, hyper);
        assert_close(name, &got, &data[&format!("{name}_f64")], 1e-11, 1e-13);
    }
}

#[test]
fn means_clips_and_masked_decay_equal_optax() {
    let data = golden("more.safetensors");
    let schedule = Schedule::Linear { end_value: 1e-3, transition_begin: 0, transition_steps: 5 };
    let adamw = Hyperparameters { learning_rate: 1e-2, weight_decay: 0.1, ..Optimizer::Adamw.defaults() };
    for (name, accumulate, clip_value, clip_norm) in
        [("mean_of_3", 3, 0.0, 0.0), ("clip_value", 1, 0.5, 0.0), ("clip_both_mean_of_3", 3, 0.75, 1.0)]
    {
        let hyper = Hyperparameters { clip_value, clip_norm, ..adamw };
        let step = TrainStep { schedule: schedule.clone(), accumulate, decay_bias: false, ..dense(Optimizer::Adamw) };
        let step = TrainStep { clip_value: clip_value > 0.0, clip_norm: clip_norm > 0.0, ..step };
        // Optax forms the decay of its moments in single precision, the schedule too.
        assert_close(name, &path(step, hyper), &data[name], 1e-6, 1e-8);
    }
}

/// A limit in the middle of the gradients, none, and both limits.
fn members() -> [Member; 3] {
    let hyper = Hyperparameters { learning_rate: 0.01, eps: 1e-3, weight_decay: 0.1, ..Hyperparameters::default() };
    let value = Hyperparameters { clip_value: 0.05, ..hyper };
    let both = Hyperparameters { clip_norm: 0.1, ..value };
    [(0, hyper), (1, value), (2, both)].map(|(seed, hyper)| Member { seed, hyper })
}

/// A plan with widths that are no multiple of a tile.
fn plan(products: Products, optimizer: Optimizer, clip_norm: bool, accumulate: u32) -> Plan {
    // Sines with a factor, as in SIREN.
    let network = Model { w0: 2.0, ..model(&[3, 66, 5, 2], Activation::Sin) };
    let step = TrainStep::new(network, Loss::Mse, optimizer, 20, Source::Linreg);
    let step = TrainStep { clip_value: true, clip_norm, accumulate, decay_bias: false, ..step };
    Plan::new(TrainStep { models: 3, products, gap: 5, ..step }).expect("the plan is possible")
}

/// Compares every tensor of every step with the oracle, which starts from what the step before left.
fn compare(what: &str, plan: &Plan, members: &[Member], executor: &mut dyn Executor, mut arenas: Arenas<f32>) {
    for step in 0..7 {
        let what = format!("{what}, step {step}");
        let hyper = members.iter().map(|m| m.hyper).collect();
        let mut oracle = Cpu::<f64>::new(plan.clone(), hyper, doubles(&arenas));
        let want = oracle.step();
        let losses = train(executor, step..step + 1, 1, 1);
        arenas = executor.read().expect("the arenas are read");
        assert_close(&format!("{what}: loss"), &f64s(&losses), &want, 1e-5, 0.0);
        for (model, tensor) in (0..members.len()).flat_map(|m| plan.tensors.iter().map(move |t| (m, t))) {
            let want = oracle.arenas().get(plan, model, &tensor.name);
            let scale = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            let name = format!("{what}: {} of model {model}", tensor.name);
            assert_close(&name, &f64s(&arenas.get(plan, model, &tensor.name)), &want, 0.0, 2e-5 * scale);
        }
    }
    assert_margins(what, plan, &arenas);
}

fn on_device(kernels: Option<Products>, walk: Walk, optimizer: Optimizer, clip_norm: bool, accumulate: u32) {
    let Some(device) = device() else { return };
    let products = kernels.unwrap_or(device.products);
    let (plan, members) = (plan(products, optimizer, clip_norm, accumulate), members());
    let mut arenas = initial(&plan, &members, None, f32::NAN);
    fill_gaps(&plan, &mut arenas);
    let mut executor = executor(device, &plan, &members, &arenas, walk, false);
    let what = format!("{products} {walk:?} {optimizer} clip_norm {clip_norm} accumulate {accumulate}");
    compare(&what, &plan, &members, &mut executor, arenas);
}

#[test]
fn recorded_kernels_match_the_oracle() {
    on_device(None, Walk::Recorded, Optimizer::Adamw, true, 3);
    on_device(None, Walk::Recorded, Optimizer::Adamw, false, 1);
    on_device(Some(Products::Tiled { side: 8 }), Walk::Recorded, Optimizer::Lion, true, 2);
}

#[test]
fn persistent_kernels_match_the_oracle() {
    on_device(None, Walk::Persistent, Optimizer::Adamw, true, 3);
}

#[test]
fn the_cpu_executor_matches_the_oracle() {
    for (clip_norm, accumulate) in [(true, 3), (true, 1), (false, 2), (false, 1)] {
        for optimizer in [Optimizer::Adamw, Optimizer::Sgd] {
            let plan = plan(Products::Tiled { side: 8 }, optimizer, clip_norm, accumulate);
            let members = members();
            let mut arenas = initial(&plan, &members, None, 0.0);
            fill_gaps(&plan, &mut arenas);
            let hyper = members.iter().map(|m| m.hyper).collect();
            let mut executor = CpuExecutor::new(plan.clone(), hyper, arenas.clone());
            for step in 0..7 {
                let hyper = members.iter().map(|m| m.hyper).collect();
                let mut oracle = Cpu::<f64>::new(plan.clone(), hyper, doubles(&arenas));
                oracle.step();
                train(&mut executor, step..step + 1, 1, 1);
                arenas = executor.read().expect("the arenas are read");
                for (model, t) in (0..3).flat_map(|m| plan.tensors.iter().map(move |t| (m, t))) {
                    if t.arena == fori::plan::Arena::Activations {
                        continue;
                    }
                    let want = oracle.arenas().get(&plan, model, &t.name);
                    let scale = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
                    let name = format!("{optimizer} {clip_norm} {accumulate} step {step}: {} of {model}", t.name);
                    assert_close(&name, &f64s(&arenas.get(&plan, model, &t.name)), &want, 0.0, 2e-5 * scale);
                }
            }
        }
    }
}

/// A copy of the state in the middle of a mean holds the gradients so far.
#[test]
fn a_restored_device_goes_on_with_its_mean() {
    let Some(device) = device() else { return };
    let (plan, members) = (plan(device.products, Optimizer::Adam, false, 5), members());
    let arenas = initial(&plan, &members, None, 0.0);
    let mut executor = executor(device, &plan, &members, &arenas, Walk::Recorded, false);
    train(&mut executor, 0..8, 8, 8);
    executor.save().expect("a copy is made");
    let first = train(&mut executor, 8..20, 12, 12);
    executor.restore().expect("the copy is taken");
    let again = train(&mut executor, 8..20, 4, 1);
    assert_eq!(bits(&first), bits(&again), "losses after the copy");
}

const FLAGS: [&str; 3] = [
    "--accumulate 3 --clip-norm 0.05 --clip-value 0.5 --optimizer adamw --no-bias-decay --schedule cosine --decay-steps 9",
    "--sweep clip_norm=0,0.1 --ensemble 2",
    "--accumulate 4 --optimizer sgd --momentum 0.9 --sweep clip_value=0,0.01",
];

/// One submission, submissions of one step, and a stop in the middle of a mean give the same file.
fn resumes_to_the_same_bits(executor: &str, flags: &[&str]) {
    let dir = Dir::new();
    for flags in flags {
        let train = format!(
            "train --executor {executor} --hidden 5 --batch-size 6 {flags} --steps 50 --checkpoint-every 23 --keep 9 -q"
        );
        dir.run(&format!("{train} --checkpoint whole --iters-per-submit 50")).exits(0);
        dir.run(&format!("{train} --checkpoint ones --iters-per-submit 1")).exits(0);
        assert_eq!(dir.bytes("ones"), dir.bytes("whole"), "{executor} {flags}: submissions of one step");
        dir.run("train --resume whole.23 --checkpoint parts -q").exits(0);
        assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "{executor} {flags}: resumed from step 23");
    }
}

#[test]
fn cpu_resumes_to_the_same_bits() {
    resumes_to_the_same_bits("cpu", &FLAGS);
}

#[test]
fn recorded_resumes_to_the_same_bits() {
    if device().is_some() {
        resumes_to_the_same_bits("recorded", &FLAGS);
    }
}

#[test]
fn persistent_resumes_to_the_same_bits() {
    if device().is_some() {
        resumes_to_the_same_bits("persistent", &FLAGS[..1]);
    }
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let dir = Dir::new();
    for (flags, texts) in [
        ("--clip-norm=-1", ["--clip-norm", "expected 0 (no limit) or more"]),
        ("--clip-value nan", ["--clip-value", "expected a finite number"]),
        ("--accumulate 0", ["--accumulate", "from 1 to"]),
        ("--sweep clip_norm=-1", ["clip_norm", "0 (no limit) or more"]),
        ("--clip-norm 1 --sweep clip_norm=1,2", ["--clip-norm and --sweep clip_norm=...", "leave one of them out"]),
    ] {
        dir.run(&format!("train --executor cpu --steps 5 {flags}")).exits(2).says(&texts);
    }
    dir.run("train --executor cpu --steps 5 --checkpoint c -q").exits(0);
    dir.run("train --resume c --accumulate 2").exits(2).says(&["--accumulate 2 contradicts", "which has 1"]);
    dir.run("train --resume c --clip-norm 0.5").exits(2).says(&["--clip-norm 0.5 contradicts", "add --override"]);
    dir.run("train --resume c --clip-norm 0.5 --override --steps 9 -q").exits(0);
}

/// A model of a sweep over limits is what it is alone.
#[test]
fn a_swept_limit_is_that_of_a_run_alone() {
    let dir = Dir::new();
    let train = "train --executor cpu --hidden 5 --steps 40 --json -q";
    let swept = dir.run(&format!("{train} --sweep clip_norm=0,0.02,0.1")).exits(0).json();
    let mut losses = Vec::new();
    for (i, limit) in ["0", "0.02", "0.1"].iter().enumerate() {
        let alone = dir.run(&format!("{train} --clip-norm {limit}")).exits(0).json();
        assert_eq!(swept["models"][i]["final_loss"], alone["final_loss"], "limit {limit}");
        losses.push(alone["final_loss"].to_string());
    }
    losses.dedup();
    assert_eq!(losses.len(), 3, "the limits make a difference: {losses:?}");
}
