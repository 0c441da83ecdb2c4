//! What there is around the dense layers, on the device: the kernels against the oracle, and bits that no chunking moves.

use fori::plan::{Plan, Source, TrainStep};
use fori::shader::Walk;
use fori::spec::{Activation, InputEncoding, LayerOptions, Loss, Optimizer};

use crate::adapter::{WALKS, executor, initial, member};
use crate::common::device;
use crate::gpu_bits::assert_same_bits;
use crate::gpu_kernels::{Case, Kernels, kernels_match_the_oracle};
use crate::network::model;

use Kernels::{Broadcast, Tiles32, Tiles64};
use Walk::{Persistent, Recorded};

const FOURIER: InputEncoding = InputEncoding::Fourier { features: 7, scale: 1.5 };
const FREQUENCY: InputEncoding = InputEncoding::Frequency { frequencies: 5 };

/// All at once but for the encoding.
const ALL: LayerOptions = LayerOptions { dropout: 0.25, layer_norm: true, residual: true, ..LayerOptions::NONE };

#[rustfmt::skip]
const CASES: [Case; 6] = [
    Case {
        embeddings: &[], widths: &[3, 65, 65, 7, 7, 7, 2], options: ALL, batch: 65, activation: Activation::Gelu,
        optimizer: Optimizer::Adam, table: 0, models: 2,
        runs: &[(Tiles32, Recorded), (Tiles64, Persistent), (Broadcast, Persistent)],
    },
    Case {
        embeddings: &[], widths: &[5, 33, 33, 33, 1], options: LayerOptions { layer_norm: false, ..ALL }, batch: 19, activation: Activation::Tanh,
        optimizer: Optimizer::Adam, table: 41, models: 1,
        runs: &[(Tiles64, Recorded), (Broadcast, Persistent)],
    },
    Case {
        embeddings: &[], widths: &[6, 18, 18, 1], options: LayerOptions { residual: true, ..LayerOptions::NONE }, batch: 5,
        activation: Activation::Relu, optimizer: Optimizer::Sgd, table: 0, models: 1,
        runs: &[(Tiles32, Persistent), (Broadcast, Recorded)],
    },
    Case {
        embeddings: &[], widths: &[2, 257, 1, 3], options: LayerOptions { layer_norm: true, ..LayerOptions::NONE }, batch: 30,
        activation: Activation::Sigmoid, optimizer: Optimizer::Adam, table: 9, models: 2,
        runs: &[(Tiles64, Recorded), (Broadcast, Recorded)],
    },
    Case {
        embeddings: &[], widths: &[3, 10, 2], batch: 30, activation: Activation::Tanh, optimizer: Optimizer::Adam, table: 0, models: 2,
        options: LayerOptions { encoding: FOURIER, include_input: true, ..LayerOptions::NONE },
        runs: &[(Tiles32, Persistent), (Broadcast, Recorded), (Broadcast, Persistent)],
    },
    Case {
        embeddings: &[], widths: &[5, 10, 1], batch: 9, activation: Activation::Gelu, optimizer: Optimizer::Adam, table: 12, models: 1,
        options: LayerOptions { encoding: FREQUENCY, ..LayerOptions::NONE },
        runs: &[(Tiles64, Recorded), (Broadcast, Persistent)],
    },
];

kernels_match_the_oracle!(&CASES);

#[test]
fn steps_are_the_same_bits_however_they_are_divided() {
    for walk in WALKS {
        let Some(device) = device() else { return };
        let model = model(&[2, 9, 9, 1], Activation::Relu)
            .with(LayerOptions { encoding: FOURIER, ..ALL })
            .expect("the options are possible");
        let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 20, Source::Linreg);
        let plan = Plan::new(TrainStep { products: device.products, ..step }).expect("the plan is possible");
        let start = initial(&plan, &[member(0)], None, f32::NAN);
        let mut executor = executor(device, &plan, &[member(0)], &start, walk, false);
        let divisions = [(200, 200), (200, 7), (33, 10), (1, 1)];
        assert_same_bits(&mut executor, &start, 200, &divisions, &format!("{walk:?}"));
    }
}
