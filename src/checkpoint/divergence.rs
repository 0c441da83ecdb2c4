//! Which models have diverged without a loss that shows it.

use crate::arenas::Arenas;
use crate::plan::{Arena, Plan};

/// Marks the models with a parameter that is not finite as diverged at the step that they are at, unless they had diverged
/// before; true if there is one. Its loss need not show it: an infinite weight may meet an activation that hides it.
pub(super) fn mark_diverged(plan: &Plan, arenas: &mut Arenas<f32>) -> bool {
    let mut any = false;
    for model in 0..plan.step.models {
        let base = Arenas::<f32>::base(plan, Arena::Params, model);
        let params = &arenas.scalars[Arena::Params as usize][base..][..4 * plan.sizes.of(Arena::Params)];
        let state = &mut arenas.state[model];
        if state[3] == 0 && params.iter().any(|p| !p.is_finite()) {
            state[3] = state[0].max(1);
            any = true;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Source, TrainStep};
    use crate::spec::{Activation, Loss, Model, Optimizer};

    #[test]
    fn a_model_with_an_infinite_parameter_has_diverged_though_its_loss_is_finite() {
        let model = Model::new(2, &[3], 1, Activation::Tanh).expect("a network");
        let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 4, Source::Linreg);
        let plan = Plan::new(TrainStep { models: 3, ..step }).expect("a plan");
        let mut arenas = Arenas::initial(&plan, &[0, 1, 2], None, 0.0).expect("arenas");
        arenas.state = vec![[7, 0, 0, 0], [7, 0, 0, 0], [7, 0, 0, 4]];
        assert!(!mark_diverged(&plan, &mut arenas), "all parameters are finite");
        arenas.set(&plan, 1, "layers.0.kernel", &[0.0, f32::NEG_INFINITY]);
        arenas.set(&plan, 2, "layers.0.bias", &[f32::NAN]);
        assert!(mark_diverged(&plan, &mut arenas), "one model is new among the diverged");
        let diverged: Vec<_> = arenas.state.iter().map(|state| state[3]).collect();
        assert_eq!(diverged, [0, 7, 4], "the step it was seen at, and the one known before");
    }
}
