//! The arenas cut by model, so that models can be trained beside each other.

use crate::arenas::{Arenas, shared_by_models};
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
    let mut params = params.chunks_mut(size(Arena::Params));
    let mut optimizer = optimizer.chunks_mut(size(Arena::Optimizer));
    let mut grads = grads.chunks_mut(size(Arena::Grads));
    let mut activations = activations.chunks_mut(size(Arena::Activations));
    let data: &[f32] = data;
    let data_of = |model: usize| match shared_by_models(plan, Arena::Data) {
        true => data,
        false => &data[size(Arena::Data) * model..][..size(Arena::Data)],
    };
    let models = arenas.state.iter_mut().enumerate();
    let share = |(model, state)| {
        Some(Share {
            params: params.next()?,
            optimizer: optimizer.next()?,
            grads: grads.next()?,
            activations: activations.next()?,
            data: data_of(model),
            state,
        })
    };
    models.map_while(share).collect()
}
