//! Which rows of a table a batch has, and the random keys of a step: the host's side of `shaders/rows_*.wgsl`.
//!
//! A state is that of one model: finished steps, the two words of its key, and the mark of divergence.

use super::{Sampling, Source, TrainStep};
use crate::rng::Key;

impl TrainStep {
    /// Whether batches are pieces of the table, so that the last one may be short.
    fn uses_each_row_once(&self) -> bool {
        match self.source {
            Source::Linreg => false,
            Source::Table { .. } => self.sampling == Sampling::Shuffle,
            Source::Sequence { .. } => true,
        }
    }

    /// Batches that have every row of the table once; 1 where there is no such thing.
    pub fn batches(&self) -> usize {
        match self.source.table_rows() {
            Some(rows) if self.uses_each_row_once() => rows.div_ceil(self.batch_size),
            _ => 1,
        }
    }

    /// The place of a step among the batches of its epoch.
    #[expect(clippy::cast_possible_truncation, reason = "rows of a table fit 32 bits by the limits of the plan")]
    fn batch_of_epoch(&self, state: [u32; 4]) -> u32 {
        state[0] % self.batches() as u32
    }

    /// Rows that the batch of the next step has.
    pub fn batch_rows(&self, state: [u32; 4]) -> usize {
        match self.source.table_rows() {
            Some(rows) if self.uses_each_row_once() => {
                self.batch_size.min(rows - self.batch_size * self.batch_of_epoch(state) as usize)
            }
            _ => self.batch_size,
        }
    }

    /// The rows of the table that make the batch of the next step, in order.
    #[expect(clippy::cast_possible_truncation, reason = "rows of a table and of a batch fit 32 bits")]
    pub fn table_rows(&self, state: [u32; 4]) -> impl Iterator<Item = usize> + use<> {
        let (source, sampling, key) = (self.source, self.sampling, key_of(state).fold_in(1));
        let rows = source.table_rows().unwrap_or(1) as u32;
        let first = self.batch_size as u32 * self.batch_of_epoch(state);
        (0..self.batch_rows(state) as u32).map(move |b| {
            let row = match (source, sampling) {
                (Source::Sequence { .. }, _) => first + b,
                (_, Sampling::Shuffle) => key.permute(first + b, rows),
                (_, Sampling::Replacement) => key.randint(b, rows),
            };
            row as usize
        })
    }

    /// The key of the random numbers of the next step.
    pub fn step_key(&self, state: [u32; 4]) -> Key {
        let sub = key_of(state).fold_in(1);
        match self.source {
            Source::Table { .. } if self.uses_each_row_once() => sub.fold_in(self.batch_of_epoch(state)),
            _ => sub,
        }
    }

    /// The state after the next step.
    pub fn advanced(&self, state: [u32; 4]) -> [u32; 4] {
        let ends_epoch = self.batch_of_epoch(state) as usize + 1 == self.batches();
        let next = match self.source {
            Source::Sequence { .. } => key_of(state),
            _ if ends_epoch => key_of(state).fold_in(0),
            _ => key_of(state),
        };
        [state[0].wrapping_add(1), next.0[0], next.0[1], state[3]]
    }
}

fn key_of(state: [u32; 4]) -> Key {
    Key([state[1], state[2]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::spec::{Activation, Loss, Model, Optimizer};

    fn step(source: Source, batch: usize) -> TrainStep {
        let model = Model::new(2, &[], 1, Activation::Gelu).expect("a network");
        TrainStep { sampling: Sampling::Shuffle, ..TrainStep::new(model, Loss::Mse, Optimizer::Sgd, batch, source) }
    }

    #[test]
    fn each_epoch_has_every_row_once_in_another_order() {
        let step = step(Source::Table { rows: 23 }, 5);
        let mut state = [0, 7, 9, 0];
        let mut orders = Vec::new();
        for _ in 0..3 {
            let mut order = Vec::new();
            for batch in 0..5 {
                let rows = step.batch_rows(state);
                assert_eq!(rows, if batch == 4 { 3 } else { 5 }, "rows of batch {batch}");
                order.extend(step.table_rows(state));
                state = step.advanced(state);
            }
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..23).collect::<Vec<_>>(), "rows of an epoch");
            orders.push(order);
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2], "orders of three epochs: {orders:?}");
        assert_eq!(state[0], 15, "finished steps");
    }

    #[test]
    fn no_two_steps_share_a_key() {
        for sampling in [Sampling::Shuffle, Sampling::Replacement] {
            let step = TrainStep { sampling, ..step(Source::Table { rows: 10 }, 4) };
            let mut state = [0, 1, 2, 0];
            let mut keys = std::collections::HashSet::new();
            for _ in 0..30 {
                assert!(keys.insert(step.step_key(state).0), "{sampling}: a key came twice");
                state = step.advanced(state);
            }
        }
    }

    #[test]
    fn a_batch_larger_than_the_table_has_all_of_it() {
        let step = step(Source::Table { rows: 3 }, 8);
        assert_eq!((step.batches(), step.batch_rows([9, 1, 1, 0])), (1, 3), "batches and rows");
    }

    #[test]
    fn a_sequence_has_the_rows_in_order() {
        let step = step(Source::Sequence { rows: 7 }, 4);
        let order: Vec<_> = (0..2).flat_map(|batch| step.table_rows([batch, 0, 0, 0])).collect();
        assert_eq!(order, (0..7).collect::<Vec<_>>(), "rows of two batches");
        assert!(Plan::new(step).is_ok(), "a plan that answers");
    }
}
