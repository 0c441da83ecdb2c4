//! The arenas cut by model, so that models can be trained beside each other.

use crate::arenas::Arenas;
use crate::plan::{Arena, Plan, State};

/// What belongs to one model: its part of each arena, and its state. A table is every model's.
pub(super) struct Share<'a> {
    pub(super) params: &'a mut [f32],
    pub(super) optimizer: &'a mut [f32],
    pub(super) grads: &'a mut [f32],
    pub(super) activations: &'a mut [f32],
    pub(super) data: &'a [f32],
    pub(super) state: &'a mut State,
}

/// The share of each model.
pub(super) fn shares<'a>(plan: &Plan, arenas: &'a mut Arenas<f32>) -> Vec<Share<'a>> {
    let size = |arena| 4 * plan.sizes.of(arena);
    let [params, optimizer, grads, activations, data] = &mut arenas.scalars;
    let data: &[f32] = data;
    let trained = params.chunks_mut(size(Arena::Params)).zip(optimizer.chunks_mut(size(Arena::Optimizer)));
    let computed = grads.chunks_mut(size(Arena::Grads)).zip(activations.chunks_mut(size(Arena::Activations)));
    let models = trained.zip(computed).zip(&mut arenas.state).enumerate();
    let share = |(model, (((params, optimizer), (grads, activations)), state))| {
        let data = &data[Arenas::<f32>::base(plan, Arena::Data, model)..];
        Share { params, optimizer, grads, activations, data, state }
    };
    models.map(share).collect()
}
