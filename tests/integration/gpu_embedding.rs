//! Embeddings on the device: the kernels against the oracle, and bits that no chunking moves.

use fori::plan::{Plan, Sampling, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, LayerOptions, Loss, Optimizer};

use crate::adapter::{WALKS, executor, initial, member};
use crate::common::device;
use crate::cpu::small_table;
use crate::gpu_bits::assert_same_bits;
use crate::gpu_kernels::{Case, Kernels, kernels_match_the_oracle};
use crate::network::{embedded, write_indices};

use Kernels::{Broadcast, Tiles32, Tiles64};
use Walk::{Persistent, Recorded};

#[rustfmt::skip]
const CASES: [Case; 3] = [
    // Rows that begin at every place of a vector, between numbers, and a table that takes several tiles.
    Case {
        widths: &[7, 9, 2], embeddings: &[(1, 7, 6), (2, 3, 5), (5, 60, 20)], options: LayerOptions::NONE, batch: 21,
        activation: Activation::Gelu, optimizer: Optimizer::Adam, table: 50, models: 2,
        runs: &[(Tiles32, Recorded), (Tiles64, Persistent), (Broadcast, Recorded), (Broadcast, Persistent)],
    },
    // Nothing but embeddings, with all that there is around the dense layers.
    Case {
        widths: &[2, 6, 6, 1], embeddings: &[(0, 90, 1), (1, 5, 4)], batch: 70,
        options: LayerOptions { dropout: 0.2, layer_norm: true, residual: true, ..LayerOptions::NONE },
        activation: Activation::Tanh, optimizer: Optimizer::Adam, table: 90, models: 1,
        runs: &[(Tiles64, Recorded), (Broadcast, Persistent)],
    },
    Case {
        widths: &[3, 2], embeddings: &[(2, 1, 3)], options: LayerOptions::NONE, batch: 3, activation: Activation::Identity,
        optimizer: Optimizer::Sgd, table: 4, models: 1, runs: &[(Tiles32, Persistent), (Broadcast, Recorded)],
    },
];

kernels_match_the_oracle!(&CASES);

/// The last batch of an epoch is short here. The second plan has all that there is around embeddings.
#[test]
fn steps_are_the_same_bits_however_they_are_divided() {
    let plain = embedded(&[3, 9, 1], Activation::Relu, &[(0, 6, 3), (2, 11, 5)]);
    let all = LayerOptions { dropout: 0.2, layer_norm: true, residual: true, ..LayerOptions::NONE };
    let full = embedded(&[3, 7, 7, 1], Activation::Relu, &[(0, 6, 3), (2, 11, 5)]).with(all).expect("it is possible");
    for walk in WALKS {
        for (model, models, separate) in [(&plain, 1, false), (&full, 2, true)] {
            let Some(device) = device() else { return };
            let mut table = small_table(33, 3, 1);
            write_indices(model, &mut table.features);
            let source = Source::Table { rows: 33 };
            let step = TrainStep {
                models,
                products: device.products,
                sampling: Sampling::Shuffle,
                clip_norm: separate,
                clip_value: separate,
                accumulate: if separate { 3 } else { 1 },
                ..TrainStep::new(model.clone(), Loss::Mse, Optimizer::Adamw, 20, source)
            };
            let plan = Plan::new(step).expect("the plan is possible");
            let members: Vec<_> = (0..models).map(|seed| member(seed as u64)).collect();
            let start = initial(&plan, &members, Some(&table), f32::NAN);
            let mut executor = executor(device, &plan, &members, &start, walk, false);
            let divisions = [(100, 100), (100, 7), (33, 10), (1, 1)];
            assert_same_bits(&mut executor, &start, 100, &divisions, &format!("{walk:?} of {models} models"));
        }
    }
}
