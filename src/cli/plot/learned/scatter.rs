//! Predicted numbers over those that are true.

use plotters::element::Circle;
use plotters::style::Color as _;

use super::rows::{MOST, Subject};
use crate::cli::chart::{self, Axis, Labels, Line, UNIT, axes, color, polyline};
use crate::cli::output::say;
use crate::error::Result;

const SIDE: i32 = 520;
/// The most targets that are drawn.
const TARGETS: usize = 9;

/// Draws a square for each target.
pub(super) fn draw(subject: &Subject, title: Option<&str>) -> Result<String> {
    let evaluation = subject.evaluation()?;
    let rows = subject.judged()?;
    let names = &rows.target_names;
    if names.len() > TARGETS {
        say(format_args!("note: the first {TARGETS} of {} targets are drawn", names.len()));
    }
    let answers = subject.predictor.predict(&rows.features).answers;
    let truth: Vec<_> = rows.targets.chunks_exact(names.len()).flat_map(|row| subject.in_units(row)).collect();
    let points = |target: usize| {
        let pairs = truth.iter().zip(&answers).skip(target).step_by(names.len());
        pairs.step_by(rows.rows.div_ceil(MOST).max(1)).map(|(&truth, &answer)| (truth, answer)).collect::<Vec<_>>()
    };
    let shown = names.len().min(TARGETS);
    let columns = shown.clamp(1, 3);
    let grid = (shown.div_ceil(columns), columns);
    let [across, down] = [grid.1, grid.0].map(|count| i32::try_from(count).unwrap_or(i32::MAX));
    chart::draw(SIDE * across, SIDE * down, |area| {
        for (target, (name, area)) in names.iter().zip(area.split_evenly(grid)).take(shown).enumerate() {
            let scores = evaluation.targets.get(target).map_or(&evaluation.metrics, |part| &part.metrics);
            let (metric, value) = scores.headline();
            let labels = Labels {
                title: Some(title.map_or_else(|| format!("{}, {metric} {value:.3}", subject.judged_by()), Into::into)),
                x: format!("true {name}"),
                y: format!("predicted {name}"),
            };
            let points = points(target);
            let both = points.iter().flat_map(|&(truth, answer)| [truth, answer]);
            let axis = Axis::of(both, false, 0.04);
            let ends = [0.0, 1.0].map(|share| axis.at(share)).map(|value| (value, value));
            let plane = axes(&area, &labels, axis.clone(), axis)?;
            let area = plane.plotting_area();
            polyline(area, ends.to_vec(), Line::of(1, 1.4))?;
            points.into_iter().try_for_each(|at| area.draw(&Circle::new(at, 3 * UNIT, color(0).mix(0.45).filled())))?;
        }
        Ok(())
    })
}
