//! What puts rows of tables in the place of indices of categories.

use std::ops::Range;

use crate::cpu::embed;
use crate::spec::Embedding;

/// Gives the inputs in order, and in the place of each index of a category a row of its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedder {
    inputs: usize,
    tables: Vec<(Embedding, Vec<f32>)>,
}

/// A part of what an [`Embedder`] gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Part<'a> {
    /// These inputs, as they are.
    Numbers(Range<usize>),
    /// The row of a table.
    Row {
        /// Which table it is, counted from 0.
        number: usize,
        /// Shape of the table, and the input that has the index.
        embedding: Embedding,
        /// Shape `(categories, width)`, row-major.
        table: &'a [f32],
    },
}

impl Part<'_> {
    /// How many numbers it has.
    pub fn width(&self) -> usize {
        match self {
            Part::Numbers(inputs) => inputs.len(),
            Part::Row { embedding, .. } => embedding.width,
        }
    }
}

impl Embedder {
    /// That of rows of `inputs`; each embedding has its table, shape `(categories, width)`.
    pub(super) fn new(inputs: usize, tables: Vec<(Embedding, Vec<f32>)>) -> Self {
        Self { inputs, tables }
    }

    /// Each embedding with its table.
    pub fn tables(&self) -> &[(Embedding, Vec<f32>)] {
        &self.tables
    }

    /// Width of a row that it gives.
    pub fn outputs(&self) -> usize {
        self.tables.iter().fold(self.inputs - self.tables.len(), |sum, (embedding, _)| sum + embedding.width)
    }

    /// What it gives, in order.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let (mut parts, mut done) = (Vec::new(), 0);
        for (number, (embedding, table)) in self.tables.iter().enumerate() {
            parts.push(Part::Numbers(done..embedding.column));
            parts.push(Part::Row { number, embedding: *embedding, table });
            done = embedding.column + 1;
        }
        parts.push(Part::Numbers(done..self.inputs));
        parts.retain(|part| part.width() > 0);
        parts
    }

    /// Of rows, one after the other.
    pub(super) fn forward(&self, rows: &[f64]) -> Vec<f64> {
        let rows = rows.chunks_exact(self.inputs);
        let mut embedded = vec![0.0; rows.len() * self.outputs()];
        for (row, embedded) in rows.zip(embedded.chunks_exact_mut(self.outputs())) {
            let embeddings = self.tables.iter().map(|(embedding, _)| embedding);
            embed(embeddings, row, embedded, |i, category, place| {
                let from = &self.tables[i].1[category * place.len()..];
                place.iter_mut().zip(from).for_each(|(to, &from)| *to = f64::from(from));
            });
        }
        embedded
    }
}
