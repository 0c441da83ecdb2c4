//! Gradients of the oracle against central differences of its loss.

use fori::plan::{Arena, OpKind};
use fori::spec::{Activation, LayerOptions, Model};

use crate::common::assert_close;
use crate::network::{ENCODED, Network, model};

/// The step of the differences: small enough that none crosses a kink, and that their error (the third derivative times
/// its square, and rounding divided by it) stays below the tolerance.
const STEP: f64 = 1e-6;
const TOLERANCE: f64 = 2e-8;

/// Widths from input to output.
const NETWORKS: [&[usize]; 4] = [&[4, 2], &[3, 5, 1], &[1, 7, 65, 3, 2], &[6, 1, 1, 9]];

/// The loss, and the slope of every activation.
fn evaluate(network: &mut Network) -> (f64, Vec<f64>) {
    network.run(OpKind::is_forward);
    let slopes = (1..network.plan.layers.len()).flat_map(|i| network.get(&format!("delta{i}"))).collect();
    (network.run(|kind| kind == OpKind::Loss), slopes)
}

/// Central differences of the loss by each number of a parameter tensor.
fn differences(network: &mut Network, name: &str) -> Vec<f64> {
    let tensor = network.plan.tensor(name).expect("the plan has its parameters").clone();
    let piecewise = network.plan.step.model.activation == Activation::Relu;
    let mut derivative = |index: usize| {
        let mut at = |offset: f64| {
            let parameter = &mut network.arenas.scalars[Arena::Params as usize][index];
            let value = *parameter;
            *parameter = value + offset;
            let result = evaluate(network);
            network.arenas.scalars[Arena::Params as usize][index] = value;
            result
        };
        let ((above, slopes_above), (below, slopes_below)) = (at(STEP), at(-STEP));
        assert!(!piecewise || slopes_above == slopes_below, "{name}: a kink within the step; take another seed");
        (above - below) / (2.0 * STEP)
    };
    tensor.indices().map(&mut derivative).collect()
}

pub fn check(model: Model, batch_size: usize) {
    let what = format!("{model:?} batch {batch_size}");
    let mut network = Network::random(model, batch_size, 3);
    for name in network.parameters() {
        let want = differences(&mut network, &name);
        let mut stepped = network.clone();
        stepped.step();
        let context = format!("{what}: {name}");
        assert_close(&context, &stepped.get(&format!("grads.{name}")), &want, TOLERANCE, TOLERANCE);
    }
}

#[test]
fn gradients_equal_central_differences() {
    for widths in NETWORKS {
        for &activation in Activation::ALL {
            for batch_size in [1, 3, 17] {
                check(model(widths, activation), batch_size);
            }
        }
    }
}

/// What there can be around the dense layers.
const OPTIONS: [LayerOptions; 5] = [
    LayerOptions { dropout: 0.4, ..LayerOptions::NONE },
    LayerOptions { residual: true, ..LayerOptions::NONE },
    LayerOptions { layer_norm: true, ..LayerOptions::NONE },
    LayerOptions { layer_norm: true, residual: true, ..LayerOptions::NONE },
    LayerOptions { dropout: 0.3, layer_norm: true, residual: true, ..LayerOptions::NONE },
];

#[test]
fn gradients_with_layer_options_equal_central_differences() {
    for options in OPTIONS.into_iter().chain(ENCODED) {
        for widths in [&[3, 5, 5, 5, 2][..], &[2, 7, 7, 3, 3, 9, 1]] {
            for batch_size in [1, 17] {
                let dense = model(widths, Activation::Tanh);
                check(dense.with(options.clone()).expect("the options are possible"), batch_size);
            }
        }
    }
}

/// All parameters at once: the loss falls along the gradient as its square says.
#[test]
fn a_small_step_lowers_the_loss_by_the_square_of_the_gradient() {
    for &activation in Activation::ALL {
        let mut network = Network::random(model(&[3, 33, 5, 2], activation), 17, 11);
        let (before, _) = evaluate(&mut network);
        let mut stepped = network.clone();
        stepped.step();
        for name in network.parameters() {
            let gradient = stepped.get(&format!("grads.{name}"));
            let tensor = network.plan.tensor(&name).expect("the plan has its parameters").clone();
            for (index, g) in tensor.indices().zip(gradient) {
                network.arenas.scalars[Arena::Params as usize][index] -= STEP * g;
            }
        }
        let (after, _) = evaluate(&mut network);
        let square: f64 = stepped.gradient().iter().map(|g| g * g).sum();
        assert_close(activation.name(), &[(before - after) / STEP], &[square], 1e-4, 0.0);
    }
}

/// The factor of SIREN stands in the slope too.
#[test]
fn gradients_of_scaled_sines_equal_central_differences() {
    let scaled = Model { w0: 3.0, ..model(&[2, 7, 5, 1], Activation::Sin) };
    let mut network = Network::random(scaled, 9, 3);
    for name in network.parameters() {
        let want = differences(&mut network, &name);
        let mut stepped = network.clone();
        stepped.step();
        assert_close(&name, &stepped.get(&format!("grads.{name}")), &want, 1e-7, 1e-7);
    }
}
