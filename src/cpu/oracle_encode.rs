//! The oracle of the encoding of the inputs, and of embeddings.

use super::encode::{encode_row, waves};
use super::oracle::Oracle;
use crate::arenas::Arenas;
use crate::plan::Arena;
use crate::real::Real;
use crate::spec::FREQUENCIES;

impl<T: Real> Oracle<'_, T> {
    pub(super) fn encode(&mut self) {
        let (plan, (x, _)) = (self.plan, self.batch());
        let l = plan.layers[0];
        let encoded = self.matrix(Arena::Activations, l.input, l.inputs);
        let slope = self.matrix(Arena::Activations, plan.before(0).slope, l.inputs);
        let frequencies = self.arenas.get(plan, self.model, FREQUENCIES);
        let [params, _, _, activations, _] = &mut self.arenas.scalars;
        let params = &params[Arenas::<T>::base(plan, Arena::Params, self.model)..];
        for b in 0..plan.step.batch_size {
            let row = activations[x.at(b, 0)..][..plan.step.model.inputs()].to_vec();
            let out = &mut activations[encoded.at(b, 0)..][..l.inputs];
            encode_row(plan, params, &frequencies, &row, out, waves);
            if !plan.tables.is_empty() {
                activations[slope.at(b, 0)..][..l.inputs].fill(T::one());
            }
        }
    }

    /// Gradients of the tables of embeddings.
    pub(super) fn embedding_update(&mut self) {
        let (plan, (x, _)) = (self.plan, self.batch());
        let delta = self.matrix(Arena::Activations, plan.before(0).slope, plan.layers[0].inputs);
        for e in &plan.tables {
            for c in 0..e.of.categories {
                for k in 0..e.of.width {
                    let activations = &self.arenas.scalars[Arena::Activations as usize];
                    let has = |b: &usize| e.of.category(activations[x.at(*b, e.of.column)]) == c;
                    let rows = (0..plan.step.batch_size).filter(has);
                    let g = rows.map(|b| activations[delta.at(b, e.first + k)]).fold(T::zero(), T::add);
                    self.use_gradient(4 * (e.table + c * e.row_vectors()) + k, g, false);
                }
            }
        }
    }
}
