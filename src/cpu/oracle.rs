//! Every op in plain Rust, generic over f32 and f64: the oracle of the kernels. Simple before fast.

use super::dropout_key;
use crate::arenas::Arenas;
use crate::plan::{Arena, OpKind, Plan, Source, activation_of, w0_of};
use crate::real::{Real, lit};
use crate::rng::Key;
use crate::spec::{Constants, clip_value};

/// A matrix inside an arena: the scalar index of its first number and the scalars of a row.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    first: usize,
    stride: usize,
}

impl Matrix {
    pub(super) fn at(self, row: usize, column: usize) -> usize {
        self.first + row * self.stride + column
    }
}

/// One model's view of the arenas.
pub(super) struct Oracle<'a, T> {
    pub(super) plan: &'a Plan,
    pub(super) arenas: &'a mut Arenas<T>,
    pub(super) model: usize,
    /// Constant rows of the step table.
    pub(super) constants: Constants<T>,
    /// The step's row of the table.
    pub(super) row: [T; 4],
}

impl<T: Real> Oracle<'_, T> {
    /// Runs one op. The loss is returned by the op that computes it.
    pub(super) fn run(&mut self, op: OpKind) -> Option<T> {
        match op {
            OpKind::Sample => self.sample(),
            OpKind::Encode => self.encode(),
            OpKind::DenseForward { layer } => self.dense_forward(layer),
            OpKind::LayerNormForward { layer } => self.layer_norm_forward(layer),
            OpKind::Loss => return Some(self.loss()),
            OpKind::DenseBackward { layer } => self.dense_backward(layer),
            OpKind::LayerNormBackward { layer } => self.layer_norm_backward(layer),
            OpKind::DenseUpdate => self.dense_update(),
            OpKind::LayerNormUpdate => self.layer_norm_update(),
            OpKind::EmbeddingUpdate => self.embedding_update(),
            OpKind::NormParts => self.norm_parts(),
            OpKind::Norm => self.norm(),
            OpKind::Update => self.update(),
            OpKind::Answer => self.answer(),
            OpKind::Advance => self.arenas.state[self.model] = self.plan.step.advanced(self.arenas.state[self.model]),
        }
        None
    }

    pub(super) fn matrix(&self, arena: Arena, offset: usize, columns: usize) -> Matrix {
        let first = Arenas::<T>::base(self.plan, arena, self.model) + 4 * offset;
        Matrix { first, stride: 4 * columns.div_ceil(4) }
    }

    pub(super) fn activations(&mut self) -> &mut [T] {
        &mut self.arenas.scalars[Arena::Activations as usize]
    }

    pub(super) fn params(&self) -> &[T] {
        &self.arenas.scalars[Arena::Params as usize]
    }

    /// `x` and `y` as matrices.
    pub(super) fn batch(&self) -> (Matrix, Matrix) {
        let model = &self.plan.step.model;
        let y = self.plan.tensor("y").map_or(0, |t| t.offset);
        let x = self.matrix(Arena::Activations, self.plan.tensor("x").map_or(0, |t| t.offset), model.inputs());
        (x, self.matrix(Arena::Activations, y, self.plan.step.target_columns()))
    }

    fn sample(&mut self) {
        let (x, y) = self.batch();
        // The padding of the batch is part of the contract between the ops.
        for m in [x, y] {
            let rows = self.plan.rows();
            self.activations()[m.first..m.first + rows * m.stride].fill(T::zero());
        }
        match self.plan.step.source {
            Source::Linreg => self.sample_linreg(self.plan.step.step_key(self.arenas.state[self.model]), x, y),
            Source::Table { .. } | Source::Sequence { .. } => self.sample_table(x, y),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "an index of a batch fits 32 bits by the limits of the plan")]
    fn sample_linreg(&mut self, sub: Key, x: Matrix, y: Matrix) {
        let (inputs, outputs) = (self.plan.step.model.inputs(), self.plan.step.model.outputs());
        let offset = |name| self.plan.tensor(name).map_or(0, |t| t.offset);
        let weights = self.matrix(Arena::Data, offset("true_weights"), outputs);
        let bias = self.matrix(Arena::Data, offset("true_bias"), outputs);
        let normal = |index: usize| lit::<T>(f64::from(sub.normal(index as u32)));
        for b in 0..self.plan.step.batch_size {
            for i in 0..inputs {
                self.activations()[x.at(b, i)] = normal(b * inputs + i);
            }
            for o in 0..outputs {
                let data = &self.arenas.scalars[Arena::Data as usize];
                let xs = &self.arenas.scalars[Arena::Activations as usize];
                let product = (0..inputs).fold(T::zero(), |sum, i| sum + xs[x.at(b, i)] * data[weights.at(i, o)]);
                let value = product + data[bias.at(0, o)] + lit::<T>(0.1) * normal(b * outputs + o);
                self.activations()[y.at(b, o)] = value;
            }
        }
    }

    fn sample_table(&mut self, x: Matrix, y: Matrix) {
        let (step, state) = (&self.plan.step, self.arenas.state[self.model]);
        for (b, row) in step.table_rows(state).enumerate() {
            for (to, name) in [(x, "features"), (y, "targets")] {
                let Some(tensor) = self.plan.tensor(name) else { continue };
                let from = self.matrix(Arena::Data, tensor.offset, tensor.columns);
                for c in 0..tensor.columns {
                    let value = self.arenas.scalars[Arena::Data as usize][from.at(row, c)];
                    self.activations()[to.at(b, c)] = value;
                }
            }
        }
    }

    fn dense_forward(&mut self, layer: usize) {
        let l = self.plan.layers[layer];
        let x = self.matrix(Arena::Activations, l.input, l.inputs);
        let kernel = self.matrix(Arena::Params, l.kernel, l.outputs);
        let bias = self.matrix(Arena::Params, l.bias, l.outputs);
        let h = self.matrix(Arena::Activations, l.output, l.outputs);
        let linear = layer + 1 == self.plan.layers.len() || l.norm.is_some();
        for b in 0..self.plan.step.batch_size {
            for o in 0..l.outputs {
                let (params, activations) = (self.params(), &self.arenas.scalars[Arena::Activations as usize]);
                let product = |i| activations[x.at(b, i)] * params[kernel.at(i, o)];
                let z = (0..l.inputs).map(product).fold(params[bias.at(0, o)], T::add);
                if linear {
                    self.activations()[h.at(b, o)] = z;
                } else {
                    self.store_activation(layer, b, o, z);
                }
            }
        }
    }

    /// Stores the activation of `z` and its slope.
    pub(super) fn store_activation(&mut self, layer: usize, b: usize, o: usize, z: T) {
        let l = self.plan.layers[layer];
        let [h, slope] = [l.output, l.slope()].map(|at| self.matrix(Arena::Activations, at, l.outputs));
        let x = self.matrix(Arena::Activations, l.input, l.inputs);
        let w0 = lit(w0_of(&self.plan.step, layer));
        let (value, derivative) = activation_of(&self.plan.step, layer).evaluate_scaled(w0, z);
        let factor = self.dropout(layer, b * l.outputs + o);
        let skipped = if l.skip > 0 { self.activations()[x.at(b, o)] } else { T::zero() };
        self.activations()[h.at(b, o)] = value * factor + skipped;
        self.activations()[slope.at(b, o)] = derivative * factor;
    }

    /// What unit `index` of a hidden layer's `(batch, outputs)` is multiplied with in this step.
    #[expect(clippy::cast_possible_truncation, reason = "an index of a batch fits 32 bits by the limits of the plan")]
    fn dropout(&self, layer: usize, index: usize) -> T {
        let options = &self.plan.step.model.options;
        let kept = || {
            dropout_key(&self.plan.step, self.arenas.state[self.model], layer).uniform(index as u32) < options.keep()
        };
        if options.dropout == 0.0 {
            T::one()
        } else if kept() {
            lit::<T>(1.0) / lit(f64::from(options.keep()))
        } else {
            T::zero()
        }
    }

    /// The numbers of a row of a matrix in the activations.
    fn row(&self, m: Matrix, row: usize, columns: usize) -> Vec<T> {
        self.arenas.scalars[Arena::Activations as usize][m.at(row, 0)..m.at(row, columns)].to_vec()
    }

    fn loss(&mut self) -> T {
        let (plan, step) = (self.plan, &self.plan.step);
        let l = plan.layers[plan.layers.len() - 1];
        let (_, y) = self.batch();
        let h = self.matrix(Arena::Activations, l.output, l.outputs);
        let delta = self.matrix(Arena::Activations, l.delta, l.outputs);
        let rows = step.batch_rows(self.arenas.state[self.model]);
        let count = T::from(rows * step.loss.terms(l.outputs)).unwrap_or_else(T::one);
        let mut sum = T::zero();
        for b in 0..plan.rows() {
            let mut slopes = vec![T::zero(); l.outputs];
            if b < rows {
                let (outputs, target) = (self.row(h, b, l.outputs), self.row(y, b, step.target_columns()));
                let weight = if step.weighted { target[target.len() - 1] } else { T::one() };
                sum = sum + weight * step.loss.row(&outputs, &target, lit(step.label_smoothing), &mut slopes);
                slopes.iter_mut().for_each(|slope| *slope = *slope * weight / count);
            }
            self.activations()[delta.at(b, 0)..delta.at(b, l.outputs)].copy_from_slice(&slopes);
        }
        let mean = sum / count;
        let state = &mut self.arenas.state[self.model];
        if !mean.is_finite() && state[3] == 0 {
            state[3] = state[0] + 1;
        }
        mean
    }

    fn answer(&mut self) {
        let step = &self.plan.step;
        let l = self.plan.layers[self.plan.layers.len() - 1];
        let Some(answers) = self.plan.tensor("answers") else { return };
        let (_, y) = self.batch();
        let h = self.matrix(Arena::Activations, l.output, l.outputs);
        let to = self.matrix(Arena::Grads, answers.offset, answers.columns);
        let state = self.arenas.state[self.model];
        for (b, row) in step.table_rows(state).enumerate() {
            let answer = step.answer(&self.row(h, b, l.outputs), &self.row(y, b, step.target_columns()));
            let first = to.at(row, 0);
            self.arenas.scalars[Arena::Grads as usize][first..first + answer.len()].copy_from_slice(&answer);
        }
    }

    fn dense_backward(&mut self, layer: usize) {
        let (l, before) = (self.plan.layers[layer], self.plan.before(layer));
        let delta = self.matrix(Arena::Activations, l.delta, l.outputs);
        let kernel = self.matrix(Arena::Params, l.kernel, l.outputs);
        let target = self.matrix(Arena::Activations, before.slope, l.inputs);
        let skip = self.matrix(Arena::Activations, l.skip, l.inputs);
        let skip_before = self.matrix(Arena::Activations, before.skip, l.inputs);
        for b in 0..self.plan.step.batch_size {
            for i in 0..l.inputs {
                let (params, activations) = (self.params(), &self.arenas.scalars[Arena::Activations as usize]);
                let product = |o| activations[delta.at(b, o)] * params[kernel.at(i, o)];
                let skipped = if l.skip > 0 { activations[skip.at(b, i)] } else { T::zero() };
                let derivative = (0..l.outputs).map(product).fold(skipped, T::add);
                if before.skip > 0 {
                    self.activations()[skip_before.at(b, i)] = derivative;
                }
                let slope = &mut self.activations()[target.at(b, i)];
                *slope = *slope * derivative;
            }
        }
    }

    fn dense_update(&mut self) {
        for layer in 0..self.plan.layers.len() {
            let l = self.plan.layers[layer];
            let x = self.matrix(Arena::Activations, l.input, l.inputs);
            let delta = self.matrix(Arena::Activations, l.delta, l.outputs);
            let kernel = Matrix { first: 4 * l.kernel, stride: 4 * l.output_vectors() };
            let batch = self.plan.step.batch_size;
            for o in 0..l.outputs {
                for i in 0..l.inputs {
                    let activations = &self.arenas.scalars[Arena::Activations as usize];
                    let product = |b| activations[x.at(b, i)] * activations[delta.at(b, o)];
                    let g = (0..batch).map(product).fold(T::zero(), T::add);
                    self.use_gradient(kernel.at(i, o), g, false);
                }
                let activations = &self.arenas.scalars[Arena::Activations as usize];
                let g = (0..batch).map(|b| activations[delta.at(b, o)]).fold(T::zero(), T::add);
                self.use_gradient(4 * l.bias + o, g, true);
            }
        }
    }

    /// Updates parameter `index` of the model's share with its gradient, or stores that.
    pub(super) fn use_gradient(&mut self, index: usize, g: T, is_bias: bool) {
        if !self.plan.step.is_fused() {
            return self.store_gradient(index, g);
        }
        self.update_parameter(index, clip_value(g, self.constants[2][0]), is_bias);
        if self.plan.step.keep_gradients {
            let at = Arenas::<T>::base(self.plan, Arena::Grads, self.model) + index;
            self.arenas.scalars[Arena::Grads as usize][at] = g;
        }
    }

    /// Applies the gradient `g` to parameter `index` of the model's share.
    pub(super) fn update_parameter(&mut self, index: usize, g: T, is_bias: bool) {
        let plan = self.plan;
        let constants = plan.step.constants_of(self.constants, is_bias);
        let slots = plan.step.optimizer.state_names().len();
        let at = Arenas::<T>::base(plan, Arena::Params, self.model) + index;
        let slot = |s: usize| {
            Arenas::<T>::base(plan, Arena::Optimizer, self.model) + 4 * s * plan.sizes.of(Arena::Params) + index
        };
        let mut state = [T::zero(); 2];
        for (s, value) in state.iter_mut().enumerate().take(slots) {
            *value = self.arenas.scalars[Arena::Optimizer as usize][slot(s)];
        }
        let p = &mut self.arenas.scalars[Arena::Params as usize][at];
        plan.step.optimizer.update(&constants, &self.row, g, p, &mut state);
        for (s, &value) in state.iter().enumerate().take(slots) {
            self.arenas.scalars[Arena::Optimizer as usize][slot(s)] = value;
        }
    }
}
