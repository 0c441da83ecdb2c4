//! What a plan is made from.

use std::fmt;

use num_traits::Float;
use serde::{Deserialize, Serialize};

use super::{ROW_ALIGNMENT, TILE_VECTORS};
use crate::real::{Real, lit};
use crate::spec::{
    Activation, Constants, Hyperparameters, Init, Loss, Model, Optimizer, Schedule, largest, softmax_cross_entropy,
};

/// Where the batches come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `x ~ N(0, 1)`, `y = x w + b + 0.1 noise`, drawn anew each step on the device.
    Linreg,
    /// Rows of a table on the device, drawn each step.
    Table {
        /// The number of rows.
        rows: usize,
    },
    /// Rows of a table on the device, one batch after another, to be answered and not to be trained on.
    Sequence {
        /// The number of rows.
        rows: usize,
    },
}

impl Source {
    /// The rows of its table, if it has one.
    pub fn table_rows(self) -> Option<usize> {
        match self {
            Self::Linreg => None,
            Self::Table { rows } | Self::Sequence { rows } => Some(rows),
        }
    }
}

/// How the rows of a batch are drawn from a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// Each epoch has every row once, in an order drawn anew; its last batch has the rows that are left.
    #[default]
    Shuffle,
    /// Each row of a batch is any row of the table.
    Replacement,
}

crate::spec::named_enum!(Sampling, "sampling", Shuffle => "shuffle", Replacement => "replacement");

/// How the inner products are computed: which folder of `shaders/` is put into the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Products {
    /// Tiles staged in workgroup memory, `side * side` lanes, 4x4 values a lane. Sides of 8 and 16 run on every adapter.
    Tiled {
        /// 8, 16 or 32.
        side: usize,
    },
    /// The same tiles with four times as much of the inner dimension in workgroup memory at a time: a quarter of the barriers.
    Deep {
        /// 8 or 16.
        side: usize,
    },
    /// Vectors broadcast across one subgroup, which is the workgroup. For adapters whose loads are dear and whose subgroup
    /// width is fixed and at least 4, that is, software adapters.
    Broadcast {
        /// The subgroup width.
        width: usize,
    },
}

impl Products {
    /// Invocations of a workgroup.
    pub fn lanes(self) -> usize {
        match self {
            Self::Tiled { side } | Self::Deep { side } => side * side,
            Self::Broadcast { width } => width,
        }
    }

    /// How much of the inner dimension a workgroup holds at a time, where it stages tiles.
    pub(crate) fn depth(self) -> Option<usize> {
        match self {
            Self::Tiled { side } => Some(side),
            Self::Deep { side } => Some(4 * side),
            Self::Broadcast { .. } => None,
        }
    }

    /// Bytes of memory that a workgroup shares: two tiles of vectors.
    pub fn workgroup_bytes(self) -> usize {
        match self {
            Self::Tiled { side } | Self::Deep { side } => 2 * 16 * side * self.depth().unwrap_or(0),
            Self::Broadcast { .. } => 0,
        }
    }

    /// Whether such kernels exist.
    pub fn is_possible(self) -> bool {
        match self {
            Self::Tiled { side } => matches!(side, 8 | 16 | 32),
            Self::Deep { side } => matches!(side, 8 | 16),
            Self::Broadcast { width } => width.is_power_of_two() && (4..=128).contains(&width),
        }
    }

    /// The folder under `shaders/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiled { .. } | Self::Deep { .. } => "tiled",
            Self::Broadcast { .. } => "broadcast",
        }
    }
}

impl fmt::Display for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tiled { side } => write!(f, "tiled {side}"),
            Self::Deep { side } => write!(f, "deep {side}"),
            Self::Broadcast { width } => write!(f, "broadcast {width}"),
        }
    }
}

/// State words of one model: finished steps, the two words of its key, and `1 +` the first step whose loss was not finite
/// (0 if there is none).
pub type State = [u32; 4];

/// Everything a plan is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainStep {
    /// The network.
    pub model: Model,
    /// The loss.
    pub loss: Loss,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// How kernels begin.
    pub init: Init,
    /// The learning rate by the number of updates; the host computes it.
    pub schedule: Schedule,
    /// Whether some model cuts its gradients to `clip_value`.
    pub clip_value: bool,
    /// Whether some model scales its gradients down to `clip_norm`.
    pub clip_norm: bool,
    /// Steps whose mean gradient makes one update (optax `MultiSteps`); 1 updates in each step.
    pub accumulate: u32,
    /// Whether weight decay takes from biases, and from scales and biases of normalizations, too.
    pub decay_bias: bool,
    /// Rows of a batch.
    pub batch_size: usize,
    /// Share of the certainty of a class that softmax cross-entropy spreads over all classes.
    pub label_smoothing: f64,
    /// Whether each row of the target ends with its weight in the loss.
    pub weighted: bool,
    /// Where batches come from.
    pub source: Source,
    /// How they are drawn from a table.
    pub sampling: Sampling,
    /// Members of the ensemble: independent models trained by the same plan. 1 for a single model.
    pub models: usize,
    /// The kernels of the inner products.
    pub products: Products,
    /// Also store the gradients, for tests. The update is fused into their computation and needs no copy.
    pub keep_gradients: bool,
    /// Unused vectors between tensors, for tests that look for stray writes.
    pub gap: usize,
}

impl TrainStep {
    /// A single model at a constant learning rate, with nothing kept for tests.
    pub fn new(model: Model, loss: Loss, optimizer: Optimizer, batch_size: usize, source: Source) -> Self {
        Self {
            model,
            loss,
            optimizer,
            init: Init::default(),
            schedule: Schedule::Constant,
            clip_value: false,
            clip_norm: false,
            accumulate: 1,
            decay_bias: true,
            batch_size,
            label_smoothing: 0.0,
            weighted: false,
            source,
            sampling: Sampling::Replacement,
            models: 1,
            products: Products::Tiled { side: 16 },
            keep_gradients: false,
            gap: 0,
        }
    }

    /// The row of the step table of a model for step `step`, counted from 0.
    pub fn row<T: Float>(&self, hyper: &Hyperparameters, step: u64) -> [T; 4] {
        hyper.at_step(&self.schedule, step / u64::from(self.accumulate))
    }

    /// The constants of a model for a kernel, or for a bias, which need not decay.
    pub(crate) fn constants_of<T: Float>(&self, mut constants: Constants<T>, is_bias: bool) -> Constants<T> {
        if is_bias && !self.decay_bias {
            constants[1][1] = T::zero();
        }
        constants
    }

    /// Whether a gradient goes into the update as soon as it is computed, because no op needs several of them.
    pub fn is_fused(&self) -> bool {
        !self.clip_norm && self.accumulate == 1
    }

    /// Whether the step after `state` begins a new mean of gradients.
    pub(crate) fn is_first(&self, state: State) -> bool {
        state[0].is_multiple_of(self.accumulate)
    }

    /// Whether the step after `state` ends with an update.
    pub(crate) fn is_due(&self, state: State) -> bool {
        state[0] % self.accumulate == self.accumulate - 1
    }

    /// The gradients of a mean.
    pub(crate) fn micro_batches(&self) -> f64 {
        f64::from(self.accumulate)
    }

    /// The name of the tensors of gradients, where there are any.
    pub fn gradient_name(&self) -> &'static str {
        if self.accumulate > 1 { "acc_grads" } else { "grads" }
    }

    /// Vectors of a tile of the ops that walk the parameters.
    pub(crate) fn parameter_tile(&self) -> usize {
        self.products.lanes() * TILE_VECTORS
    }

    /// The same network without dropout, made to answer the `rows` rows of a table, `batch_size` at a time.
    #[must_use]
    pub fn answering(&self, rows: usize, batch_size: usize) -> Self {
        let source = Source::Sequence { rows };
        let mut model = self.model.clone();
        model.options.dropout = 0.0;
        let (clip_value, clip_norm, accumulate, keep_gradients) = (false, false, 1, false);
        Self { model, batch_size, source, clip_value, clip_norm, accumulate, keep_gradients, ..self.clone() }
    }

    /// Numbers of a row of the target, its weight included.
    pub fn target_columns(&self) -> usize {
        self.loss.target_columns(self.model.outputs()) + usize::from(self.weighted)
    }

    /// What is kept of a row of outputs, given its target.
    pub(crate) fn answer<T: Real>(&self, outputs: &[T], target: &[T]) -> Vec<T> {
        if self.loss.is_elementwise() {
            return outputs.to_vec();
        }
        let class = target[0].to_usize().unwrap_or(0).min(outputs.len() - 1);
        let margin = if outputs.len() > 1 { outputs[1] - outputs[0] } else { T::zero() };
        vec![
            T::from(largest(outputs)).unwrap_or_else(T::zero),
            softmax_cross_entropy(outputs, class, T::zero()),
            softmax_cross_entropy(outputs, class, lit(self.label_smoothing)),
            margin,
        ]
    }

    /// Numbers that an answer to a row has: the outputs, or of a class its index, its cross-entropy without and with
    /// smoothing, and the margin of the second of two classes.
    pub fn answer_columns(&self) -> usize {
        if self.loss.is_elementwise() { self.model.outputs() } else { 4 }
    }
}

/// Rows of a batch with their padding.
pub(super) fn padded_rows(step: &TrainStep) -> usize {
    step.batch_size.next_multiple_of(ROW_ALIGNMENT)
}

/// What the argument of the activation after layer `layer` is multiplied by.
pub(crate) fn w0_of(step: &TrainStep, layer: usize) -> f64 {
    let last = layer + 2 == step.model.widths.len();
    if last { 1.0 } else { step.model.w0 }
}

/// The activation after layer `layer`, none after the last.
pub(crate) fn activation_of(step: &TrainStep, layer: usize) -> Activation {
    let last = layer + 2 == step.model.widths.len();
    if last { Activation::Identity } else { step.model.activation }
}
