//! A page that trains a plan in the browser: the same WGSL on `navigator.gpu`, and the plan as data. One file, which needs no
//! network.

mod map;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::arenas::Arenas;
use crate::checkpoint::Checkpoint;
use crate::config::{Member, TrainConfig};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::plan::{Plan, Products, TrainStep};
use crate::shader::{Shader, Walk, entry_point};
use crate::spec::Schedule;
use crate::trainer::plan_of;
use map::Map;

/// The longest run of a page: its learning rates are part of it.
pub const MAX_STEPS: u64 = 1_000_000;

/// Everything that the page's script needs.
#[derive(Debug, Serialize)]
struct Page {
    /// The step that it begins after, and the last one.
    first: u64,
    steps: u64,
    accumulate: u32,
    b1: f64,
    b2: f64,
    /// The learning rate of each update from `first_update` on; of a constant one, once.
    first_update: u64,
    rates: Vec<f32>,
    /// The constant rows of the step table.
    constants: Vec<f32>,
    tensors: Vec<Weights>,
    train: Part,
    map: Option<Map>,
}

/// A tensor of weights, for the download.
#[derive(Debug, Serialize)]
struct Weights {
    name: String,
    shape: Vec<usize>,
    offset: usize,
    rows: usize,
    columns: usize,
    stride: usize,
}

/// A module with its arenas.
#[derive(Debug, Serialize)]
struct Part {
    wgsl: String,
    ops: Vec<Dispatch>,
    /// Bytes of each arena.
    arenas: Vec<usize>,
    /// The arenas that are not zero at first, by their number.
    contents: BTreeMap<usize, String>,
    state: [u32; 4],
}

#[derive(Debug, Serialize)]
struct Dispatch {
    entry: String,
    tiles: usize,
}

/// The page of a config, as one HTML file.
///
/// # Errors
/// As [`plan_of`]; [`Error::Usage`] for several models, or more than [`MAX_STEPS`] steps.
pub fn page(config: &TrainConfig) -> Result<String> {
    let members = config.members()?;
    let [member] = members.as_slice() else {
        return Err(Error::Usage("a page trains one model: leave out --ensemble and --sweep".into()));
    };
    write(config, *member, None)
}

/// The page that goes on with a model of a checkpoint, counted from 0: from its step, with its state, as a resumed run does. The
/// config is that of its experiment, with what may change. Nothing is validated, so that the learning rate stays where a plateau
/// has left it.
///
/// # Errors
/// As [`page`], [`Network::of`] and [`StoredExperiment::check_tables`](crate::checkpoint::StoredExperiment::check_tables);
/// [`Error::Usage`] when the checkpoint is at the last step of the config, or beyond.
pub fn page_from(config: &TrainConfig, checkpoint: &Checkpoint, model: usize) -> Result<String> {
    checkpoint.check_config(config)?;
    Network::of(checkpoint, model)?;
    if config.steps == checkpoint.step() {
        return Err(Error::Usage(format!(
            "--steps {} is where the checkpoint is, and leaves nothing to train: --steps counts from the first beginning",
            config.steps
        )));
    }
    let member = config.members()?.get(model).copied();
    let mut member = member.ok_or_else(|| Error::Usage(format!("the config has no model {model}")))?;
    if let Some(plateaus) = checkpoint.plateaus() {
        member.hyper.scale = plateaus[model].scale;
    }
    write(config, member, Some((checkpoint, model)))
}

fn write(config: &TrainConfig, member: Member, from: Option<(&Checkpoint, usize)>) -> Result<String> {
    let first = from.map_or(0, |(checkpoint, _)| checkpoint.step());
    if config.steps > first + MAX_STEPS {
        let text = format!("--steps {} is too many for a page: at most {}", config.steps, first + MAX_STEPS);
        return Err(Error::Usage(text));
    }
    let (tables, plan) = plan_of(config, 1)?;
    from.map_or(Ok(()), |(checkpoint, _)| checkpoint.experiment.check_tables(tables.as_ref(), config))?;
    // Of the kernels that every adapter can run, those that compile fast.
    let plan = Plan::new(TrainStep { products: Products::Deep { side: 8 }, ..plan.step })?;
    let mut arenas = Arenas::initial(&plan, &[member.seed], tables.as_ref().map(|tables| &tables.train), 0.0)?;
    if let Some((checkpoint, model)) = from {
        checkpoint.restore_from(&plan, &mut arenas, model);
    }
    let first_update = first / u64::from(config.accumulate);
    let last_update = if plan.step.schedule == Schedule::Constant { first_update + 1 } else { config.updates() };
    let rate = |count| member.hyper.at_step::<f32>(&plan.step.schedule, count)[0];
    let page = Page {
        first,
        steps: config.steps,
        accumulate: config.accumulate,
        b1: member.hyper.b1,
        b2: member.hyper.b2,
        first_update,
        // The last steps may be too few for an update.
        rates: (first_update..last_update.max(first_update + 1)).map(rate).collect(),
        constants: member.hyper.constants::<f32>().concat(),
        tensors: weights(&plan),
        train: part(&plan, &arenas),
        map: map::map(config, &plan, tables.as_ref())?,
    };
    let json = serde_json::to_string(&page).map_err(|e| Error::io("page", e.into()))?;
    Ok(render(config, &plan, first, &json))
}

/// The HTML around the plan.
fn render(config: &TrainConfig, plan: &Plan, first: u64, json: &str) -> String {
    let step = &plan.step;
    let title = format!("{} on {}", step.model.widths_text("-"), task_name(config));
    let goes_on = if first == 0 { String::new() } else { format!(" It goes on from step {first} of a checkpoint.") };
    let summary = format!(
        "{} parameters: {}, {}, {}, batches of {}.{goes_on}",
        step.model.parameter_count(),
        step.model.activation,
        step.loss,
        step.optimizer,
        step.batch_size
    );
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let script = [include_str!("program.js"), include_str!("charts.js"), include_str!("page.js")].join("\n");
    include_str!("page.html")
        .replace("{{title}}", &escape(&title))
        .replace("{{summary}}", &escape(&summary))
        .replace("{{script}}", &script)
        // Nothing in it may end the element that it stands in.
        .replace("{{plan}}", &json.replace("</", "<\\/"))
}

fn task_name(config: &TrainConfig) -> String {
    match config.task.table() {
        None => "the linreg task".into(),
        Some(table) => table.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// What is downloaded: parameters, and constants that they are nothing without.
fn weights(plan: &Plan) -> Vec<Weights> {
    let model = &plan.step.model;
    let all = model.parameters().into_iter().chain(model.constants());
    let weights = all.filter_map(|(name, shape)| {
        let tensor = plan.tensor(&name)?;
        let (offset, rows, columns, stride) = (tensor.offset, tensor.rows, tensor.columns, tensor.stride);
        Some(Weights { name, shape, offset, rows, columns, stride })
    });
    weights.collect()
}

/// The module and the arenas of a plan.
fn part(plan: &Plan, arenas: &Arenas<f32>) -> Part {
    let bytes = |numbers: &[f32]| STANDARD.encode(bytemuck::cast_slice::<f32, u8>(numbers));
    let full = arenas.scalars.iter().enumerate().filter(|(_, numbers)| numbers.iter().any(|v| v.to_bits() != 0));
    Part {
        wgsl: Shader::of(plan, Walk::Recorded).text,
        ops: plan.ops.iter().map(|op| Dispatch { entry: entry_point(op.kind), tiles: op.tiles }).collect(),
        arenas: arenas.scalars.iter().map(|numbers| size_of_val(numbers.as_slice())).collect(),
        contents: full.map(|(arena, numbers)| (arena, bytes(numbers))).collect(),
        state: arenas.state[0],
    }
}
