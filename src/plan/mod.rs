//! The train step as plain data: an ordered list of ops and the layout of the arenas. Made and compared without a device.
//!
//! Every tensor is row-major with rows of whole `vec4`s: a width of 65 takes 17 vectors. The padding is zero in
//! parameters and inputs, and every op keeps it zero, so no kernel needs a guard inside its inner loop. Invariant: what a
//! plan says (offsets, tiles, trips) is all that the kernels, the oracle and the host know about memory.

mod layout;
mod ops;
mod rows;
mod step;
mod tensors;

use std::fmt;

pub use ops::{Op, OpKind};
pub(crate) use ops::{Parameter, TILE_VECTORS, embedding_update_tiles, forward_tiles, layer_norm_update_tiles};
pub(crate) use ops::{update_flipped, update_tiles};
use step::padded_rows;
pub use step::{Products, Sampling, Source, State, TrainStep};
pub(crate) use step::{activation_of, w0_of};
pub use tensors::{Arena, ArenaSizes, DenseLayer, EmbeddingTable, NormLayer, Tensor};

use crate::error::{Error, Result};

/// A train step ready to be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What it was made from.
    pub step: TrainStep,
    /// The dense layers with their offsets.
    pub layers: Vec<DenseLayer>,
    /// The tables of embeddings with their offsets.
    pub tables: Vec<EmbeddingTable>,
    /// The ops in order; one dispatch each in `recorded`.
    pub ops: Vec<Op>,
    /// Every named tensor.
    pub tensors: Vec<Tensor>,
    /// Vectors of each arena for one model.
    pub sizes: ArenaSizes,
    /// The most vectors of a table that one binding has; a larger table is read through several.
    pub data_binding: usize,
}

/// Rows of a batch are padded to a multiple of this; the padding has zero inputs and zero gradients.
pub const ROW_ALIGNMENT: usize = 16;

/// The largest batch: its rows are counted in 32 bits and walked by one workgroup in the loss.
pub const MAX_BATCH: usize = 1 << 20;

/// Tensors in `Activations` of what a layer reads, or 0 where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Before {
    /// Its slope, which becomes its delta.
    pub(crate) slope: usize,
    /// The derivative by it that a skip hands on.
    pub(crate) skip: usize,
}

impl Plan {
    /// Lays out the arenas and lists the ops.
    ///
    /// # Errors
    /// [`Error::Usage`] when the batch is empty or too large, no step makes an update, or an arena cannot be indexed with 32 bits.
    pub fn new(step: TrainStep) -> Result<Self> {
        if step.batch_size == 0 || step.batch_size > MAX_BATCH {
            return Err(Error::Usage(format!(
                "--batch-size {} is not possible: expected 1 to {MAX_BATCH}",
                step.batch_size
            )));
        }
        if !step.products.is_possible() {
            return Err(Error::Usage(format!(
                "{} kernels are not possible: expected tiled 8, 16 or 32, deep 8 or 16, or broadcast with a power of two from 4 to 128",
                step.products
            )));
        }
        let (layers, tables, tensors, sizes) = layout::lay_out(&step);
        if step.accumulate == 0 {
            return Err(Error::Usage("--accumulate 0 is not possible: expected 1 or more".into()));
        }
        if let Some((arena, _)) = sizes.iter().find(|(_, size)| size * step.models >= 1 << 28) {
            return Err(Error::Usage(format!(
                "the {arena} arena would exceed 4 GiB: lower --batch-size, --hidden or --ensemble"
            )));
        }
        let ops = ops::list(&step, &layers, &tables);
        Ok(Self { step, layers, tables, ops, tensors, sizes, data_binding: usize::MAX })
    }

    /// Rows of a batch with their padding.
    pub fn rows(&self) -> usize {
        padded_rows(&self.step)
    }

    /// Bindings through which the data is read.
    pub fn data_bindings(&self) -> usize {
        match self.step.source {
            Source::Linreg => 1,
            Source::Table { .. } | Source::Sequence { .. } => {
                self.sizes.of(Arena::Data).div_ceil(self.data_binding).max(1)
            }
        }
    }

    /// Where the backward pass of a layer writes; where what it reads needs no derivative, nowhere.
    pub(crate) fn before(&self, layer: usize) -> Before {
        match layer.checked_sub(1).map(|before| self.layers[before]) {
            Some(before) => Before { slope: before.slope(), skip: before.skip },
            None => Before { slope: self.tensor("encoded_delta").map_or(0, |t| t.offset), skip: 0 },
        }
    }

    /// Finds a tensor by its name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The tensors of parameters, as the ops walk them that come after all gradients.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        ops::parameters(&self.step, &self.layers, &self.tables)
    }

    /// Tiles of those ops.
    pub(crate) fn parameter_tiles(&self) -> usize {
        ops::parameter_tiles(&self.step, &self.layers, &self.tables)
    }

    /// Loop trips of one invocation in one step when one workgroup walks all tiles, the measure of an adapter's loop
    /// budget.
    pub fn trips_per_step(&self) -> usize {
        // Each op has a loop over its tiles, and each layer three rounds of the loops over layers.
        let ops = self.ops.iter().map(|op| op.tiles * (op.trips + 1) + 1).sum::<usize>();
        // Without a fused update there are two loops more over tiles, whose every round counts in their ops.
        ops + 5 * self.layers.len() + 12
    }

    /// Loop trips of one invocation in its longest op, when each tile has its own workgroup.
    pub fn trips_per_dispatch(&self) -> usize {
        self.ops.iter().map(|op| op.trips).max().unwrap_or(0)
    }

    /// Floating-point operations of the products of one step of one model.
    pub fn flops(&self) -> usize {
        let products = |(i, layer): (usize, &DenseLayer)| {
            let once = 2 * self.step.batch_size * layer.inputs * layer.outputs;
            once * if i == 0 && self.tables.is_empty() { 2 } else { 3 }
        };
        self.layers.iter().enumerate().map(products).sum()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = &self.step;
        writeln!(
            f,
            "{} {}{}{} {} {} batch {} models {} ({} parameters each, {} kernels)",
            step.model.widths_text("-"),
            step.model.activation,
            step.model.options,
            step.model.embedding_text(),
            step.loss,
            step.optimizer,
            step.batch_size,
            step.models,
            step.model.parameter_count(),
            step.products.name(),
        )?;
        writeln!(f, "\n{:<22} {:>7} {:>14}", "op", "tiles", "trips per tile")?;
        for op in &self.ops {
            writeln!(f, "{:<22} {:>7} {:>14}", op.kind.to_string(), op.tiles, op.trips)?;
        }
        writeln!(
            f,
            "\n{} dispatches per step, {} floating-point operations in products",
            self.ops.len(),
            self.flops()
        )?;
        writeln!(f, "\n{:<12} {:>14} {:>14}", "arena", "bytes/model", "bytes")?;
        for (arena, size) in self.sizes.iter() {
            writeln!(f, "{:<12} {:>14} {:>14}", arena.to_string(), size * 16, size * 16 * step.models)?;
        }
        Ok(())
    }
}
