//! Rows of a table on the device against the oracle: how they are drawn and weighed, the cross-entropy of classes, and
//! what the network answers to them.

use fori::arenas::Arenas;
use fori::config::Member;
use fori::cpu::{Cpu, CpuExecutor};
use fori::executor::Executor;
use fori::gpu::GpuExecutor;
use fori::plan::{Arena, Plan, Sampling, Source, TrainStep};
use fori::rng::Key;
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::adapter::{WALKS, executor, train};
use crate::common::{assert_close, device, f64s};
use crate::gpu_bits::assert_same_bits;
use crate::gpu_kernels::doubles;

const ROWS: usize = 23;

fn members() -> [Member; 2] {
    let hyper = Hyperparameters { learning_rate: 0.01, eps: 1e-3, ..Hyperparameters::default() };
    [Member { seed: 3, hyper }, Member { seed: 4, hyper }]
}

/// Classes or numbers, and weights, of a table that is drawn from a key.
fn fill(plan: &Plan, arenas: &mut Arenas<f32>) {
    let step = &plan.step;
    let key = Key::from_seed(11);
    let features: Vec<_> = (0..).take(ROWS * step.model.inputs()).map(|i| key.normal(i)).collect();
    arenas.set(plan, 0, "features", &features);
    let outputs = u32::try_from(step.model.outputs()).expect("few outputs");
    let mut targets = Vec::new();
    for row in 0..23_u32 {
        let columns = u32::try_from(step.loss.target_columns(step.model.outputs())).expect("few columns");
        for column in 0..columns {
            let class = u16::try_from(key.fold_in(1).bits(row) % outputs).expect("few classes");
            let number = key.fold_in(2).normal(row * columns + column);
            targets.push(if step.loss.is_elementwise() { number } else { f32::from(class) });
        }
        if step.weighted {
            targets.push(key.fold_in(3).uniform(row) * 2.0);
        }
    }
    arenas.set(plan, 0, "targets", &targets);
}

fn initial(plan: &Plan) -> Arenas<f32> {
    let mut arenas = crate::adapter::initial(plan, &members(), Some(&crate::cpu::small_table(ROWS, 3, 1)), f32::NAN);
    fill(plan, &mut arenas);
    arenas
}

/// Each way to draw and to weigh rows, with a loss of each kind.
fn steps() -> Vec<TrainStep> {
    let mut steps = Vec::new();
    for (loss, outputs) in [(Loss::Mse, 3), (Loss::SoftmaxCrossEntropy, 5), (Loss::SoftmaxCrossEntropy, 2)] {
        for (sampling, weighted, batch) in [
            (Sampling::Shuffle, false, 10),
            (Sampling::Shuffle, true, 17),
            (Sampling::Replacement, true, 20),
            (Sampling::Shuffle, false, 40),
        ] {
            let model = Model::new(3, &[9], outputs, Activation::Tanh).expect("the widths are possible");
            let step = TrainStep::new(model, loss, Optimizer::Adam, batch, Source::Table { rows: ROWS });
            steps.push(TrainStep { sampling, weighted, label_smoothing: 0.1, models: 2, gap: 3, ..step });
        }
    }
    steps
}

fn describe(step: &TrainStep) -> String {
    format!(
        "{} of {} {} weighted {} batch {}",
        step.loss,
        step.model.outputs(),
        step.sampling,
        step.weighted,
        step.batch_size
    )
}

fn hyper() -> Vec<Hyperparameters> {
    members().iter().map(|m| m.hyper).collect()
}

/// Steps of the executor one by one, each of which starts from what the step before left, against the oracle.
fn check(plan: &Plan, executor: &mut dyn Executor, what: &str) {
    let mut arenas = executor.read().expect("the arenas are read");
    for step in 0..7 {
        let what = format!("{what}, step {step}");
        let mut oracle = Cpu::<f64>::new(plan.clone(), hyper(), doubles(&arenas));
        let want = oracle.step();
        let losses = train(executor, step..step + 1, 1, 1);
        arenas = executor.read().expect("the arenas are read");
        assert_close(&format!("{what}: loss"), &f64s(&losses), &want, 1e-5, 0.0);
        assert_eq!(arenas.state, oracle.arenas().state, "{what}: steps and keys");
        for name in ["x", "y", "delta2", "layers.0.kernel", "layers.1.bias"] {
            for model in 0..2 {
                let want = oracle.arenas().get(plan, model, name);
                let scale = want.iter().fold(1e-3, |most: f64, v| most.max(v.abs()));
                let got = f64s(&arenas.get(plan, model, name));
                assert_close(&format!("{what}: {name} of model {model}"), &got, &want, 0.0, 6e-6 * scale);
            }
        }
    }
}

#[test]
fn every_way_to_draw_and_weigh_rows_matches_the_oracle() {
    for step in steps() {
        for walk in WALKS {
            let Some(device) = device() else { return };
            let plan =
                Plan::new(TrainStep { products: device.products, ..step.clone() }).expect("the plan is possible");
            let mut executor = executor(device, &plan, &members(), &initial(&plan), walk, false);
            check(&plan, &mut executor, &format!("{} {walk:?}", describe(&step)));
        }
    }
}

#[test]
fn the_cpu_executor_draws_and_weighs_rows_as_the_oracle() {
    for step in steps() {
        let plan = Plan::new(step).expect("the plan is possible");
        let mut executor = CpuExecutor::new(plan.clone(), hyper(), initial(&plan));
        check(&plan, &mut executor, &format!("{} cpu", describe(&plan.step)));
    }
}

#[test]
fn epochs_are_the_same_bits_however_they_are_divided() {
    for step in steps().into_iter().step_by(5) {
        for walk in WALKS {
            let Some(device) = device() else { return };
            let plan =
                Plan::new(TrainStep { products: device.products, ..step.clone() }).expect("the plan is possible");
            let start = initial(&plan);
            let mut executor = executor(device, &plan, &members(), &start, walk, false);
            assert_same_bits(
                &mut executor,
                &start,
                50,
                &[(50, 50), (50, 7), (1, 1)],
                &format!("{} {walk:?}", describe(&step)),
            );
        }
    }
}

#[test]
fn a_table_in_several_bindings_trains_the_same_bits() {
    let Some(device) = device() else { return };
    let step = TrainStep { products: device.products, ..steps().remove(1) };
    let room = device.handles().0.limits().max_storage_buffers_per_shader_stage as usize;
    let whole = Plan::new(step.clone()).expect("the plan is possible");
    let start = initial(&whole);
    for walk in WALKS {
        let run = |plan: &Plan| {
            let mut executor = executor(device.clone(), plan, &members(), &start, walk, false);
            let losses = train(&mut executor, 0..9, 9, 9);
            (losses, executor.read().expect("the arenas are read").scalars)
        };
        let (losses, arenas) = run(&whole);
        // Bindings begin where the adapter can have one begin, at multiples of up to 256 bytes.
        for data_binding in [48, 32, 16] {
            let plan = Plan { data_binding, ..whole.clone() };
            let bindings = plan.data_bindings();
            assert!(bindings > 1, "{data_binding} vectors hold the whole table");
            if 7 + bindings > room {
                continue;
            }
            let (split_losses, split) = run(&plan);
            assert_eq!(split_losses, losses, "{walk:?}, losses with {bindings} bindings");
            let bits = |arenas: &[Vec<f32>; 5]| arenas.concat().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&split), bits(&arenas), "{walk:?}, arenas with {bindings} bindings");
        }
    }
    let many =
        Plan::new(TrainStep { source: Source::Table { rows: 16 * room }, ..step }).expect("the plan is possible");
    let many = Plan { data_binding: 16, ..many };
    let table = crate::cpu::small_table(16 * room, 3, 1);
    let arenas = crate::adapter::initial(&many, &members(), Some(&table), 0.0);
    let refused = GpuExecutor::new(device, many, hyper(), &arenas, Walk::Recorded, false).err().map(|e| e.to_string());
    let refused = refused.unwrap_or_default();
    assert!(refused.contains("use fewer rows or columns"), "more bindings than there are: {refused}");
}

/// The plan that answers is run from the parameters of the plan that trains.
fn answers(plan: &Plan, executor: &mut dyn Executor, trained: &Arenas<f32>) -> Arenas<f32> {
    let mut arenas = initial(plan);
    arenas.scalars[Arena::Params as usize].clone_from(&trained.scalars[Arena::Params as usize]);
    executor.write(&arenas).expect("the arenas are written");
    let batches = plan.step.batches();
    executor
        .enqueue(fori::executor::Chunk { first_step: 0, steps: batches, iters_per_submit: batches })
        .expect("the batches start");
    let report = executor.collect().expect("the batches end").expect("a chunk is in flight");
    assert_eq!(report.short(), None, "every batch was counted");
    executor.read().expect("the arenas are read")
}

#[test]
fn answers_match_the_oracle() {
    for step in steps().into_iter().step_by(2) {
        for batch in [5, 23, 64] {
            let Some(device) = device() else { return };
            let train = Plan::new(TrainStep { products: device.products, ..step.clone() }).expect("a plan");
            let plan = Plan::new(train.step.answering(ROWS, batch)).expect("the plan is possible");
            assert_eq!(plan.sizes.of(Arena::Params), train.sizes.of(Arena::Params), "the layout of the parameters");
            let trained = initial(&train);
            let mut start = initial(&plan);
            start.scalars[Arena::Params as usize].clone_from(&trained.scalars[Arena::Params as usize]);
            let mut oracle = Cpu::<f64>::new(plan.clone(), hyper(), doubles(&start));
            (0..plan.step.batches()).for_each(|_| drop(oracle.step()));
            let mut gpu = executor(device, &plan, &members(), &start, Walk::Recorded, false);
            let mut cpu = CpuExecutor::new(plan.clone(), hyper(), start);
            for (name, got) in
                [("device", answers(&plan, &mut gpu, &trained)), ("cpu", answers(&plan, &mut cpu, &trained))]
            {
                for model in 0..2 {
                    let what = format!("{} batches of {batch} on {name}: model {model}", describe(&step));
                    let got = f64s(&got.get(&plan, model, "answers"));
                    assert_close(&what, &got, &oracle.arenas().get(&plan, model, "answers"), 1e-5, 2e-6);
                }
            }
        }
    }
}
