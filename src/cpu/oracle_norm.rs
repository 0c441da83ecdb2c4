//! The oracle of layer normalization.

use super::oracle::Oracle;
use crate::plan::Arena;
use crate::real::{Real, lit};
use crate::spec::NORM_EPS;

/// The mean of some numbers.
fn mean<T: Real>(values: impl ExactSizeIterator<Item = T>) -> T {
    let count = T::from(values.len()).unwrap_or_else(T::one);
    values.fold(T::zero(), T::add) / count
}

impl<T: Real> Oracle<'_, T> {
    pub(super) fn layer_norm_forward(&mut self, layer: usize) {
        let l = self.plan.layers[layer];
        let Some(n) = l.norm else { return };
        let [h, normalized] = [l.output, n.normalized].map(|at| self.matrix(Arena::Activations, at, l.outputs));
        let inverse = self.matrix(Arena::Activations, n.inverse, 1);
        let [scale, bias] = [n.scale, n.bias].map(|at| self.matrix(Arena::Params, at, l.outputs));
        for b in 0..self.plan.step.batch_size {
            let z: Vec<T> = (0..l.outputs).map(|o| self.activations()[h.at(b, o)]).collect();
            let mean = mean(z.iter().copied());
            let variance = self::mean(z.iter().map(|&z| (z - mean) * (z - mean)));
            let factor = (variance + lit(NORM_EPS)).sqrt().recip();
            self.activations()[inverse.at(b, 0)] = factor;
            for (o, z) in z.into_iter().enumerate() {
                let n = (z - mean) * factor;
                self.activations()[normalized.at(b, o)] = n;
                let a = n * self.params()[scale.at(0, o)] + self.params()[bias.at(0, o)];
                self.store_activation(layer, b, o, a);
            }
        }
    }

    pub(super) fn layer_norm_backward(&mut self, layer: usize) {
        let l = self.plan.layers[layer];
        let Some(n) = l.norm else { return };
        let [normalized, derivative, delta] =
            [n.normalized, n.delta, l.delta].map(|at| self.matrix(Arena::Activations, at, l.outputs));
        let (inverse, scale) =
            (self.matrix(Arena::Activations, n.inverse, 1), self.matrix(Arena::Params, n.scale, l.outputs));
        for b in 0..self.plan.step.batch_size {
            let activations = &self.arenas.scalars[Arena::Activations as usize];
            let by_normalized = |o: usize| activations[derivative.at(b, o)] * self.params()[scale.at(0, o)];
            let g: Vec<T> = (0..l.outputs).map(by_normalized).collect();
            let n: Vec<T> = (0..l.outputs).map(|o| activations[normalized.at(b, o)]).collect();
            let (mean, product) = (mean(g.iter().copied()), mean(g.iter().zip(&n).map(|(&g, &n)| g * n)));
            let factor = activations[inverse.at(b, 0)];
            for (o, (g, n)) in g.into_iter().zip(n).enumerate() {
                self.activations()[delta.at(b, o)] = factor * (g - mean - n * product);
            }
        }
    }

    pub(super) fn layer_norm_update(&mut self) {
        for l in self.plan.layers.clone() {
            let Some(n) = l.norm else { continue };
            let [normalized, derivative] =
                [n.normalized, n.delta].map(|at| self.matrix(Arena::Activations, at, l.outputs));
            for o in 0..l.outputs {
                let activations = &self.arenas.scalars[Arena::Activations as usize];
                let rows = (0..self.plan.step.batch_size)
                    .map(|b| (activations[derivative.at(b, o)], activations[normalized.at(b, o)]));
                let zero = (T::zero(), T::zero());
                let (scale, bias) = rows.fold(zero, |(scale, bias), (d, n)| (scale + d * n, bias + d));
                self.use_gradient(4 * n.scale + o, scale, true);
                self.use_gradient(4 * n.bias + o, bias, true);
            }
        }
    }
}
