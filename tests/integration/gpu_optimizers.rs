//! Every optimizer on the device against the oracle in double precision, on both walks.
//!
//! As in `gpu_kernels`, each step starts from what the step before left on the device, and the padding is checked.

use fori::config::Member;
use fori::cpu::Cpu;
use fori::executor::Executor;
use fori::gpu::Device;
use fori::plan::{Plan, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::adapter::{WALKS, executor, initial, train};
use crate::common::{assert_close, device, f64s};
use crate::gpu_kernels::{assert_margins, doubles, fill_gaps};

const STEPS: usize = 4;

/// The defaults, and what each optimizer may read, on three models. An eps that keeps the rounding of small gradients small.
fn members(optimizer: Optimizer) -> [Member; 3] {
    let defaults = Hyperparameters { learning_rate: 0.01, eps: 1e-3, ..optimizer.defaults() };
    let momentum = Hyperparameters { momentum: 0.9, weight_decay: 0.1, b1: 0.8, ..defaults };
    let nesterov = Hyperparameters { nesterov: 1.0, b2: 0.7, ..momentum };
    [(0, defaults), (1, momentum), (2, nesterov)].map(|(seed, hyper)| Member { seed, hyper })
}

fn check(device: Device, optimizer: Optimizer, walk: Walk) {
    let model = Model::new(2, &[3], 1, Activation::Tanh).expect("the widths are possible");
    let step = TrainStep::new(model, Loss::Mse, optimizer, 4, Source::Linreg);
    let step = TrainStep { models: 3, products: device.products, gap: 5, ..step };
    let plan = Plan::new(step).expect("the plan is possible");
    let members = members(optimizer);
    let mut arenas = initial(&plan, &members, None, f32::NAN);
    fill_gaps(&plan, &mut arenas);
    let mut executor = executor(device, &plan, &members, &arenas, walk, false);
    for step in 0..STEPS {
        let what = format!("{optimizer} {walk:?} step {step}");
        let hyper = members.iter().map(|m| m.hyper).collect();
        let mut oracle = Cpu::<f64>::new(plan.clone(), hyper, doubles(&arenas));
        let want = oracle.step();
        let losses = train(&mut executor, step..step + 1, 1, 1);
        arenas = executor.read().expect("the arenas are read");
        assert_close(&format!("{what}: loss"), &f64s(&losses), &want, 1e-5, 0.0);
        for (model, tensor) in (0..members.len()).flat_map(|m| plan.tensors.iter().map(move |t| (m, t))) {
            let want = oracle.arenas().get(&plan, model, &tensor.name);
            let scale = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            let name = format!("{what}: {} of model {model}", tensor.name);
            assert_close(&name, &f64s(&arenas.get(&plan, model, &tensor.name)), &want, 0.0, 6e-6 * scale);
        }
    }
    assert_margins(&format!("{optimizer} {walk:?}"), &plan, &arenas);
}

#[test]
fn every_optimizer_matches_the_oracle() {
    for &optimizer in Optimizer::ALL {
        for walk in WALKS {
            let Some(device) = device() else { return };
            check(device, optimizer, walk);
        }
    }
}
