//! The cpu executor against golden data and against the f64 oracle.

use fori::arenas::Arenas;
use fori::cpu::{Cpu, CpuExecutor};
use fori::data::Dataset;
use fori::executor::{Chunk, Executor};
use fori::plan::{Plan, Source, TrainStep};
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::common::{assert_close, f64s, golden};
use crate::network::write_indices;

/// Runs `steps` steps in chunks of `chunk`, and returns losses and arenas.
fn run(executor: &mut dyn Executor, steps: usize, chunk: usize) -> (Vec<f32>, Arenas<f32>) {
    let mut losses = Vec::new();
    for first in (0..steps).step_by(chunk) {
        let steps = chunk.min(steps - first);
        executor.enqueue(Chunk { first_step: first as u64, steps, iters_per_submit: steps }).expect("cpu runs");
        losses.extend(executor.collect().expect("cpu runs").expect("a chunk was enqueued").losses);
    }
    (losses, executor.read().expect("cpu reads"))
}

pub fn small_table(rows: usize, inputs: usize, outputs: usize) -> Dataset {
    let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let values =
        |n: usize, scale: f32| (0..19_i8).cycle().step_by(37).take(n).map(|i| f32::from(i - 9) * scale).collect();
    Dataset {
        rows,
        feature_names: names("f", inputs),
        target_names: names("t", outputs),
        features: values(rows * inputs, 0.1),
        targets: values(rows * outputs, 0.05),
        weights: None,
    }
}

#[test]
fn reference_run_follows_golden() {
    let model = Model::new(2, &[64, 64], 1, Activation::Gelu).expect("a valid model");
    let plan = Plan::new(TrainStep::new(model, Loss::Mse, Optimizer::Adam, 64, Source::Linreg)).expect("a valid plan");
    let arenas = Arenas::initial(&plan, &[0], None, f32::NAN).expect("no table is needed");
    let mut executor = CpuExecutor::new(plan, vec![Hyperparameters::default()], arenas);
    let (losses, _) = run(&mut executor, 1000, 300);
    assert_close("losses", &f64s(&losses), &golden("trajectory.safetensors")["loss_f32"], 1e-4, 0.0);
}

/// Hidden widths, inputs, outputs, activation, optimizer, batch.
type Row = (&'static [usize], usize, usize, Activation, Optimizer, usize);

#[test]
fn odd_networks_follow_the_oracle() {
    let rows: [Row; 11] = [
        (&[64, 64], 2, 1, Activation::Gelu, Optimizer::Adam, 64),
        (&[65], 3, 5, Activation::Tanh, Optimizer::Sgd, 17),
        (&[7, 257, 1], 1, 3, Activation::Relu, Optimizer::Adam, 3),
        (&[], 4, 2, Activation::Identity, Optimizer::Adam, 1),
        (&[1, 1], 9, 1, Activation::Gelu, Optimizer::Sgd, 65),
        (&[12], 8, 4, Activation::Relu, Optimizer::Sgd, 16),
        (&[5], 3, 1, Activation::Tanh, Optimizer::Adamw, 8),
        (&[6, 3], 2, 2, Activation::Tanh, Optimizer::Nadam, 9),
        (&[5], 3, 3, Activation::Tanh, Optimizer::Rmsprop, 8),
        (&[9], 2, 5, Activation::Gelu, Optimizer::Adagrad, 7),
        (&[5], 3, 1, Activation::Tanh, Optimizer::Lion, 8),
    ];
    for (hidden, inputs, outputs, activation, optimizer, batch) in rows {
        for source in [Source::Linreg, Source::Table { rows: 23 }] {
            let name = format!("{inputs}-{hidden:?}-{outputs} {activation} {optimizer} {batch} {source:?}");
            let model = Model::new(inputs, hidden, outputs, activation).expect("a valid model");
            follows_the_oracle(&name, TrainStep::new(model, Loss::Mse, optimizer, batch, source));
        }
    }
}

/// Trains two models for four steps, and compares everything with the oracle. A table has 23 rows.
pub fn follows_the_oracle(name: &str, step: TrainStep) {
    let (inputs, outputs, optimizer) = (step.model.inputs(), step.model.outputs(), step.optimizer);
    let step_model = step.model.clone();
    let plan = Plan::new(TrainStep { models: 2, keep_gradients: true, ..step }).expect("a valid plan");
    let mut table = small_table(23, inputs, outputs);
    write_indices(&step_model, &mut table.features);
    let other = Hyperparameters { learning_rate: 0.01, momentum: 0.9, nesterov: 1.0, ..optimizer.defaults() };
    let hyper = vec![optimizer.defaults(), other];
    let start = Arenas::initial(&plan, &[3, 4], Some(&table), f32::NAN).expect("the table fits");
    let mut executor = CpuExecutor::new(plan.clone(), hyper.clone(), start);
    let (losses, got) = run(&mut executor, 4, 4);
    let start = Arenas::initial(&plan, &[3, 4], Some(&table), f64::NAN).expect("the table fits");
    let mut oracle = Cpu::new(plan.clone(), hyper, start);
    let wanted: Vec<_> = (0..4).flat_map(|_| oracle.step()).collect();
    assert_close(&format!("{name} losses"), &f64s(&losses), &wanted, 1e-4, 1e-6);
    for tensor in &plan.tensors {
        for m in 0..2 {
            let got = f64s(&got.get(&plan, m, &tensor.name));
            let wanted = oracle.arenas().get(&plan, m, &tensor.name);
            let scale = wanted.iter().fold(0.0_f64, |a, w| a.max(w.abs()));
            assert_close(&format!("{name} {} of model {m}", tensor.name), &got, &wanted, 1e-3, 1e-5 * scale + 1e-9);
        }
    }
    assert_eq!(got.state, oracle.arenas().state, "{name}: steps and keys");
}

#[test]
fn every_loss_and_activation_follows_the_oracle() {
    for loss in Loss::ALL.iter().copied().filter(|loss| loss.is_elementwise()) {
        for &activation in Activation::ALL {
            let model = Model::new(3, &[9], 2, activation).expect("a valid model");
            let step = TrainStep::new(model, loss, Optimizer::Sgd, 6, Source::Linreg);
            let plan = Plan::new(step).expect("a valid plan");
            let hyper = vec![Hyperparameters::default()];
            let start = Arenas::initial(&plan, &[1], None, f32::NAN).expect("no table is needed");
            let (losses, _) = run(&mut CpuExecutor::new(plan.clone(), hyper.clone(), start), 5, 5);
            let mut oracle =
                Cpu::new(plan.clone(), hyper, Arenas::initial(&plan, &[1], None, f64::NAN).expect("as above"));
            let wanted: Vec<_> = (0..5).flat_map(|_| oracle.step()).collect();
            assert_close(&format!("{activation} {loss}"), &f64s(&losses), &wanted, 1e-5, 1e-6);
        }
    }
}

#[test]
fn chunks_do_not_move_a_bit() {
    let model = Model::new(2, &[20], 1, Activation::Tanh).expect("a valid model");
    let plan = Plan::new(TrainStep::new(model, Loss::Mse, Optimizer::Adam, 30, Source::Linreg)).expect("a valid plan");
    let results = [1, 7, 100].map(|chunk| {
        let arenas = Arenas::initial(&plan, &[5], None, 0.0).expect("no table is needed");
        run(&mut CpuExecutor::new(plan.clone(), vec![Hyperparameters::default()], arenas), 100, chunk)
    });
    let bits = |(losses, _): &(Vec<f32>, Arenas<f32>)| losses.iter().map(|l| l.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&results[0]), bits(&results[1]), "chunks of 1 and of 7");
    assert_eq!(bits(&results[0]), bits(&results[2]), "chunks of 1 and of 100");
    assert_eq!(results[0].1, results[2].1, "arenas after chunks of 1 and of 100");
}
