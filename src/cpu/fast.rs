//! The `cpu` executor for training: the oracle's ops in f32, on the loops of `products` and `vector`.

use super::products::{View, multiply, multiply_column, multiply_thin, sum_of_columns, sum_of_rows};
use super::share::Share;
use super::vector::{activate, add, clip_values, dropout_factors, multiply_by, multiply_by_number, normals, update};
use super::{dropout_key, input, norm};
use crate::plan::{Arena, DenseLayer, OpKind, Plan, Source, State, activation_of, w0_of};
use crate::real::lit;
use crate::rng::Key;
use crate::spec::Constants;

/// Inputs of a layer whose gradient is no work for a GEMM.
const THIN: usize = 4;

/// The constant rows of the step table, and that of the step.
pub(super) type Rows = (Constants<f32>, [f32; 4]);

/// Runs the ops of one model. Scratch is kept between steps.
#[derive(Debug, Clone)]
pub(super) struct Fast {
    /// Gradients of a layer, or a product of the backward pass; then the two slots of state that an optimizer may lack.
    pub(super) scratch: [Vec<f32>; 3],
}

impl Fast {
    pub(super) fn new(plan: &Plan) -> Self {
        let of_layer = |l: &DenseLayer| {
            let kernel = (l.inputs.next_multiple_of(4) + 1) * 4 * l.output_vectors();
            kernel.max(plan.rows() * 4 * l.input_vectors().max(l.output_vectors())).max(8 * l.output_vectors())
        };
        let most = plan.layers.iter().map(of_layer).chain(plan.tables.iter().map(|e| 4 * e.vectors()));
        let most = most.max().unwrap_or(0);
        Self { scratch: [0, 1, 2].map(|_| vec![0.0; most]) }
    }

    /// Runs one op of a model; the loss is returned by the op that computes it.
    pub(super) fn run(&mut self, op: OpKind, plan: &Plan, share: &mut Share<'_>, rows: &Rows) -> Option<f32> {
        match op {
            OpKind::Sample => sample(plan, share),
            OpKind::Encode => input::encode(plan, share),
            OpKind::DenseForward { layer } => dense_forward(plan, share, layer, &mut self.scratch[0]),
            OpKind::LayerNormForward { layer } => norm::forward(plan, share, layer, &mut self.scratch[0]),
            OpKind::Loss => return Some(loss(plan, share)),
            OpKind::DenseBackward { layer } => self.dense_backward(plan, share, layer),
            OpKind::DenseUpdate => (0..plan.layers.len()).for_each(|l| self.dense_update(plan, share, l, rows)),
            OpKind::LayerNormBackward { layer } => norm::backward(plan, share, layer),
            OpKind::LayerNormUpdate => self.layer_norm_update(plan, share, rows),
            OpKind::EmbeddingUpdate => self.embedding_update(plan, share, rows),
            OpKind::NormParts => self.norm_parts(plan, share, rows),
            OpKind::Norm => Self::norm(plan, share),
            OpKind::Update => self.update(plan, share, rows),
            OpKind::Answer => answer(plan, share),
            OpKind::Advance => *share.state = plan.step.advanced(*share.state),
        }
        None
    }

    fn dense_backward(&mut self, plan: &Plan, share: &mut Share<'_>, layer: usize) {
        let (l, before) = (plan.layers[layer], plan.before(layer));
        let (rows, width) = (plan.step.batch_size, 4 * l.input_vectors());
        let kernel = &share.params[4 * l.kernel..];
        let (low, delta) = share.activations.split_at_mut(4 * l.delta);
        let stride = 4 * l.output_vectors();
        let derivative = &mut self.scratch[0];
        let (a, b) = (View::new(delta, stride), View::new(kernel, stride).transposed());
        multiply((rows, l.outputs, width), a, b, 0.0, derivative, width);
        let derivative = &mut derivative[..rows * width];
        if l.skip > 0 {
            add(derivative, &delta[4 * (l.skip - l.delta)..]);
        }
        if before.skip > 0 {
            low[4 * before.skip..][..rows * width].copy_from_slice(derivative);
        }
        multiply_by(&mut low[4 * before.slope..][..rows * width], derivative);
    }

    fn dense_update(&mut self, plan: &Plan, share: &mut Share<'_>, layer: usize, rows: &Rows) {
        let l = plan.layers[layer];
        let (batch, stride) = (plan.step.batch_size, 4 * l.output_vectors());
        let kernel_len = l.inputs * stride;
        let (x, delta) = (&share.activations[4 * l.input..], &share.activations[4 * l.delta..]);
        let [g, sums, _] = &mut self.scratch;
        let x_stride = 4 * l.input_vectors();
        if l.outputs == 1 {
            let sums = &mut sums[..l.inputs];
            sum_of_rows(x, x_stride, delta, stride, batch, sums);
            g[..kernel_len].fill(0.0);
            g.iter_mut().step_by(stride).zip(sums).for_each(|(to, from)| *to = *from);
        } else if l.inputs <= THIN {
            multiply_thin((l.inputs, batch), x, x_stride, delta, &mut g[..kernel_len], stride);
        } else {
            let xt = View::new(x, x_stride).transposed();
            multiply((l.inputs, batch, stride), xt, View::new(delta, stride), 0.0, g, stride);
        }
        let bias = &mut g[kernel_len..kernel_len + stride];
        sum_of_columns(delta, batch, bias);
        self.use_gradients(
            plan,
            share,
            rows,
            [(4 * l.kernel, 0, kernel_len, false), (4 * l.bias, kernel_len, stride, true)],
        );
    }

    /// Gradients of scale and bias of each normalization.
    fn layer_norm_update(&mut self, plan: &Plan, share: &mut Share<'_>, rows: &Rows) {
        for l in &plan.layers {
            let Some(n) = l.norm else { continue };
            let stride = 4 * l.output_vectors();
            norm::gradients(plan, share, l, &mut self.scratch[0][..2 * stride]);
            let ranges = [(4 * n.scale, 0, stride, true), (4 * n.bias, stride, stride, true)];
            self.use_gradients(plan, share, rows, ranges);
        }
    }

    /// Gradients of the tables of embeddings.
    fn embedding_update(&mut self, plan: &Plan, share: &mut Share<'_>, rows: &Rows) {
        for e in &plan.tables {
            let len = 4 * e.vectors();
            input::table_gradient(plan, share, e, &mut self.scratch[0][..len]);
            self.use_gradients(plan, share, rows, [(4 * e.table, 0, len, false)]);
        }
    }

    /// Updates tensors with their gradients, or stores those: the first scalar of each, that of its gradient in the
    /// scratch, its length, and whether it is spared as a bias.
    fn use_gradients<const N: usize>(
        &mut self,
        plan: &Plan,
        share: &mut Share<'_>,
        rows: &Rows,
        ranges: [(usize, usize, usize, bool); N],
    ) {
        for (at, from, len, is_bias) in ranges {
            let g = &mut self.scratch[0][from..from + len];
            if !plan.step.is_fused() || plan.step.keep_gradients {
                Self::store_gradients(plan, share, at, g);
            }
            if plan.step.is_fused() {
                if plan.step.clip_value {
                    clip_values(g, rows.0[2][0]);
                }
                let rows = (plan.step.constants_of(rows.0, is_bias), rows.1);
                update_slice(plan, share, &mut self.scratch, (at, from, len), &rows);
            }
        }
    }
}

/// Updates `len` parameters from scalar `at` of the model's share on; their gradients are in the first scratch, from `from`.
pub(super) fn update_slice(
    plan: &Plan,
    share: &mut Share<'_>,
    scratch: &mut [Vec<f32>; 3],
    (at, from, len): (usize, usize, usize),
    rows: &Rows,
) {
    let [g, unused_mu, unused_nu] = scratch;
    let slot = 4 * plan.sizes.of(Arena::Params);
    let slots = plan.step.optimizer.state_names().len();
    let (mu, nu) = share.optimizer.split_at_mut(slot.min(share.optimizer.len()));
    let p = &mut share.params[at..][..len];
    let mu = if slots > 0 { &mut mu[at..] } else { &mut unused_mu[..] };
    let nu = if slots > 1 { &mut nu[at..] } else { &mut unused_nu[..] };
    update(plan.step.optimizer, rows, p, &g[from..], mu, nu);
}

fn dense_forward(plan: &Plan, share: &mut Share<'_>, layer: usize, scratch: &mut [f32]) {
    let l = plan.layers[layer];
    let (rows, stride) = (plan.step.batch_size, 4 * l.output_vectors());
    let (kernel, bias) = (&share.params[4 * l.kernel..], &share.params[4 * l.bias..][..stride]);
    let (low, high) = share.activations.split_at_mut(4 * l.output);
    let (z, slope) = high.split_at_mut(4 * (l.delta - l.output));
    for row in z.chunks_exact_mut(stride).take(rows) {
        row.copy_from_slice(bias);
    }
    let (x, x_stride) = (&low[4 * l.input..], 4 * l.input_vectors());
    if l.outputs == 1 {
        let column = &mut scratch[..l.inputs];
        column.iter_mut().zip(kernel.iter().step_by(stride)).for_each(|(to, from)| *to = *from);
        multiply_column(&x[..rows * x_stride], x_stride, column, z, stride);
    } else {
        multiply((rows, l.inputs, stride), View::new(x, x_stride), View::new(kernel, stride), 1.0, z, stride);
    }
    if layer + 1 == plan.layers.len() || l.norm.is_some() {
        return;
    }
    let (h, slope) = (&mut z[..rows * stride], &mut slope[..rows * stride]);
    let skipped = (l.skip > 0).then(|| &low[4 * l.input..]);
    finish_layer(plan, *share.state, layer, (h, slope, skipped), scratch);
}

/// From the pre-activations of a layer in `h` to its output: activation, dropout, and what is skipped.
pub(super) fn finish_layer(
    plan: &Plan,
    state: State,
    layer: usize,
    (h, slope, skipped): (&mut [f32], &mut [f32], Option<&[f32]>),
    scratch: &mut [f32],
) {
    let l = plan.layers[layer];
    let (rows, stride) = (plan.step.batch_size, 4 * l.output_vectors());
    let w0 = lit(w0_of(&plan.step, layer));
    if w0 != 1.0 {
        multiply_by_number(h, w0);
    }
    activate(activation_of(&plan.step, layer), h, slope);
    if w0 != 1.0 {
        multiply_by_number(slope, w0);
    }
    if plan.step.model.options.dropout > 0.0 {
        let factors = &mut scratch[..rows * l.outputs];
        dropout_factors(dropout_key(&plan.step, state, layer), plan.step.model.options.keep(), factors);
        for (b, factors) in factors.chunks_exact(l.outputs).enumerate() {
            multiply_by(&mut h[b * stride..][..l.outputs], factors);
            multiply_by(&mut slope[b * stride..][..l.outputs], factors);
        }
    }
    if l.outputs < stride {
        // Columns of the padding stay zero.
        for row in h.chunks_exact_mut(stride) {
            row[l.outputs..].fill(0.0);
        }
    }
    if let Some(skipped) = skipped {
        add(h, skipped);
    }
}

fn loss(plan: &Plan, share: &mut Share<'_>) -> f32 {
    let (step, l) = (&plan.step, plan.layers[plan.layers.len() - 1]);
    let stride = 4 * l.output_vectors();
    let (y, y_stride) = place(plan, "y");
    let (low, delta) = share.activations.split_at_mut(4 * l.delta);
    let (expected, predicted) = (low[y..].chunks_exact(y_stride), low[4 * l.output..].chunks_exact(stride));
    let state = &mut *share.state;
    let used = step.batch_rows(*state);
    #[expect(clippy::cast_precision_loss, reason = "a count of losses below 2^24 is exact, above it rounds once")]
    let count = (used * step.loss.terms(l.outputs)) as f32;
    let smoothing = lit(step.label_smoothing);
    let mut sum = 0.0;
    let rows = predicted.zip(expected).zip(delta.chunks_exact_mut(stride)).take(step.batch_size);
    for (b, ((predicted, expected), delta)) in rows.enumerate() {
        let (delta, padding) = delta.split_at_mut(l.outputs);
        padding.fill(0.0);
        if b >= used {
            delta.fill(0.0);
            continue;
        }
        let weight = if step.weighted { expected[step.target_columns() - 1] } else { 1.0 };
        sum += weight * step.loss.row(&predicted[..l.outputs], expected, smoothing, delta);
        delta.iter_mut().for_each(|slope| *slope = *slope * weight / count);
    }
    let mean = sum / count;
    if !mean.is_finite() && state[3] == 0 {
        state[3] = state[0].wrapping_add(1);
    }
    mean
}

fn answer(plan: &Plan, share: &mut Share<'_>) {
    let (step, l) = (&plan.step, plan.layers[plan.layers.len() - 1]);
    let Some(answers) = plan.tensor("answers") else { return };
    let ((y, y_stride), h_stride) = (place(plan, "y"), 4 * l.output_vectors());
    let Share { grads, activations, state, .. } = share;
    for (b, row) in step.table_rows(**state).enumerate() {
        let outputs = &activations[4 * l.output + b * h_stride..][..l.outputs];
        let answer = step.answer(outputs, &activations[y + b * y_stride..]);
        let first = 4 * (answers.offset + row * answers.stride);
        grads[first..first + answer.len()].copy_from_slice(&answer);
    }
}

fn sample(plan: &Plan, share: &mut Share<'_>) {
    match plan.step.source {
        Source::Linreg => sample_linreg(plan, share, plan.step.step_key(*share.state)),
        Source::Table { .. } | Source::Sequence { .. } => sample_table(plan, share),
    }
}

/// Offset and row stride, in scalars, of a tensor of the plan.
pub(super) fn place(plan: &Plan, name: &str) -> (usize, usize) {
    plan.tensor(name).map_or((0, 4), |t| (4 * t.offset, 4 * t.stride))
}

fn sample_linreg(plan: &Plan, share: &mut Share<'_>, sub: Key) {
    let (inputs, outputs, batch) = (plan.step.model.inputs(), plan.step.model.outputs(), plan.step.batch_size);
    let Share { activations, data, .. } = share;
    let ((x, x_stride), (y, y_stride)) = (place(plan, "x"), place(plan, "y"));
    let (low, high) = activations.split_at_mut(y);
    // Both arrays come from one key, so they share their numbers, as in the program that this task reproduces.
    let mut drawn = vec![0.0; batch * inputs.max(outputs)];
    normals(sub, 0, &mut drawn);
    let (weights, bias) = (&data[place(plan, "true_weights").0..], &data[place(plan, "true_bias").0..]);
    for b in 0..batch {
        let row = &mut low[x + b * x_stride..][..inputs];
        row.copy_from_slice(&drawn[b * inputs..][..inputs]);
        for o in 0..outputs {
            let product: f32 = row.iter().enumerate().map(|(i, x)| x * weights[i * y_stride + o]).sum();
            high[b * y_stride + o] = product + bias[o] + 0.1 * drawn[b * outputs + o];
        }
    }
}

fn sample_table(plan: &Plan, share: &mut Share<'_>) {
    let step = &plan.step;
    let Share { activations, data, state, .. } = share;
    let places = [("x", "features"), ("y", "targets")].map(|(to, from)| (place(plan, to), place(plan, from).0));
    // A row that the batch lacks is that of the padding.
    let rows = step.table_rows(**state).map(Some).chain(std::iter::repeat(None));
    for (b, row) in rows.take(step.batch_size).enumerate() {
        for ((to, stride), from) in places {
            let to = &mut activations[to + b * stride..][..stride];
            match row {
                Some(row) => to.copy_from_slice(&data[from + row * stride..][..stride]),
                None => to.fill(0.0),
            }
        }
    }
}
