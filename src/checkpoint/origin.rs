//! What every checkpoint of a run has in common.

use super::{Checkpoint, StoredExperiment, file};
use crate::config::TrainConfig;
use crate::data::{Schema, Tables};
use crate::plan::Products;

/// What every checkpoint of a run has in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// What is trained.
    pub experiment: StoredExperiment,
    /// How the columns of its table became numbers, if it has one.
    pub schema: Option<Schema>,
    /// The executor.
    pub executor: String,
    /// The adapter; empty on the cpu executor.
    pub adapter: String,
    /// Its kernels of the inner products.
    pub kernels: Option<Products>,
}

impl Origin {
    /// Of a run by its config and its tables, an executor by its name, and the adapter with its kernels.
    pub fn new(
        config: &TrainConfig,
        tables: Option<&Tables>,
        executor: &str,
        adapter: Option<(String, Products)>,
    ) -> Self {
        let (experiment, schema) = (StoredExperiment::of(config, tables), tables.map(|t| t.schema.clone()));
        let (adapter, kernels) = adapter.map_or((String::new(), None), |(name, kernels)| (name, Some(kernels)));
        Self { experiment, schema, executor: executor.into(), adapter, kernels }
    }

    /// Where another executor or adapter than that of a checkpoint goes on with it: that the numbers may differ.
    pub fn elsewhere(&self, checkpoint: &Checkpoint) -> Option<String> {
        let place = |executor: &str, adapter: &str, kernels: Option<Products>| {
            let on = kernels.map_or(String::new(), |kernels| format!(" with {kernels} kernels on {adapter}"));
            format!("executor {executor}{on}")
        };
        if checkpoint.step() == 0 {
            return None;
        }
        let before = place(&checkpoint.executor, &checkpoint.adapter, checkpoint.kernels);
        let now = place(&self.executor, &self.adapter, self.kernels);
        (before != now).then(|| {
            format!(
                "the checkpoint was made by {}, and this is {now}: the numbers may differ in their last digits from those of \
                 an unbroken run",
                file::shown(&before)
            )
        })
    }
}
