//! The chart of curves: axes, curves, and below them what they are.

use super::axis::Axis;
use super::curves::{Curve, Kind, Place};
use super::thin::thin;
use crate::cli::picture::{Align, Drawing, Ink, Shape, dot, shortened, text_width};

/// What a chart is made of besides its curves.
#[derive(Debug, Clone, Default)]
pub(super) struct Frame {
    pub(super) title: Option<String>,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) log_x: bool,
    pub(super) log_y: bool,
}

const WIDTH: f32 = 960.0;
/// The height of the axes.
const AXES: f32 = 480.0;
const RIGHT: f32 = 28.0;
const ROW: f32 = 22.0;
/// The length of the sample of a line in the legend.
const SAMPLE: f32 = 38.0;
const SMALL: f32 = 13.0;
const BLACK: Ink = Ink::of([34, 34, 34]);
const GRID: Ink = Ink::of([221, 221, 221]);
const FAINT_GRID: Ink = Ink::of([241, 241, 241]);

/// From dark to light, so that they differ on paper without color, and for eyes that tell few colors apart.
const COLORS: [[u8; 3]; 5] = [[27, 20, 100], [170, 30, 60], [0, 140, 115], [225, 115, 25], [110, 175, 235]];
/// Their number and that of the colors have no common divisor, so that the pairs of both take long to come again.
const DASHES: [&[f32]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.0], &[9.0, 3.0, 2.0, 3.0]];

fn ink(number: usize) -> Ink {
    Ink::of(COLORS[number % COLORS.len()])
}

fn dash(number: usize) -> &'static [f32] {
    DASHES[number % DASHES.len()]
}

/// Draws a chart, and says how many values the axis cannot show.
pub(super) fn draw(curves: &[Curve], frame: &Frame) -> (Drawing, usize) {
    let places = || curves.iter().flat_map(|curve| curve.places.iter().chain(&curve.raw));
    let x = Axis::of(places().map(|place| place.x), frame.log_x, 0.0);
    let y = Axis::of(places().flat_map(|place| place.values), frame.log_y, 0.03);
    let hidden = places().filter(|p| p.middle().is_finite() && y.share(p.middle()).is_none()).count();
    let top = if frame.title.is_some() { 56.0 } else { 20.0 };
    let mut chart = Chart { drawing: Drawing { width: WIDTH, ..Drawing::default() }, x, y, left: 0.0, top };
    chart.axes(frame);
    for curve in curves {
        chart.curve(curve);
    }
    let bottom = chart.legend(curves);
    chart.drawing.height = bottom + 12.0;
    (chart.drawing, hidden)
}

struct Chart {
    drawing: Drawing,
    x: Axis,
    y: Axis,
    left: f32,
    top: f32,
}

#[expect(clippy::cast_possible_truncation, reason = "from 0 to 1")]
fn single(share: f64) -> f32 {
    share as f32
}

impl Chart {
    fn column(&self, share: f64) -> f32 {
        self.left + single(share) * (WIDTH - RIGHT - self.left)
    }

    fn row(&self, share: f64) -> f32 {
        self.top + AXES - single(share) * AXES
    }

    /// Grid, texts and frame.
    fn axes(&mut self, frame: &Frame) {
        let rows = self.y.ticks(8);
        let widest = rows.iter().filter_map(|t| t.text.as_deref()).map(|t| text_width(t, SMALL)).fold(0.0, f32::max);
        self.left = widest + 58.0;
        let columns = self.x.ticks(8);
        let (left, right, top, bottom) = (self.left, WIDTH - RIGHT, self.top, self.top + AXES);
        for tick in &columns {
            let at = self.column(tick.share);
            let ink = if tick.text.is_some() { GRID } else { FAINT_GRID };
            self.drawing.line(vec![[at, top], [at, bottom]], ink, 1.0);
            if let Some(text) = &tick.text {
                // Within the picture at its right end.
                let at = at.min(WIDTH - 4.0 - text_width(text, SMALL) * 0.6);
                self.drawing.text(text, [at, bottom + 18.0], SMALL, Align::Center, BLACK);
            }
        }
        for tick in rows {
            let at = self.row(tick.share);
            let ink = if tick.text.is_some() { GRID } else { FAINT_GRID };
            self.drawing.line(vec![[left, at], [right, at]], ink, 1.0);
            if let Some(text) = tick.text {
                self.drawing.text(text, [left - 8.0, at + 4.5], SMALL, Align::Right, BLACK);
            }
        }
        let corners = vec![[left, top], [right, top], [right, bottom], [left, bottom], [left, top]];
        self.drawing.line(corners, BLACK, 1.0);
        let middle = f32::midpoint(left, right);
        self.drawing.text(&frame.x, [middle, bottom + 42.0], 14.0, Align::Center, BLACK);
        let text = shortened(&frame.y, 14.0, AXES);
        let at = [22.0, self.top + AXES / 2.0];
        self.drawing.shapes.push(Shape::Text { text, at, size: 14.0, align: Align::Center, turned: true, ink: BLACK });
        if let Some(title) = &frame.title {
            let text = shortened(title, 20.0, WIDTH - 60.0);
            self.drawing.text(text, [WIDTH / 2.0, 34.0], 20.0, Align::Center, BLACK);
        }
    }

    fn curve(&mut self, curve: &Curve) {
        let (x, ink, dash) = (self.x, ink(curve.number), dash(curve.number));
        let thinned = |places: &[Place]| thin(places, |v| x.share(v).unwrap_or(0.0), 800);
        let places = thinned(&curve.places);
        if curve.kind == Kind::Band {
            self.band(&places, [0, 4], ink.faint(0.16));
            self.band(&places, [1, 3], ink.faint(0.28));
        } else if !curve.raw.is_empty() {
            self.line(&thinned(&curve.raw), ink.faint(0.3), 1.0, &[]);
        }
        let width = if curve.kind == Kind::Line && curve.raw.is_empty() { 1.6 } else { 2.2 };
        self.line(&places, ink, width, dash);
        let end = places.iter().rfind(|place| place.middle().is_finite());
        let points: Vec<_> = places.iter().filter_map(|place| self.point(place, 2)).collect();
        if curve.kind == Kind::Validation {
            let stride = points.len().div_ceil(40).max(1);
            self.drawing.shapes.extend(points.iter().step_by(stride).map(|at| dot(*at, 3.6, ink)));
        }
        if let Some([x, y]) = end.and_then(|place| self.point(place, 2)).filter(|_| curve.diverged) {
            for slope in [-6.0, 6.0] {
                self.drawing.line(vec![[x - 6.0, y - slope], [x + 6.0, y + slope]], ink, 2.4);
            }
        }
    }

    /// Where the `i`-th value of a place is.
    fn point(&self, place: &Place, i: usize) -> Option<[f32; 2]> {
        Some([self.column(self.x.share(place.x)?), self.row(self.y.share(place.values[i])?)])
    }

    /// The middles, with gaps where they cannot be shown; a dot for one between gaps.
    fn line(&mut self, places: &[Place], ink: Ink, width: f32, dash: &'static [f32]) {
        let points: Vec<_> = places.iter().map(|place| self.point(place, 2)).collect();
        for run in points.split(Option::is_none) {
            let points: Vec<_> = run.iter().copied().flatten().collect();
            match points.as_slice() {
                [] => {}
                [one] => self.drawing.shapes.push(dot(*one, width + 1.4, ink)),
                _ => self.drawing.shapes.push(Shape::Line { points, ink, width, dash }),
            }
        }
    }

    /// What is between two of the values. Where the lower one is below the axis, it ends with the axis.
    fn band(&mut self, places: &[Place], [low, high]: [usize; 2], ink: Ink) {
        let ends = |place: &Place| {
            let upper = self.point(place, high)?;
            Some([self.point(place, low).unwrap_or([upper[0], self.row(0.0)]), upper])
        };
        let ends: Vec<_> = places.iter().map(ends).collect();
        for run in ends.split(Option::is_none) {
            let run = || run.iter().flatten();
            let points: Vec<_> = run().map(|[low, _]| *low).chain(run().rev().map(|[_, high]| *high)).collect();
            if points.len() > 2 {
                self.drawing.shapes.push(Shape::Area { points, ink });
            }
        }
    }

    /// The samples and names of the curves below the axes; returns where they end.
    fn legend(&mut self, curves: &[Curve]) -> f32 {
        let room = WIDTH - RIGHT - 24.0;
        let texts: Vec<_> = curves.iter().map(|c| shortened(&c.label, SMALL, (room - SAMPLE - 40.0) * 0.85)).collect();
        // The font of an SVG's viewer may be wider.
        let widest = texts.iter().map(|text| text_width(text, SMALL) * 1.15).fold(0.0, f32::max);
        let cell = SAMPLE + 8.0 + widest + 24.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 20")]
        let columns = ((room / cell) as usize).clamp(1, 4);
        let mut y = self.top + AXES + 64.0;
        for (curves, texts) in curves.chunks(columns).zip(texts.chunks(columns)) {
            let mut x = 24.0;
            for (curve, text) in curves.iter().zip(texts) {
                self.sample(curve, [x, y]);
                self.drawing.text(text, [x + SAMPLE + 8.0, y + 4.5], SMALL, Align::Left, BLACK);
                x += cell;
            }
            y += ROW;
        }
        y - ROW / 2.0
    }

    fn sample(&mut self, curve: &Curve, [x, y]: [f32; 2]) {
        let (ink, dash) = (ink(curve.number), dash(curve.number));
        if curve.kind == Kind::Band {
            let box_of = |half: f32| vec![[x, y - half], [x + SAMPLE, y - half], [x + SAMPLE, y + half], [x, y + half]];
            self.drawing.shapes.push(Shape::Area { points: box_of(8.0), ink: ink.faint(0.16) });
            self.drawing.shapes.push(Shape::Area { points: box_of(4.0), ink: ink.faint(0.28) });
        }
        self.drawing.shapes.push(Shape::Line { points: vec![[x, y], [x + SAMPLE, y]], ink, width: 2.2, dash });
        if curve.kind == Kind::Validation {
            self.drawing.shapes.push(dot([x + SAMPLE / 2.0, y], 3.6, ink));
        }
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

    /// The corners of a shape.
    fn reach(shape: &Shape) -> Vec<[f32; 2]> {
        match shape {
            Shape::Line { points, .. } | Shape::Area { points, .. } => points.clone(),
            Shape::Text { text, at: [x, y], size, align, turned, .. } => {
                let width = text_width(text, *size);
                let begin = match align {
                    Align::Left => 0.0,
                    Align::Center => -width / 2.0,
                    Align::Right => -width,
                };
                let along = [begin, begin + width];
                along.map(|a| if *turned { [*x, y - a] } else { [x + a, *y] }).to_vec()
            }
        }
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
                let frame =
                    Frame { title: Some("Title".repeat(50)), x: "step".into(), y: "loss".repeat(50), log_x, log_y };
                let (drawing, _) = draw(&curves, &frame);
                for [x, y] in drawing.shapes.iter().flat_map(reach) {
                    let inside = (0.0..=drawing.width).contains(&x) && (0.0..=drawing.height).contains(&y);
                    assert!(inside, "{x}, {y} is outside of {} by {}: {values:?}", drawing.width, drawing.height);
                }
            }
        }
    }

    #[test]
    fn curves_differ_without_color() {
        let gray = |[r, g, b]: [u8; 3]| 0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b);
        for pair in COLORS.windows(2) {
            assert!(gray(pair[1]) - gray(pair[0]) > 12.0, "{pair:?} are alike in gray");
        }
        let styles: std::collections::HashSet<_> =
            (0..super::super::curves::MAX_LINES).map(|i| (i % COLORS.len(), i % DASHES.len())).collect();
        assert_eq!(styles.len(), super::super::curves::MAX_LINES, "every line has its own style");
    }

    #[test]
    fn values_off_the_axis_are_counted() {
        let frame = Frame { log_y: true, ..Frame::default() };
        let (_, hidden) = draw(&[curve(0, Kind::Line, &[1.0, 0.0, -2.0, f64::NAN, 3.0])], &frame);
        assert_eq!(hidden, 2, "zero and a negative number");
    }
}
