//! The predictions over the two inputs of a network: classes as areas, or numbers as colors with their scale.

use plotters::coord::ranged1d::Ranged as _;
use plotters::element::{Circle, EmptyElement, Rectangle};
use plotters::style::colors::colormaps::{ColorMap as _, ViridisRGB};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color as _, RGBColor, WHITE};

use super::rows::Subject;
use crate::cli::chart::{
    self, Area, Axis, Drawn, Entry, Labels, Legend, Mark, Plane, UNIT, axes, color, pen, point, shortened, style,
};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::score::is_one;
use crate::spec::largest;

const WIDTH: i32 = 760;
const AXES: i32 = 560;
/// The room of the scale of colors.
const SCALE: i32 = 120;
/// Cells from left to right, and from the bottom up: of classes, whose areas have edges, and of numbers.
const FINE: [u32; 2] = [240, 180];
const COARSE: [u32; 2] = [112, 84];
/// Colors of a scale. Neighbors in a row that have the same one are one rectangle.
const SHADES: f64 = 48.0;

/// What the cells show.
enum Shown {
    /// The class of this number.
    Classes(Vec<String>),
    /// A number on this axis.
    Numbers(Axis),
}

/// Draws the predictions for a grid of inputs, and the rows as points.
pub(super) fn draw(subject: &Subject, title: Option<&str>) -> Result<String> {
    let rows = subject.points();
    let of = |k: usize| {
        let values = rows.iter().map(move |(inputs, _)| inputs[k]);
        if rows.is_empty() { subject.range(k) } else { Axis::of(values, false, 0.04) }
    };
    let ends = [of(0), of(1)];
    let size = if matches!(subject.predictor.schema().targets, Targets::Numbers { .. }) { COARSE } else { FINE };
    let at = |k: usize, i: u32| ends[k].at((f64::from(i) + 0.5) / f64::from(size[k]));
    let grid = (0..size[1]).flat_map(|j| (0..size[0]).flat_map(move |i| [(0, i), (1, j)]));
    let predictions = subject.predict(grid.map(|(k, i)| at(k, i)));
    let truth = rows.iter().filter_map(|(_, targets)| targets.as_ref()).map(|targets| targets[0]);
    let (shown, cells) = Shown::of(subject, predictions.answers, truth);
    let labels =
        Labels { title: title.map(Into::into), x: subject.slots[0].name.clone(), y: subject.slots[1].name.clone() };
    let legend = Legend::of(shown.entries(), WIDTH);
    chart::draw(WIDTH, AXES + legend.height(), |area| {
        let (upper, lower) = area.split_vertically(AXES * UNIT);
        let (left, right) = upper.split_horizontally((WIDTH - shown.scale()) * UNIT);
        let [x, y] = ends.clone();
        let plane = axes(&left, &labels, x, y)?;
        shown.cells(&cells, size, &plane)?;
        for (inputs, targets) in &rows {
            shown.point((inputs[0], inputs[1]), targets.as_ref().map(|targets| targets[0]), &plane)?;
        }
        if let Shown::Numbers(values) = &shown {
            let name = subject.predictor.network().output_names().join(", ");
            scale(values, &name, plane.plotting_area().get_pixel_range().1, &right)?;
        }
        legend.draw(&lower)
    })
}

impl Shown {
    /// What the answers of cells are, and for each its number, or that of its class.
    fn of(subject: &Subject, answers: Vec<f64>, truth: impl Iterator<Item = f64>) -> (Self, Vec<f64>) {
        let rows = answers.chunks_exact(subject.predictor.network().outputs());
        match &subject.predictor.schema().targets {
            Targets::Numbers { .. } => {
                let values: Vec<_> = answers.iter().copied().chain(truth).collect();
                (Self::Numbers(Axis::of(values.into_iter(), false, 0.0)), answers)
            }
            Targets::Labels { columns } => {
                let name = |label| format!("{} {label}", columns[0].name);
                let names = columns[0].classes.clone().unwrap_or([0, 1].map(name));
                (Self::Classes(names.to_vec()), rows.map(|p| f64::from(u8::from(is_one(p[0])))).collect())
            }
            Targets::Classes { classes, .. } => {
                (Self::Classes(classes.clone()), rows.map(|row| index(largest(row))).collect())
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let Self::Classes(names) = self else { return Vec::new() };
        let entry = |(number, text): (usize, &String)| Entry { text: text.clone(), number, mark: Mark::Point };
        names.iter().enumerate().map(entry).collect()
    }

    fn scale(&self) -> i32 {
        if matches!(self, Self::Numbers(_)) { SCALE } else { 0 }
    }

    /// The color of an area.
    fn fill(&self, value: f64) -> RGBColor {
        match self {
            Self::Classes(_) => {
                let RGBColor(r, g, b) = color(class(value));
                let [r, g, b] = [r, g, b].map(|part| 255 - (255 - part) / 5 * 2);
                RGBColor(r, g, b)
            }
            Self::Numbers(values) => shade(values, value),
        }
    }

    /// Draws the rows of a grid of this size. Each rectangle reaches below its neighbors to the right and above, since the edges of
    /// two would let the paper through.
    fn cells(&self, cells: &[f64], size: [u32; 2], plane: &Plane<'_>) -> Drawn {
        let area = plane.plotting_area();
        let ((x, y), (left, top)) = (area.get_pixel_range(), area.get_base_pixel());
        let column = |i: usize| x.start - left + (x.end - x.start) * whole(i) / size[0].cast_signed();
        let row = |j: usize| y.end - top - (y.end - y.start) * whole(j) / size[1].cast_signed();
        let sheet = area.strip_coord_spec();
        for (j, values) in cells.chunks_exact(size[0] as usize).enumerate() {
            let mut begin = 0;
            for run in values.chunk_by(|a, b| self.fill(*a) == self.fill(*b)) {
                let end = begin + run.len();
                let right = (column(end) + UNIT).min(x.end - left);
                let upper = (row(j + 1) - UNIT).max(y.start - top);
                let corners = [(column(begin), upper), (right, row(j))];
                sheet.draw(&Rectangle::new(corners, self.fill(run[0]).filled()))?;
                begin = end;
            }
        }
        Ok(())
    }

    /// A row, in the color of what is true of it.
    fn point(&self, at: (f64, f64), target: Option<f64>, plane: &Plane<'_>) -> Drawn {
        let area = plane.plotting_area();
        match (self, target) {
            (Self::Classes(_), Some(target)) => point(area, at, class(target), 4.5),
            (Self::Numbers(values), Some(target)) => {
                let inside = Circle::new((0, 0), 4 * UNIT, shade(values, target).filled());
                area.draw(&(EmptyElement::at(at) + inside + Circle::new((0, 0), 4 * UNIT, pen(WHITE, 1.0))))
            }
            (_, None) => area.draw(&Circle::new(at, 3 * UNIT, pen(WHITE, 1.0))),
        }
    }
}

/// The color of a number, dark to light.
fn shade(values: &Axis, value: f64) -> RGBColor {
    let share = (value - values.low()) / (values.at(1.0) - values.low());
    ViridisRGB.get_color_normalized((share * SHADES).round() / SHADES, 0.0, 1.0)
}

/// The colors of numbers, beside an axis that has this range of units.
fn scale(values: &Axis, name: &str, rows: std::ops::Range<i32>, area: &Area<'_>) -> Drawn {
    let (top, width) = (area.get_base_pixel().1, 18 * UNIT);
    let row = |value: f64| values.map(&value, (rows.end - top, rows.start - top));
    for i in 0..64 {
        let [low, high] = [i, i + 1].map(|i| values.at(f64::from(i) / 64.0));
        let color = shade(values, f64::midpoint(low, high));
        let upper = (row(high) - UNIT).max(rows.start - top);
        area.draw(&Rectangle::new([(0, upper), (width, row(low))], color.filled()))?;
    }
    for (value, text) in values.ticks() {
        area.draw_text(&text, &style(13.0, HPos::Left, VPos::Center), (width + 6 * UNIT, row(value)))?;
    }
    let name = shortened(name, 13.0, f64::from(SCALE) - 24.0);
    area.draw_text(&name, &style(13.0, HPos::Left, VPos::Top), (0, rows.end - top + 12 * UNIT))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index of a class")]
fn class(value: f64) -> usize {
    value.round() as usize
}

#[expect(clippy::cast_precision_loss, reason = "the index of a class")]
fn index(class: usize) -> f64 {
    class as f64
}

fn whole(cell: usize) -> i32 {
    i32::try_from(cell).unwrap_or(i32::MAX)
}
