//! What a page draws while its network learns: the answers to a grid of one or two inputs, and the rows beside them.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Part, part};
use crate::arenas::Arenas;
use crate::config::{Task, TrainConfig};
use crate::data::schema::{Encoding, Schema, Targets};
use crate::data::{Dataset, Tables};
use crate::error::Result;
use crate::plan::{Arena, Plan, Tensor};

/// Columns of a map of two inputs, and points of a curve of one.
const MAP: usize = 96;
const CURVE: usize = 256;

/// The most columns of the map of an image, and the most rows as a multiple of them.
const IMAGE: usize = 128;
const TALL: usize = 4;

/// Points that are answered at a time.
const BATCH: usize = 512;

/// What is drawn while it learns.
#[derive(Debug, Serialize)]
pub(super) struct Map {
    part: Part,
    kind: &'static str,
    width: usize,
    height: usize,
    points: usize,
    batches: usize,
    /// Where the answers begin in their arena, and the numbers of a row with and without padding.
    #[serde(flatten)]
    answers: View,
    /// Where the inputs of the points begin in theirs.
    grid: View,
    axes: Vec<Axis>,
    output: Axis,
    /// Names of the classes, or of the two labels where they have names.
    classes: Vec<String>,
    /// The rows that are trained on, in the arenas of the plan that trains.
    rows: Option<Rows>,
    /// Width and height of an image.
    image: Option<[usize; 2]>,
}

/// A matrix in an arena, in numbers.
#[derive(Debug, Serialize)]
struct View {
    offset: usize,
    stride: usize,
    columns: usize,
}

#[derive(Debug, Serialize)]
struct Rows {
    count: usize,
    features: View,
    targets: View,
}

/// An input or the output: its range as the network has it, and the way back to the units of the table.
#[derive(Debug, Serialize)]
struct Axis {
    name: String,
    low: f32,
    high: f32,
    mean: f64,
    std: f64,
}

impl View {
    fn of(tensor: &Tensor) -> Self {
        Self { offset: 4 * tensor.offset, stride: 4 * tensor.stride, columns: tensor.columns }
    }
}

/// What is drawn of a network with one or two numbers as inputs; of others nothing is.
pub(super) fn map(config: &TrainConfig, plan: &Plan, tables: Option<&Tables>) -> Result<Option<Map>> {
    let schema = tables.map(|tables| &tables.schema);
    let image = matches!(config.task, Task::Image(_)).then(|| tables.map_or([1, 1], |t| size_of_image(&t.train)));
    let model = &plan.step.model;
    let number = |schema: &Schema| schema.inputs.iter().all(|c| matches!(c.encoding, Encoding::Number { .. }));
    let kind = match (model.inputs(), schema.map(|schema| &schema.targets)) {
        _ if !schema.is_none_or(number) => return Ok(None),
        (2, _) if image.is_some() => "color",
        (1, Some(Targets::Numbers { .. }) | None) => "curve",
        (2, Some(Targets::Classes { .. })) => "classes",
        (2, Some(Targets::Labels { .. })) => "label",
        (2, _) => "number",
        _ => return Ok(None),
    };
    let (width, height) = match (kind, image) {
        ("curve", _) => (CURVE, 1),
        (_, Some([width, height])) => size_of_map(width, height),
        _ => (MAP, MAP),
    };
    let points = width * height;
    let answering = Plan::new(plan.step.answering(points, BATCH.min(points)))?;
    let (Some(answers), Some(grid)) = (answering.tensor("answers"), answering.tensor("features")) else {
        return Ok(None);
    };
    let mut arenas = Arenas::initial(&answering, &[0], Some(&blank(&answering, points)), 0.0)?;
    // The map reads the parameters of the plan that trains.
    arenas.scalars[Arena::Params as usize].fill(0.0);
    let (output, classes) = output(schema);
    Ok(Some(Map {
        kind,
        width,
        height,
        points,
        batches: answering.step.batches(),
        answers: View::of(answers),
        grid: View::of(grid),
        axes: (0..model.inputs()).map(|column| axis(tables, model.inputs(), column)).collect(),
        output,
        classes,
        rows: tables.and_then(|tables| rows(plan, &tables.train)),
        image,
        part: part(&answering, &arenas),
    }))
}

/// A table of that many rows, whose inputs the page fills in.
fn blank(plan: &Plan, rows: usize) -> Dataset {
    let (inputs, columns) = (plan.step.model.inputs(), plan.step.target_columns());
    Dataset {
        rows,
        feature_names: vec![String::new(); inputs],
        target_names: vec![String::new(); 1],
        features: vec![0.0; rows * inputs],
        targets: vec![0.0; rows * columns],
        weights: None,
    }
}

/// An input by its name; its range is that of the rows, or where nearly all are that are drawn from a normal distribution.
fn axis(tables: Option<&Tables>, inputs: usize, column: usize) -> Axis {
    let Some(Tables { schema, train, .. }) = tables else {
        return Axis { name: format!("x{column}"), low: -3.0, high: 3.0, mean: 0.0, std: 1.0 };
    };
    let values = train.features.iter().skip(column).step_by(inputs);
    let (low, high) = values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let (mean, std) = match schema.inputs[column].encoding {
        Encoding::Number { mean, std, .. } => (mean, std),
        Encoding::OneHot { .. } | Encoding::Index { .. } => (0.0, 1.0),
    };
    Axis { name: schema.inputs[column].name.clone(), low, high, mean, std }
}

/// The first output, and the names of what it chooses from.
fn output(schema: Option<&Schema>) -> (Axis, Vec<String>) {
    let (name, mean, std, classes) = match schema.map(|schema| &schema.targets) {
        None => ("y0".into(), 0.0, 1.0, Vec::new()),
        Some(Targets::Numbers { columns }) => (columns[0].name.clone(), columns[0].mean, columns[0].std, Vec::new()),
        Some(Targets::Labels { columns }) => {
            (columns[0].name.clone(), 0.0, 1.0, columns[0].classes.iter().flatten().cloned().collect())
        }
        Some(Targets::Classes { name, classes }) => (name.clone(), 0.0, 1.0, classes.clone()),
    };
    (Axis { name, low: 0.0, high: 0.0, mean, std }, classes)
}

/// The rows that are trained on.
fn rows(plan: &Plan, table: &Dataset) -> Option<Rows> {
    let [features, targets] = ["features", "targets"].map(|name| plan.tensor(name).map(View::of));
    Some(Rows { count: table.rows, features: features?, targets: targets? })
}

/// Width and height of the image of a table of pixels.
fn size_of_image(table: &Dataset) -> [usize; 2] {
    [0, 1].map(|column| {
        let values = table.features.iter().skip(column).step_by(2);
        values.map(|v| v.to_bits()).collect::<BTreeSet<_>>().len()
    })
}

/// A map in the shape of the image, and not larger.
fn size_of_map(width: usize, height: usize) -> (usize, usize) {
    let columns = width.clamp(2, IMAGE);
    (columns, (columns * height / width.max(1)).clamp(2, TALL * columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_the_shape_of_their_image() {
        let rows = [((48, 48), (48, 48)), ((1000, 500), (128, 64)), ((3, 3000), (3, 12)), ((1, 1), (2, 2))];
        for ((width, height), want) in rows {
            assert_eq!(size_of_map(width, height), want, "map of an image of {width} x {height}");
        }
    }
}
