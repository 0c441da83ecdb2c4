//! Every kernel against the oracle in double precision, over shapes that are multiples of nothing.
//!
//! Each step starts from the arenas that the step before left on the device, so errors do not add up. Activations start as
//! NaN, and a NaN of recognizable bits lies between all tensors: who reads it shows it, who writes there removes it.

use fori::arenas::Arenas;
use fori::config::Member;
use fori::cpu::Cpu;
use fori::data::Dataset;
use fori::executor::Executor;
use fori::gpu::Device;
use fori::plan::{Arena, Plan, Products, Source, TrainStep};
use fori::rng::Key;
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, LayerOptions, Loss, Model, Optimizer};

use crate::adapter::{executor, initial, train};
use crate::common::{assert_close, device, f64s};
use crate::network::{embedded, write_indices};

const SENTINEL: u32 = 0x7FC0_BEEF;
const STEPS: usize = 3;

/// The kernels of the products.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernels {
    /// Where the device has room for their workgroups, which WebGPU does not promise.
    Tiles128,
    Tiles64,
    Tiles32,
    /// Where the device has the memory.
    Deep64,
    Deep32,
    /// Where the device is given them.
    Broadcast,
}

impl Kernels {
    fn on(self, device: &Device) -> Option<Products> {
        match self {
            Self::Tiles128 => Some(Products::Tiled { side: 32 }).filter(|&tiles| device.fits(tiles).is_ok()),
            Self::Tiles64 => Some(Products::Tiled { side: 16 }),
            Self::Tiles32 => Some(Products::Tiled { side: 8 }),
            Self::Deep64 => Some(Products::Deep { side: 16 }).filter(|&tiles| device.fits(tiles).is_ok()),
            Self::Deep32 => Some(Products::Deep { side: 8 }),
            Self::Broadcast => matches!(device.products, Products::Broadcast { .. }).then_some(device.products),
        }
    }
}

/// One network, and what it is run by. To compile a module takes seconds on a software adapter, so only one of the networks
/// is run by everything.
pub struct Case {
    /// From input to output.
    pub widths: &'static [usize],
    pub options: LayerOptions,
    /// Column, categories and width of each.
    pub embeddings: &'static [(usize, usize, usize)],
    pub batch: usize,
    pub activation: Activation,
    pub optimizer: Optimizer,
    /// Rows of the table; 0 draws linear regression.
    pub table: usize,
    pub models: usize,
    pub runs: &'static [(Kernels, Walk)],
}

use Activation::{Gelu, Identity, Relu, Tanh};
use Kernels::{Broadcast, Deep32, Deep64, Tiles32, Tiles64, Tiles128};
use Optimizer::{Adam, Sgd};
use Walk::{Persistent, Recorded};

#[rustfmt::skip]
const CASES: [Case; 5] = [
    Case {
        embeddings: &[], widths: &[3, 65, 1, 257, 2], options: LayerOptions::NONE, batch: 65, activation: Gelu, optimizer: Adam, table: 0, models: 1,
        runs: &[
            (Tiles64, Recorded), (Tiles64, Persistent), (Tiles32, Recorded), (Tiles32, Persistent),
            (Broadcast, Recorded), (Broadcast, Persistent), (Tiles128, Recorded), (Tiles128, Persistent), (Deep64, Recorded), (Deep64, Persistent), (Deep32, Recorded),
        ],
    },
    Case {
        embeddings: &[], widths: &[1, 1], options: LayerOptions::NONE, batch: 1, activation: Identity, optimizer: Sgd, table: 0, models: 1,
        runs: &[(Tiles64, Recorded), (Tiles32, Persistent), (Broadcast, Recorded)],
    },
    Case {
        embeddings: &[], widths: &[65, 3], options: LayerOptions::NONE, batch: 64, activation: Identity, optimizer: Adam, table: 37, models: 2,
        runs: &[(Tiles64, Persistent), (Tiles32, Recorded), (Broadcast, Persistent)],
    },
    Case {
        embeddings: &[], widths: &[257, 3, 65], options: LayerOptions::NONE, batch: 200, activation: Tanh, optimizer: Sgd, table: 500, models: 1,
        runs: &[(Tiles64, Recorded), (Broadcast, Persistent), (Tiles128, Recorded), (Deep32, Persistent)],
    },
    Case {
        embeddings: &[], widths: &[5, 66, 1], options: LayerOptions::NONE, batch: 3, activation: Relu, optimizer: Adam, table: 11, models: 2,
        runs: &[(Tiles64, Persistent), (Tiles32, Recorded), (Broadcast, Recorded)],
    },
];

impl Case {
    fn model(&self) -> Model {
        let model = embedded(self.widths, self.activation, self.embeddings);
        model.with(self.options.clone()).expect("the network is possible")
    }

    fn plan(&self, products: Products) -> Plan {
        let model = self.model();
        let source = if self.table == 0 { Source::Linreg } else { Source::Table { rows: self.table } };
        let step = TrainStep::new(model, Loss::Mse, self.optimizer, self.batch, source);
        let step = TrainStep { models: self.models, products, keep_gradients: true, gap: 5, ..step };
        Plan::new(step).expect("the plan is possible")
    }

    /// The models: an eps that keeps the rounding of small gradients small.
    fn members(&self) -> Vec<Member> {
        let hyper = Hyperparameters { learning_rate: 0.01, eps: 1e-3, ..Hyperparameters::default() };
        (0..self.models as u64).map(|seed| Member { seed, hyper }).collect()
    }

    fn dataset(&self) -> Dataset {
        let (inputs, outputs) = (self.widths[0], self.widths[self.widths.len() - 1]);
        let draw = |seed, count: usize| (0..).take(count).map(|i| Key::from_seed(seed).normal(i)).collect();
        let names = |count: usize| (0..count).map(|i| format!("column{i}")).collect();
        let mut features: Vec<f32> = draw(100, self.table * inputs);
        write_indices(&self.model(), &mut features);
        Dataset {
            rows: self.table,
            feature_names: names(inputs),
            target_names: names(outputs),
            features,
            targets: draw(101, self.table * outputs),
            weights: None,
        }
    }
}

/// What a scalar of an arena is.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Gap,
    Padding,
    Value,
}

/// The role of every scalar of a model's share of an arena.
fn roles(plan: &Plan, arena: Arena) -> Vec<Role> {
    let mut roles = vec![Role::Gap; 4 * plan.sizes.of(arena)];
    for tensor in plan.tensors.iter().filter(|t| t.arena == arena) {
        let first = 4 * tensor.offset;
        roles[first..first + 4 * tensor.stride * tensor.padded_rows].fill(Role::Padding);
        tensor.indices().for_each(|i| roles[i] = Role::Value);
    }
    roles
}

/// Writes the sentinel between all tensors.
pub fn fill_gaps(plan: &Plan, arenas: &mut Arenas<f32>) {
    for arena in Arena::ALL {
        let roles = roles(plan, arena);
        for share in arenas.scalars[arena as usize].chunks_exact_mut(roles.len()) {
            for (value, _) in share.iter_mut().zip(&roles).filter(|(_, role)| **role == Role::Gap) {
                *value = f32::from_bits(SENTINEL);
            }
        }
    }
}

/// Fails if a sentinel was overwritten, or the padding of a parameter or of its state is not zero.
pub fn assert_margins(what: &str, plan: &Plan, arenas: &Arenas<f32>) {
    for arena in Arena::ALL {
        let roles = roles(plan, arena);
        let kept = matches!(arena, Arena::Params | Arena::Optimizer | Arena::Data);
        for (model, share) in arenas.scalars[arena as usize].chunks_exact(roles.len()).enumerate() {
            for (i, (value, role)) in share.iter().zip(&roles).enumerate() {
                let place = format!("{what}: scalar {i} of {arena} of model {model}");
                match role {
                    Role::Gap => assert_eq!(value.to_bits(), SENTINEL, "{place}: written between tensors"),
                    Role::Padding if kept => assert_eq!(*value, 0.0, "{place}: padding"),
                    _ => {}
                }
            }
        }
    }
}

pub fn doubles(arenas: &Arenas<f32>) -> Arenas<f64> {
    Arenas { scalars: arenas.scalars.each_ref().map(|values| f64s(values)), state: arenas.state.clone() }
}

/// The rounding error of a sum of `n` products grows with `√n`; the constant part is that of the activations' slopes.
fn tolerance(case: &Case) -> f64 {
    let widest = case.widths.iter().copied().max().unwrap_or(1);
    let n = u32::try_from(widest.max(case.batch)).expect("a small network");
    // Normalization takes away most of a gradient, and what is left has the rounding errors of all of it.
    let cancellation = if case.options.layer_norm { 8.0 } else { 1.0 };
    cancellation * (64.0 + 16.0 * f64::from(n).sqrt()) * f64::from(f32::EPSILON) / 2.0
}

/// Compares every tensor with the oracle's, each by its largest number.
fn compare(what: &str, case: &Case, plan: &Plan, got: &Arenas<f32>, want: &Arenas<f64>) {
    for model in 0..case.models {
        for tensor in &plan.tensors {
            let want = want.get(plan, model, &tensor.name);
            let scale = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            let name = format!("{what}: {} of model {model}", tensor.name);
            assert_close(&name, &f64s(&got.get(plan, model, &tensor.name)), &want, 0.0, tolerance(case) * scale);
        }
    }
    assert_eq!(got.state, want.state, "{what}: state");
}

fn check(device: Device, case: &Case, products: Products, walk: Walk) {
    let what = format!("{:?} {:?} batch {} {products:?} {walk:?}", case.widths, case.options, case.batch);
    let (plan, members) = (case.plan(products), case.members());
    let table = (case.table > 0).then(|| case.dataset());
    let mut arenas = initial(&plan, &members, table.as_ref(), f32::NAN);
    fill_gaps(&plan, &mut arenas);
    let hyper: Vec<_> = members.iter().map(|m| m.hyper).collect();
    let mut executor = executor(device, &plan, &members, &arenas, walk, false);
    for step in 0..STEPS {
        let mut oracle = Cpu::<f64>::new(plan.clone(), hyper.clone(), doubles(&arenas));
        let want = oracle.step();
        let losses = train(&mut executor, step..step + 1, 1, 1);
        arenas = executor.read().expect("the arenas are read");
        assert_close(&format!("{what}: loss of step {step}"), &f64s(&losses), &want, tolerance(case), 0.0);
        compare(&format!("{what}: step {step}"), case, &plan, &arenas, oracle.arenas());
    }
    assert_margins(&what, &plan, &arenas);
}

/// Checks those runs of the cases that have the kernels.
pub fn check_all(cases: &[Case], kernels: Kernels) {
    for case in cases {
        for (_, walk) in case.runs.iter().filter(|run| run.0 == kernels) {
            let Some(device) = device() else { return };
            let Some(products) = kernels.on(&device) else {
                eprintln!("skipped: {} is not given these kernels", device.summary);
                return;
            };
            check(device, case, products, *walk);
        }
    }
}

/// A test for the kernels of each kind, which checks the runs of these cases that have them.
macro_rules! kernels_match_the_oracle {
    ($cases:expr) => {
        #[test]
        fn tiles_of_64_match_the_oracle() {
            $crate::gpu_kernels::check_all($cases, $crate::gpu_kernels::Kernels::Tiles64);
        }

        #[test]
        fn tiles_of_32_match_the_oracle() {
            $crate::gpu_kernels::check_all($cases, $crate::gpu_kernels::Kernels::Tiles32);
        }

        #[test]
        fn broadcasts_match_the_oracle() {
            $crate::gpu_kernels::check_all($cases, $crate::gpu_kernels::Kernels::Broadcast);
        }
    };
}
pub(crate) use kernels_match_the_oracle;

kernels_match_the_oracle!(&CASES);

#[test]
fn tiles_of_128_match_the_oracle() {
    check_all(&CASES, Tiles128);
}

#[test]
fn deep_tiles_match_the_oracle() {
    check_all(&CASES, Deep64);
    check_all(&CASES, Deep32);
}

#[test]
fn kernels_that_do_not_fit_are_refused_with_the_limit() {
    let Some(device) = device() else { return };
    for side in [8, 16] {
        device.fits(Products::Tiled { side }).expect("every device runs these");
    }
    let said = device.fits(Products::Tiled { side: 128 }).expect_err("no device has such workgroups").to_string();
    assert!(said.contains("tiled 128 kernels has 16384 invocations, and this device allows"), "{said}");
}
