//! The chart of losses: axes, curves, and below them what they are.

use plotters::coord::ranged1d::Ranged as _;
use plotters::element::{Circle, Cross, Polygon};
use plotters::style::{Color as _, RGBAColor};

use super::curves::{Curve, Kind, Place};
use super::thin::thin;
use crate::cli::chart::{
    self, Axis, Drawn, Entry, INNER, Labels, Legend, Line, Mark, OUTER, Plane, UNIT, axes, color, pen, polyline,
};
use crate::error::Result;

/// What a chart is made of besides its curves.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub(super) labels: Labels,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
}

const WIDTH: i32 = 960;
/// The height of the axes with their texts.
const AXES: i32 = 548;
const TITLE: i32 = 36;

/// Draws a chart as SVG, and says how many values the axis cannot show.
pub(super) fn draw(curves: &[Curve], frame: &Frame) -> Result<(String, usize)> {
    let places = || curves.iter().flat_map(|curve| curve.places.iter().chain(&curve.raw));
    let x = Axis::of(places().map(|place| place.x), frame.log_x, 0.0);
    let y = Axis::of(places().flat_map(|place| place.values), frame.log_y, 0.03);
    let hidden = places().filter(|p| p.middle().is_finite() && !y.holds(p.middle())).count();
    let legend = Legend::of(curves.iter().map(entry).collect(), WIDTH);
    let top = AXES + if frame.labels.title.is_some() { TITLE } else { 0 };
    let svg = chart::draw(WIDTH, top + legend.height(), |area| {
        let (upper, lower) = area.split_vertically(top * UNIT);
        let chart = Chart { plane: axes(&upper, &frame.labels, x.clone(), y.clone())?, x, y };
        curves.iter().try_for_each(|curve| chart.curve(curve))?;
        legend.draw(&lower)
    })?;
    Ok((svg, hidden))
}

/// What stands in the legend of a curve.
fn entry(curve: &Curve) -> Entry {
    let mark = match curve.kind {
        Kind::Line => Mark::Line,
        Kind::Band => Mark::Bands,
        Kind::Validation => Mark::Dots,
    };
    Entry { text: curve.label.clone(), number: curve.number, mark }
}

struct Chart<'a> {
    plane: Plane<'a>,
    x: Axis,
    y: Axis,
}

impl Chart<'_> {
    fn curve(&self, curve: &Curve) -> Drawn {
        let thinned = |places: &[Place]| thin(places, |v| self.x.map(&v, (0, 800)));
        let places = thinned(&curve.places);
        let color = color(curve.number);
        if curve.kind == Kind::Band {
            self.band(&places, [0, 4], color.mix(OUTER))?;
            self.band(&places, [1, 3], color.mix(INNER))?;
        } else if !curve.raw.is_empty() {
            self.line(&thinned(&curve.raw), Line { style: pen(color.mix(0.3), 1.0), dash: None })?;
        }
        let width = if curve.kind == Kind::Line && curve.raw.is_empty() { 1.6 } else { 2.2 };
        self.line(&places, Line::of(curve.number, width))?;
        let points: Vec<_> = places.iter().filter_map(|place| self.point(place)).collect();
        let area = self.plane.plotting_area();
        if curve.kind == Kind::Validation {
            let shown = points.iter().step_by(points.len().div_ceil(40).max(1));
            shown.map(|&at| Circle::new(at, 4 * UNIT, color.filled())).try_for_each(|dot| area.draw(&dot))?;
        }
        match points.last().filter(|_| curve.diverged) {
            Some(&end) => area.draw(&Cross::new(end, 6 * UNIT, pen(color, 2.4))),
            None => Ok(()),
        }
    }

    /// Where the middle of a place is.
    fn point(&self, place: &Place) -> Option<(f64, f64)> {
        (self.x.holds(place.x) && self.y.holds(place.middle())).then(|| (place.x, place.middle()))
    }

    /// The middles, with gaps where they cannot be shown; a dot for one between gaps.
    fn line(&self, places: &[Place], line: Line) -> Drawn {
        let area = self.plane.plotting_area();
        let points: Vec<_> = places.iter().map(|place| self.point(place)).collect();
        points.split(Option::is_none).try_for_each(|run| {
            let points: Vec<_> = run.iter().copied().flatten().collect();
            match points.as_slice() {
                [] => Ok(()),
                [one] => area.draw(&Circle::new(*one, 3 * UNIT, line.style.filled())),
                _ => polyline(area, points, line),
            }
        })
    }

    /// What is between two of the values. Where the lower one is below the axis, it ends with the axis.
    fn band(&self, places: &[Place], [low, high]: [usize; 2], color: RGBAColor) -> Drawn {
        let ends = |place: &Place| {
            let [low, high] = [place.values[low], place.values[high]];
            let low = if self.y.holds(low) { low } else { self.y.low() };
            (self.x.holds(place.x) && self.y.holds(high)).then_some([(place.x, low), (place.x, high)])
        };
        let ends: Vec<_> = places.iter().map(ends).collect();
        ends.split(Option::is_none).filter(|run| run.len() > 1).try_for_each(|run| {
            let run = || run.iter().flatten();
            let points: Vec<_> = run().map(|[low, _]| *low).chain(run().rev().map(|[_, high]| *high)).collect();
            self.plane.plotting_area().draw(&Polygon::new(points, color))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(number: usize, kind: Kind, values: &[f64]) -> Curve {
        let place = |(i, &v): (u32, &f64)| Place { x: f64::from(i), values: [v / 4.0, v / 2.0, v, v * 2.0, v * 4.0] };
        let places = (1..).zip(values).map(place).collect();
        let label = format!("a rather long name of a curve, number {number}");
        Curve { label, number, kind, places, raw: Vec::new(), diverged: values.last().is_some_and(|v| v.is_nan()) }
    }

    #[test]
    fn nothing_is_outside_the_picture() {
        let values: [&[f64]; 8] = [
            &[1.0, 0.5, 0.25],
            &[1e30, 1e-30],
            &[3.0],
            &[2.0, 2.0],
            &[1.0, f64::NAN, 2.0, f64::INFINITY],
            &[0.0, -1.0, 5.0],
            &[f64::NAN],
            &[1e38, -1e38],
        ];
        for values in values {
            for (log_x, log_y) in [(false, true), (true, false)] {
                let kinds = [Kind::Band, Kind::Line, Kind::Validation];
                let curves: Vec<_> = (0..20).map(|i| curve(i, kinds[i % 3], values)).collect();
                let labels = Labels { title: Some("Title".repeat(50)), x: "step".into(), y: "loss".repeat(50) };
                let (svg, _) = draw(&curves, &Frame { labels, log_x, log_y }).expect("a chart");
                chart::svg::check_inside(&svg, &format!("{values:?}"));
            }
        }
    }

    #[test]
    fn values_off_the_axis_are_counted() {
        let frame = Frame { log_y: true, ..Frame::default() };
        let curves = [curve(0, Kind::Line, &[1.0, 0.0, -2.0, f64::NAN, 3.0])];
        let (_, hidden) = draw(&curves, &frame).expect("a chart");
        assert_eq!(hidden, 2, "zero and a negative number");
    }
}
