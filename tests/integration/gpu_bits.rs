//! What must not change a single bit: how steps are divided into submissions, a repeated run, and the company of other
//! models. And what must not change the result: wgpu's run-time checks.

use fori::arenas::Arenas;
use fori::config::Member;
use fori::executor::Executor;
use fori::plan::{Arena, Plan, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::adapter::{WALKS, bits, executor, initial, member, reference, train};
use crate::common::{assert_close, device, f64s, golden};

/// What a run leaves behind, as bits.
#[derive(Clone)]
struct Trace {
    losses: Vec<u32>,
    params: Vec<u32>,
    optimizer: Vec<u32>,
    state: Vec<[u32; 4]>,
}

impl Trace {
    fn new(losses: &[f32], arenas: &Arenas<f32>) -> Self {
        let of = |arena: Arena| bits(&arenas.scalars[arena as usize]);
        Self {
            losses: bits(losses),
            params: of(Arena::Params),
            optimizer: of(Arena::Optimizer),
            state: arenas.state.clone(),
        }
    }

    /// Fails with the first difference rather than with thousands of words.
    fn assert_equal(&self, other: &Self, what: &str) {
        let first = |a: &[u32], b: &[u32]| a.iter().zip(b).position(|(a, b)| a != b);
        assert_eq!(self.losses.len(), other.losses.len(), "{what}: losses");
        assert_eq!(first(&self.losses, &other.losses), None, "{what}: first loss with other bits");
        assert_eq!(first(&self.params, &other.params), None, "{what}: first parameter with other bits");
        assert_eq!(first(&self.optimizer, &other.optimizer), None, "{what}: first optimizer number with other bits");
        assert_eq!(self.state, other.state, "{what}: state");
    }
}

/// Steps of a chunk, and of a submission.
const DIVISIONS: [(usize, usize); 5] = [(1000, 1000), (1000, 100), (1000, 1), (100, 33), (1, 1)];

fn same_bits_however_divided(walk: Walk) {
    let Some(device) = device() else { return };
    let (plan, mut executor) = reference(device, walk, false);
    let start = initial(&plan, &[member(0)], None, f32::NAN);
    assert_same_bits(&mut executor, &start, 1000, &DIVISIONS, &format!("{walk:?}"));
}

/// Fails unless `steps` steps from `start` end in the same bits with each of the divisions: steps of a chunk, and of a
/// submission.
pub fn assert_same_bits(
    executor: &mut dyn Executor,
    start: &Arenas<f32>,
    steps: usize,
    divisions: &[(usize, usize)],
    what: &str,
) {
    let mut first: Option<Trace> = None;
    for &(chunk, iters) in divisions {
        executor.write(start).expect("the arenas are written");
        let losses = train(executor, 0..steps, chunk, iters);
        let trace = Trace::new(&losses, &executor.read().expect("the arenas are read"));
        let what = format!("{what}, chunks of {chunk} in submissions of {iters}");
        first.get_or_insert_with(|| trace.clone()).assert_equal(&trace, &what);
    }
}

#[test]
fn recorded_steps_are_the_same_bits_however_they_are_divided() {
    same_bits_however_divided(Walk::Recorded);
}

#[test]
fn persistent_steps_are_the_same_bits_however_they_are_divided() {
    same_bits_however_divided(Walk::Persistent);
}

#[test]
fn the_same_seed_gives_the_same_bits_again() {
    for walk in WALKS {
        let traces = [0, 1].map(|_| {
            let (_, mut executor) = reference(device()?, walk, false);
            let losses = train(&mut executor, 0..300, 100, 100);
            Some(Trace::new(&losses, &executor.read().expect("the arenas are read")))
        });
        let [Some(first), Some(second)] = traces else { return };
        first.assert_equal(&second, &format!("{walk:?}, a second executor"));
    }
}

/// A network of uneven widths.
fn small_step(models: usize) -> TrainStep {
    let model = Model::new(3, &[19, 6], 2, Activation::Relu).expect("the widths are possible");
    TrainStep { models, ..TrainStep::new(model, Loss::Mse, Optimizer::Adam, 50, Source::Linreg) }
}

/// Losses and final parameters of each of `members`, trained together.
fn curves(members: &[Member], walk: Walk) -> Option<Vec<(Vec<u32>, Vec<u32>)>> {
    let device = device()?;
    let step = TrainStep { products: device.products, ..small_step(members.len()) };
    let plan = Plan::new(step).expect("the plan is possible");
    let arenas = initial(&plan, members, None, f32::NAN);
    let mut executor = executor(device, &plan, members, &arenas, walk, false);
    let losses = train(&mut executor, 0..300, 150, 50);
    let arenas = executor.read().expect("the arenas are read");
    let curve = |model: usize| -> Vec<_> { losses.iter().skip(model).step_by(members.len()).copied().collect() };
    let share = 4 * plan.sizes.of(Arena::Params);
    let params = |model: usize| &arenas.scalars[Arena::Params as usize][model * share..(model + 1) * share];
    Some((0..members.len()).map(|model| (bits(&curve(model)), bits(params(model)))).collect())
}

#[test]
fn models_of_an_ensemble_have_the_bits_they_have_alone() {
    let rate = |learning_rate| Hyperparameters { learning_rate, ..Hyperparameters::default() };
    let members = [(0, 1e-3), (7, 1e-2), (1 << 40, 3e-4)].map(|(seed, lr)| Member { seed, hyper: rate(lr) });
    for walk in WALKS {
        let Some(together) = curves(&members, walk) else { return };
        assert_ne!(together[0], together[1], "{walk:?}: models 0 and 1 are not one model");
        for (model, member) in members.iter().enumerate() {
            let Some(alone) = curves(&[*member], walk) else { return };
            let at = alone[0].0.iter().zip(&together[model].0).position(|(a, b)| a != b);
            assert_eq!(at, None, "{walk:?}: first step at which model {model} has another loss alone");
            assert!(alone[0].1 == together[model].1, "{walk:?}: model {model} has other parameters alone");
        }
    }
}

#[test]
fn runs_with_and_without_checks_follow_golden() {
    let golden = &golden("trajectory.safetensors")["loss_f64"][..50];
    for walk in WALKS {
        for checked in [true, false] {
            let Some(device) = device() else { return };
            let (_, mut executor) = reference(device, walk, checked);
            let losses = train(&mut executor, 0..50, 50, 25);
            assert_close(&format!("{walk:?}, checked: {checked}"), &f64s(&losses), golden, 1e-4, 0.0);
        }
    }
}
