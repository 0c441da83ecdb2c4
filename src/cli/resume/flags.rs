//! The flags that a checkpoint has an opinion of: which may change when a run goes on, and which may not.

use super::super::values;
use crate::config::{Task, TrainConfig, Validation};
use crate::spec::InputEncoding;

/// Whether a flag may differ from the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum May {
    /// Never.
    Not,
    /// With `--override`.
    Overridden,
    /// Always.
    Change,
}

/// A flag by its name in clap, what it stands for in a config, and how it is taken over.
pub(super) struct Flag {
    pub(super) name: &'static str,
    pub(super) may: May,
    pub(super) text: fn(&TrainConfig) -> String,
    pub(super) take: fn(&mut TrainConfig, &TrainConfig),
}

/// A flag whose value is a field of the config.
macro_rules! flag {
    ($name:literal, $may:ident, $($field:ident).+) => {
        Flag {
            name: $name,
            may: May::$may,
            text: |c| format!("{:?}", c.$($field).+),
            take: |to, from| to.$($field).+.clone_from(&from.$($field).+),
        }
    };
}

/// A flag whose value has a name.
macro_rules! named_flag {
    ($name:literal, $may:ident, $field:ident) => {
        Flag { name: $name, may: May::$may, text: |c| c.$field.to_string(), take: |to, from| to.$field = from.$field }
    };
}

/// A flag of one of the tasks, which never changes.
macro_rules! task_flag {
    ($name:literal, $pattern:pat => $text:expr) => {
        Flag {
            name: $name,
            may: May::Not,
            text: |c| if let $pattern = &c.task { $text } else { task(&c.task) },
            take: |_, _| {},
        }
    };
}

/// A flag of one of the encodings, which never changes.
macro_rules! encoding_flag {
    ($name:literal, $pattern:pat => $number:ident) => {
        Flag {
            name: $name,
            may: May::Not,
            text: |c| if let $pattern = c.layers.encoding { format!("{:?}", $number) } else { "none".into() },
            take: |_, _| {},
        }
    };
}

fn task(task: &Task) -> String {
    match task {
        Task::Linreg { .. } => "the linreg task".into(),
        Task::Table(table) | Task::Frame(_, table) => format!("the table {}", table.path.display()),
        Task::Image(image) => format!("the image {}", image.path.display()),
    }
}

/// Takes over where the data is: what it holds is compared when it is read.
fn move_data(to: &mut TrainConfig, from: &TrainConfig) {
    match (&mut to.task, &from.task) {
        (Task::Table(to), Task::Table(from)) => {
            to.path.clone_from(&from.path);
            to.labels.clone_from(&from.labels);
        }
        (Task::Image(to), Task::Image(from)) => to.path.clone_from(&from.path),
        _ => {}
    }
}

/// The rows to validate with, in a message.
fn validation(task: &Task) -> String {
    task.table().and_then(|table| table.validation.as_ref().map(Validation::to_string)).unwrap_or("none".into())
}

/// Names in a message.
fn names(names: &[String]) -> String {
    let texts: Vec<_> = names.iter().map(|name| values::name_text(name)).collect();
    if texts.is_empty() { "none".into() } else { texts.join(",") }
}

/// The flags that a checkpoint has an opinion of.
pub(super) fn flags() -> Vec<Flag> {
    data_flags().into_iter().chain(other_flags()).collect()
}

fn data_flags() -> Vec<Flag> {
    vec![
        task_flag!("task", Task::Linreg { .. } => "linreg".into()),
        task_flag!("inputs", Task::Linreg { inputs, .. } => inputs.to_string()),
        task_flag!("outputs", Task::Linreg { outputs, .. } => outputs.to_string()),
        Flag { take: move_data, ..task_flag!("data", Task::Table(_) => "a table".into()) },
        Flag { take: move_data, ..task_flag!("labels", Task::Table(_) => "a table".into()) },
        Flag { take: move_data, ..task_flag!("image", Task::Image(_) => "an image".into()) },
        task_flag!("target", Task::Table(t) => names(&t.targets)),
        task_flag!("features", Task::Table(t) => names(&t.features)),
        task_flag!("exclude", Task::Table(t) => names(&t.exclude)),
        Flag { name: "validation", may: May::Not, text: |c| validation(&c.task), take: |_, _| {} },
        task_flag!("weight_column", Task::Table(t) => names(t.weight.as_slice())),
        task_flag!("class_weight", Task::Table(t) => t.class_weight.to_string()),
        task_flag!("missing", Task::Table(t) => t.missing.to_string()),
        task_flag!("categorical", Task::Table(t) => t.categorical.to_string()),
        task_flag!("embedding_width", Task::Table(t) => width(t.embedding_width)),
        task_flag!("no_standardize", Task::Table(t) => (!t.standardize).to_string()),
    ]
}

fn other_flags() -> Vec<Flag> {
    vec![
        Flag { text: |c| widths(&c.hidden), ..flag!("hidden", Not, hidden) },
        named_flag!("activation", Not, activation),
        flag!("dropout", Not, layers.dropout),
        flag!("layer_norm", Not, layers.layer_norm),
        flag!("residual", Not, layers.residual),
        Flag {
            name: "encoding",
            may: May::Not,
            text: |c| c.layers.encoding.name().into(),
            // Its numbers may be left to the checkpoint.
            take: |_, _| {},
        },
        encoding_flag!("fourier_features", InputEncoding::Fourier { features, .. } => features),
        encoding_flag!("fourier_scale", InputEncoding::Fourier { scale, .. } => scale),
        encoding_flag!("frequencies", InputEncoding::Frequency { frequencies } => frequencies),
        flag!("include_input", Not, layers.include_input),
        flag!("w0", Not, w0),
        named_flag!("init", Not, init),
        named_flag!("loss", Not, loss),
        flag!("label_smoothing", Not, label_smoothing),
        named_flag!("optimizer", Not, optimizer),
        flag!("learning_rate", Overridden, hyper.learning_rate),
        flag!("b1", Overridden, hyper.b1),
        flag!("b2", Overridden, hyper.b2),
        flag!("eps", Overridden, hyper.eps),
        flag!("weight_decay", Overridden, hyper.weight_decay),
        flag!("momentum", Overridden, hyper.momentum),
        Flag { text: |c| (c.hyper.nesterov > 0.0).to_string(), ..flag!("nesterov", Overridden, hyper.nesterov) },
        flag!("clip_value", Overridden, hyper.clip_value),
        flag!("clip_norm", Overridden, hyper.clip_norm),
        Flag { text: |c| (!c.decay_bias).to_string(), ..flag!("no_bias_decay", Overridden, decay_bias) },
        flag!("accumulate", Not, accumulate),
        // Its parameters cannot be given without it.
        Flag { text: |c| c.schedule.to_string(), ..flag!("schedule", Overridden, schedule) },
        flag!("batch_size", Not, batch_size),
        named_flag!("sampling", Not, sampling),
        flag!("seed", Not, seed),
        flag!("ensemble", Not, ensemble),
        Flag { text: |c| sweep(&c.sweep), ..flag!("sweep", Not, sweep) },
        flag!("steps", Change, steps),
        named_flag!("executor", Change, executor),
        flag!("checked", Change, checked),
        named_flag!("on_divergence", Change, on_divergence),
        flag!("validate_every", Change, validate.every),
        flag!("patience", Change, validate.patience),
        flag!("min_delta", Change, validate.min_delta),
        flag!("reduce_on_plateau", Change, validate.plateau),
        Flag { name: "plateau_factor", ..flag!("reduce_on_plateau", Change, validate.plateau) },
        flag!("checkpoint_best", Change, validate.best),
    ]
}

/// A width in a message.
fn width(width: Option<usize>) -> String {
    width.map_or("its default".into(), |width| width.to_string())
}

fn widths(hidden: &[usize]) -> String {
    let widths: Vec<_> = hidden.iter().map(ToString::to_string).collect();
    if widths.is_empty() { "none".into() } else { widths.join(",") }
}

/// The values that are swept, in a message.
pub(super) fn sweep(sweep: &[(String, Vec<f64>)]) -> String {
    let one = |(name, values): &(String, Vec<f64>)| {
        let values: Vec<_> = values.iter().map(|v| format!("{v:?}")).collect();
        format!("{name}={}", values.join(","))
    };
    let all: Vec<_> = sweep.iter().map(one).collect();
    if all.is_empty() { "none".into() } else { all.join(" --sweep ") }
}
