//! Gradients of the oracle against central differences of its loss.

use fori::plan::{Arena, OpKind};
use fori::spec::Activation;

use crate::common::assert_close;
use crate::network::Network;

/// The step of the differences: small enough that none crosses a kink, and that their error (the third derivative times
/// its square, and rounding divided by it) stays below the tolerance.
const STEP: f64 = 1e-6;
const TOLERANCE: f64 = 2e-8;

/// Widths from input to output.
const NETWORKS: [&[usize]; 4] = [&[4, 2], &[3, 5, 1], &[1, 7, 65, 3, 2], &[6, 1, 1, 9]];

/// The loss, and the slope of every activation.
fn evaluate(network: &mut Network) -> (f64, Vec<f64>) {
    network.run(|kind| matches!(kind, OpKind::DenseForward { .. }));
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

fn check(widths: &[usize], activation: Activation, batch_size: usize) {
    let mut network = Network::random(widths, activation, batch_size, 3);
    for name in network.parameters() {
        let want = differences(&mut network, &name);
        let mut stepped = network.clone();
        stepped.step();
        let context = format!("{widths:?} {activation} batch {batch_size}: {name}");
        assert_close(&context, &stepped.get(&format!("grads.{name}")), &want, TOLERANCE, TOLERANCE);
    }
}

#[test]
fn gradients_equal_central_differences() {
    for widths in NETWORKS {
        for &activation in Activation::ALL {
            for batch_size in [1, 3, 17] {
                check(widths, activation, batch_size);
            }
        }
    }
}

/// All parameters at once: the loss falls along the gradient as its square says.
#[test]
fn a_small_step_lowers_the_loss_by_the_square_of_the_gradient() {
    for &activation in Activation::ALL {
        let mut network = Network::random(&[3, 33, 5, 2], activation, 17, 11);
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
