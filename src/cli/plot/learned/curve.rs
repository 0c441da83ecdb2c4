//! The predictions over the one input of a network.

use plotters::element::{Circle, Polygon};
use plotters::style::Color as _;

use super::rows::Subject;
use crate::cli::chart::{self, Axis, Entry, Labels, Legend, Line, Mark, OUTER, UNIT, axes, color, polyline};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::network::Predictions;

const WIDTH: i32 = 760;
const AXES: i32 = 480;
/// Places of the curve.
const PLACES: u32 = 600;

/// Draws the curve of each output, and the rows as points.
pub(super) fn draw(subject: &Subject, title: Option<&str>) -> Result<String> {
    let rows = subject.points();
    let xs = || rows.iter().map(|(inputs, _)| inputs[0]);
    let x = if rows.is_empty() { subject.range(0) } else { Axis::of(xs(), false, 0.02) };
    let places: Vec<_> = (0..=PLACES).map(|i| x.at(f64::from(i) / f64::from(PLACES))).collect();
    let predictions = subject.predict(places.iter().copied());
    let names = subject.predictor.network().output_names();
    let outputs = names.len();
    let classes = matches!(subject.predictor.schema().targets, Targets::Classes { .. });
    let curve = |o: usize, deviations: f64| curve(&places, &predictions, o, deviations);
    let points: Vec<Vec<_>> = (0..outputs).map(|o| points(&rows, o, classes)).collect();
    let values = (0..outputs).flat_map(|o| [curve(o, -2.0), curve(o, 2.0)]).chain(points.iter().cloned()).flatten();
    let y = Axis::of(values.map(|(_, y)| y).collect::<Vec<_>>().into_iter(), false, 0.04);
    let labels = Labels {
        title: title.map(Into::into),
        x: subject.slots[0].name.clone(),
        y: if names.len() == 1 { names[0].clone() } else { subject.quantity() },
    };
    let true_ones = points.iter().any(|points| !points.is_empty());
    let legend = Legend::of(entries(subject, &names, true_ones), WIDTH);
    chart::draw(WIDTH, AXES + legend.height(), |area| {
        let (upper, lower) = area.split_vertically(AXES * UNIT);
        let plane = axes(&upper, &labels, x.clone(), y)?;
        let area = plane.plotting_area();
        for (o, points) in points.into_iter().enumerate() {
            for at in points {
                area.draw(&Circle::new(at, 3 * UNIT, color(o).mix(0.4).filled()))?;
            }
        }
        for o in 0..outputs {
            if !predictions.std.is_empty() {
                let band: Vec<_> = curve(o, 2.0).into_iter().chain(curve(o, -2.0).into_iter().rev()).collect();
                area.draw(&Polygon::new(band, color(o).mix(OUTER)))?;
            }
            polyline(area, curve(o, 0.0), Line::of(o, 2.2))?;
        }
        legend.draw(&lower)
    })
}

/// The predictions of an output, and so many standard deviations, at all places.
fn curve(places: &[f64], predictions: &Predictions, output: usize, deviations: f64) -> Vec<(f64, f64)> {
    let outputs = predictions.answers.len() / places.len();
    let at = |(i, &place): (usize, &f64)| {
        let deviation = predictions.std.get(i * outputs + output).map_or(0.0, |std| deviations * std);
        (place, predictions.answers[i * outputs + output] + deviation)
    };
    places.iter().enumerate().map(at).collect()
}

/// The rows as points of an output; of a class, those that are of it, where it is certain.
fn points(rows: &[(Vec<f64>, Option<Vec<f64>>)], output: usize, classes: bool) -> Vec<(f64, f64)> {
    #[expect(clippy::cast_precision_loss, reason = "the index of a class")]
    let point = |(inputs, targets): &(Vec<f64>, Option<Vec<f64>>)| {
        let targets = targets.as_ref()?;
        match classes {
            true => (targets[0] == output as f64).then(|| (inputs[0], 1.0)),
            false => Some((inputs[0], targets[output])),
        }
    };
    rows.iter().filter_map(point).collect()
}

fn entries(subject: &Subject, names: &[String], true_ones: bool) -> Vec<Entry> {
    let several = subject.predictor.models.len();
    let (mark, what) = match several {
        1 => (Mark::Line, String::new()),
        _ => (Mark::Band, format!(": mean of {several} models ± 2 deviations")),
    };
    let points = if true_ones && names.len() == 1 { "; true values as points" } else { "" };
    let entry = |(number, name): (usize, &String)| Entry { text: format!("{name}{what}{points}"), number, mark };
    names.iter().enumerate().map(entry).collect()
}
