//! The ops between the gradients and the parameters where the update is not fused: the global norm, and the update from
//! the mean of several gradients. For the oracle, and for the cpu executor with its vectors.

use super::fast::{Fast, Rows, update_slice};
use super::oracle::Oracle;
use super::share::Share;
use super::vector::{mean_gradients, multiply_by_number, sum_of_squares};
use crate::arenas::Arenas;
use crate::plan::{Arena, Parameter, Plan};
use crate::real::{Real, lit};
use crate::spec::{clip_value, norm_factor};

/// Where the parts of the norm and the norm itself are, in scalars of a model's share of the gradients' arena.
fn norm_places(plan: &Plan) -> (usize, usize) {
    let first = |name| plan.tensor(name).map_or(0, |t| 4 * t.offset);
    (first("norm_parts"), first("norm"))
}

impl<T: Real> Oracle<'_, T> {
    /// Stores the gradient of parameter `index` of the model's share, or adds it to those of the micro-batches before.
    pub(super) fn store_gradient(&mut self, index: usize, g: T) {
        let first = self.plan.step.is_first(self.arenas.state[self.model]);
        let stored = &mut self.grads()[index];
        *stored = if first { g } else { *stored + g };
    }

    /// The model's share of the gradients' arena.
    fn grads(&mut self) -> &mut [T] {
        &mut self.arenas.scalars[Arena::Grads as usize][Arenas::<T>::base(self.plan, Arena::Grads, self.model)..]
    }

    fn mean_gradient(&mut self, index: usize) -> T {
        let mean = self.grads()[index] / lit(self.plan.step.micro_batches());
        clip_value(mean, self.constants[2][0])
    }

    /// Indices of the parameters of each tensor in the model's share, and the tensor as the ops walk it.
    fn parameters(&self) -> Vec<(Parameter, Vec<usize>)> {
        let tensors = self.plan.tensors.iter().filter(|t| t.arena == Arena::Params);
        let indices = tensors.map(|t| (t.offset, t.indices().collect::<Vec<_>>()));
        let of = |offset| self.plan.parameters().into_iter().find(|p| p.offset == offset);
        indices.filter_map(|(offset, indices)| Some((of(offset)?, indices))).collect()
    }

    pub(super) fn norm_parts(&mut self) {
        let (parts, _) = norm_places(self.plan);
        let mut sums = vec![T::zero(); self.plan.parameter_tiles()];
        if self.plan.step.is_due(self.arenas.state[self.model]) {
            for (p, indices) in self.parameters() {
                for index in indices {
                    let g = self.mean_gradient(index);
                    let tile = p.first_tile + (index / 4 - p.offset) / self.plan.step.parameter_tile();
                    sums[tile] = sums[tile] + g * g;
                }
            }
        }
        let grads = self.grads();
        sums.into_iter().enumerate().for_each(|(tile, sum)| grads[parts + 4 * tile] = sum);
    }

    pub(super) fn norm(&mut self) {
        let (parts, norm) = norm_places(self.plan);
        let tiles = self.plan.parameter_tiles();
        let grads = self.grads();
        let sum = (0..tiles).fold(T::zero(), |sum, tile| sum + grads[parts + 4 * tile]);
        grads[norm] = sum.sqrt();
    }

    pub(super) fn update(&mut self) {
        if !self.plan.step.is_due(self.arenas.state[self.model]) {
            return;
        }
        let (_, norm) = norm_places(self.plan);
        let norm = self.grads()[norm];
        let factor = if self.plan.step.clip_norm { norm_factor(norm, self.constants[2][1]) } else { T::one() };
        for (p, indices) in self.parameters() {
            for index in indices {
                let g = factor * self.mean_gradient(index);
                self.update_parameter(index, g, p.is_bias);
            }
        }
    }
}

impl Fast {
    /// Stores the gradients of a tensor at scalar `at` of the model's share, or adds them to those before.
    pub(super) fn store_gradients(plan: &Plan, share: &mut Share<'_>, at: usize, g: &[f32]) {
        let first = plan.step.is_first(*share.state);
        let stored = &mut share.grads[at..][..g.len()];
        if first {
            stored.copy_from_slice(g);
        } else {
            stored.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
        }
    }

    /// The mean gradients of a tensor.
    fn means(&mut self, plan: &Plan, share: &Share<'_>, p: Parameter, rows: &Rows) -> &mut [f32] {
        let stored = &share.grads[4 * p.offset..][..4 * p.vectors];
        let means = &mut self.scratch[0][..4 * p.vectors];
        mean_gradients(stored, lit(plan.step.micro_batches()), rows.0[2][0], means);
        means
    }

    pub(super) fn norm_parts(&mut self, plan: &Plan, share: &mut Share<'_>, rows: &Rows) {
        let (parts, _) = norm_places(plan);
        let due = plan.step.is_due(*share.state);
        for p in plan.parameters() {
            let means = self.means(plan, share, p, rows);
            for (tile, means) in means.chunks(4 * plan.step.parameter_tile()).enumerate() {
                let sum = if due { sum_of_squares(means) } else { 0.0 };
                share.grads[parts + 4 * (p.first_tile + tile)] = sum;
            }
        }
    }

    pub(super) fn norm(plan: &Plan, share: &mut Share<'_>) {
        let (parts, norm) = norm_places(plan);
        let sum: f32 = (0..plan.parameter_tiles()).map(|tile| share.grads[parts + 4 * tile]).sum();
        share.grads[norm] = sum.sqrt();
    }

    pub(super) fn update(&mut self, plan: &Plan, share: &mut Share<'_>, rows: &Rows) {
        if !plan.step.is_due(*share.state) {
            return;
        }
        let (_, norm) = norm_places(plan);
        let norm = share.grads[norm];
        let factor = if plan.step.clip_norm { norm_factor(norm, rows.0[2][1]) } else { 1.0 };
        for p in plan.parameters() {
            let means = self.means(plan, share, p, rows);
            multiply_by_number(means, factor);
            let rows = (plan.step.constants_of(rows.0, p.is_bias), rows.1);
            update_slice(plan, share, &mut self.scratch, (4 * p.offset, 0, 4 * p.vectors), &rows);
        }
    }
}
