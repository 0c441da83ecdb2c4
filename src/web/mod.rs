//! A page that trains a plan in the browser: the same WGSL on `navigator.gpu`, and the plan as data. One file, which needs no
//! network.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::arenas::Arenas;
use crate::config::{Task, TrainConfig};
use crate::data::Dataset;
use crate::data::schema::Targets;
use crate::error::{Error, Result};
use crate::plan::{Arena, Plan, Products, TrainStep};
use crate::shader::{Shader, Walk, entry_point};
use crate::spec::Schedule;
use crate::trainer::plan_of;

/// The longest run of a page: its learning rates are part of it.
pub const MAX_STEPS: u64 = 1_000_000;

/// Columns of a map of two inputs, and points of a curve of one.
const MAP: usize = 96;
const CURVE: usize = 256;

/// Points that are answered at a time.
const BATCH: usize = 512;

/// Everything that the page's script needs.
#[derive(Debug, Serialize)]
struct Page {
    steps: u64,
    accumulate: u32,
    b1: f64,
    b2: f64,
    /// The learning rate of each update; of a constant one, once.
    rates: Vec<f32>,
    /// The constant rows of the step table.
    constants: Vec<f32>,
    tensors: Vec<Weights>,
    train: Part,
    map: Option<Map>,
}

/// A tensor of parameters, for the download.
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

/// What is drawn while it learns.
#[derive(Debug, Serialize)]
struct Map {
    part: Part,
    kind: &'static str,
    legend: String,
    width: usize,
    height: usize,
    points: usize,
    batches: usize,
    /// Where the answers begin in their arena, in vectors times 4, and the numbers of a row with and without padding.
    offset: usize,
    stride: usize,
    columns: usize,
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
    if config.steps > MAX_STEPS {
        return Err(Error::Usage(format!("--steps {} is too many for a page: at most {MAX_STEPS}", config.steps)));
    }
    let (tables, plan) = plan_of(config, 1)?;
    // Of the kernels that every adapter can run, those that compile fast.
    let plan = Plan::new(TrainStep { products: Products::Tiled { side: 8 }, ..plan.step })?;
    let table = tables.as_ref().map(|tables| &tables.train);
    let arenas = Arenas::initial(&plan, &[member.seed], table, 0.0)?;
    let map = map_of(config, &plan, table, tables.as_ref().map(|tables| &tables.schema.targets))?;
    let rates = if plan.step.schedule == Schedule::Constant { 1 } else { config.updates() };
    let tensors = plan.step.model.parameters().into_iter().filter_map(|(name, shape)| {
        let tensor = plan.tensor(&name)?;
        let (offset, rows, columns, stride) = (tensor.offset, tensor.rows, tensor.columns, tensor.stride);
        Some(Weights { name, shape, offset, rows, columns, stride })
    });
    let page = Page {
        steps: config.steps,
        accumulate: config.accumulate,
        b1: member.hyper.b1,
        b2: member.hyper.b2,
        rates: (0..rates).map(|count| member.hyper.at_step::<f32>(&plan.step.schedule, count)[0]).collect(),
        constants: member.hyper.constants::<f32>().concat(),
        tensors: tensors.collect(),
        train: part(&plan, &arenas),
        map,
    };
    let json = serde_json::to_string(&page).map_err(|e| Error::io("page", e.into()))?;
    Ok(render(config, &plan, &json))
}

/// The HTML around the plan.
fn render(config: &TrainConfig, plan: &Plan, json: &str) -> String {
    let step = &plan.step;
    let widths: Vec<_> = step.model.widths.iter().map(ToString::to_string).collect();
    let title = format!("{} on {}", widths.join("-"), task_name(config));
    let summary = format!(
        "{} parameters, {}, {}, {}, batches of {}.",
        step.model.parameter_count(),
        step.model.activation,
        step.loss,
        step.optimizer,
        step.batch_size
    );
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    include_str!("page.html")
        .replace("{{title}}", &escape(&title))
        .replace("{{summary}}", &escape(&summary))
        .replace("{{script}}", include_str!("train.js"))
        // Nothing in it may end the element that it stands in.
        .replace("{{plan}}", &json.replace("</", "<\\/"))
}

fn task_name(config: &TrainConfig) -> String {
    match config.task.table() {
        None => "the linreg task".into(),
        Some(table) => table.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
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

/// What is drawn of a network with one or two inputs.
fn map_of(
    config: &TrainConfig,
    plan: &Plan,
    table: Option<&Dataset>,
    targets: Option<&Targets>,
) -> Result<Option<Map>> {
    let model = &plan.step.model;
    let inputs = model.inputs();
    let image = matches!(config.task, Task::Image(_));
    let kind = match (inputs, targets) {
        (2, _) if image => "color",
        (1, Some(Targets::Numbers { .. }) | None) => "curve",
        (2, Some(Targets::Classes { .. })) => "classes",
        (2, Some(Targets::Labels { .. })) => "label",
        (2, _) => "number",
        _ => return Ok(None),
    };
    let ranges: Vec<_> = (0..inputs).map(|column| range(table, inputs, column)).collect();
    let (width, height) = match (inputs, image) {
        (1, _) => (CURVE, 1),
        (_, true) => (MAP, rows_of_image(table)),
        _ => (MAP, MAP),
    };
    let points = width * height;
    let at = |(low, high): (f32, f32), i: usize, count: usize| low + (high - low) * share(i, count);
    let point = |p: usize| match inputs {
        1 => vec![at(ranges[0], p, width)],
        // From the top down in pictures, from the bottom up in plots.
        _ => {
            let y = if image { p / width } else { height - 1 - p / width };
            vec![at(ranges[0], p % width, width), at(ranges[1], y, height)]
        }
    };
    let step = plan.step.answering(points, BATCH.min(points));
    let grid = Dataset {
        rows: points,
        feature_names: vec![String::new(); inputs],
        target_names: vec![String::new(); 1],
        features: (0..points).flat_map(point).collect(),
        targets: vec![0.0; points * step.loss.target_columns(model.outputs())],
        weights: None,
    };
    let answering = Plan::new(step)?;
    let mut arenas = Arenas::initial(&answering, &[0], Some(&grid), 0.0)?;
    // The map reads the parameters of the plan that trains.
    arenas.scalars[Arena::Params as usize].fill(0.0);
    let Some(answers) = answering.tensor("answers") else { return Ok(None) };
    let legend = match kind {
        "color" => "what the network has learned of the image",
        "curve" => "output by input",
        "classes" => "class by the two inputs",
        "label" => "probability by the two inputs, dark to light",
        _ => "first output by the two inputs, dark to light",
    };
    Ok(Some(Map {
        kind,
        legend: legend.into(),
        width,
        height,
        points,
        batches: answering.step.batches(),
        offset: 4 * answers.offset,
        stride: 4 * answers.stride,
        columns: answers.columns,
        part: part(&answering, &arenas),
    }))
}

/// From 0 to 1 along `count` points.
fn share(i: usize, count: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a place in a picture")]
    let share = i as f32 / (count - 1).max(1) as f32;
    share
}

/// The least and the largest value of an input; of one that is drawn from a normal distribution, where nearly all are.
fn range(table: Option<&Dataset>, inputs: usize, column: usize) -> (f32, f32) {
    let Some(table) = table else { return (-3.0, 3.0) };
    let values = table.features.iter().skip(column).step_by(inputs);
    values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

/// Rows of the map of an image, so that its shape is that of the image.
fn rows_of_image(table: Option<&Dataset>) -> usize {
    let distinct = |column: usize| {
        let values = table.into_iter().flat_map(|t| t.features.iter().skip(column).step_by(2));
        values.map(|v| v.to_bits()).collect::<std::collections::BTreeSet<_>>().len().max(1)
    };
    (MAP * distinct(1) / distinct(0)).clamp(1, 4 * MAP)
}
