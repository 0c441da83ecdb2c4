//! The results of a benchmark as a bar chart.

use super::report::{Heading, digits};
use crate::bench::{Bench, Row};
use crate::cli::picture::{Align, Drawing, Ink, Shape, text_width};

/// Draws the results.
pub(super) fn chart(heading: &Heading, bench: &Bench) -> Drawing {
    Chart::of(&bench.rows).draw(heading)
}

const WIDTH: f32 = 960.0;
/// Room left of the bars, for the names, and right of them, for the numbers.
const LEFT: f32 = 250.0;
const RIGHT: f32 = 150.0;
const TOP: f32 = 96.0;
const BOTTOM: f32 = 60.0;
const ROW: f32 = 34.0;
const BAR: Ink = Ink::of([42, 111, 171]);
const FAINT: Ink = Ink::of([221, 221, 221]);
const INK: Ink = Ink::of([34, 34, 34]);

/// Names, values and what is written beside each bar.
struct Chart {
    bars: Vec<(String, Option<f64>, String)>,
    /// Powers of ten at the ends of the axis.
    decades: (i32, i32),
}

impl Chart {
    fn of(rows: &[Row]) -> Self {
        let bar = |row: &Row| match &row.outcome {
            Ok(f) => {
                let speed = f.speedup.map_or(String::new(), |speed| format!("  ({}x)", digits(speed)));
                (row.way.name(), Some(f.us_per_model_step), format!("{} µs{speed}", digits(f.us_per_model_step)))
            }
            Err(_) => (row.way.name(), None, "not measured".into()),
        };
        let bars: Vec<_> = rows.iter().map(bar).collect();
        let values: Vec<_> = bars.iter().filter_map(|(_, value, _)| *value).collect();
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(0.0, f64::max);
        // Half of the smallest, so that its bar has a length.
        let low = if smallest.is_finite() { floor_decade(smallest / 2.0) } else { 0 };
        let high = (-floor_decade(1.0 / largest.max(1e-9))).max(low + 1);
        Self { bars, decades: (low, high) }
    }

    /// Below the last bar.
    fn bottom(&self) -> f32 {
        self.bars.iter().map(|_| ROW).sum::<f32>() + TOP
    }

    /// The pixel of a value.
    fn x(&self, value: f64) -> f32 {
        let (low, high) = (f64::from(self.decades.0), f64::from(self.decades.1));
        #[expect(clippy::cast_possible_truncation, reason = "from 0 to 1")]
        let share = ((value.log10() - low) / (high - low)).clamp(0.0, 1.0) as f32;
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn draw(&self, heading: &Heading) -> Drawing {
        let mut drawing = Drawing { width: WIDTH, height: self.bottom() + BOTTOM, ..Drawing::default() };
        let [place, network] = heading.lines();
        drawing.text("Time of one training step of one model", [16.0, 32.0], 20.0, Align::Left, INK);
        for (line, y) in [(place, 56.0), (network, 76.0)] {
            // A long line in smaller letters, so that it ends within the chart.
            let size = (13.0 * (WIDTH - 80.0) / text_width(&line, 13.0)).clamp(6.0, 13.0);
            drawing.text(line, [16.0, y], size, Align::Left, INK);
        }
        self.draw_axis(&mut drawing);
        let mut top = TOP;
        for (name, value, label) in &self.bars {
            let end = value.map_or(LEFT, |value| self.x(value));
            if value.is_some() {
                let (upper, lower) = (top + 5.0, top + ROW - 5.0);
                let points = vec![[LEFT, upper], [end, upper], [end, lower], [LEFT, lower]];
                drawing.shapes.push(Shape::Area { points, ink: BAR });
            }
            drawing.text(name, [LEFT - 10.0, top + 22.0], 14.0, Align::Right, INK);
            drawing.text(label, [end + 8.0, top + 22.0], 14.0, Align::Left, INK);
            top += ROW;
        }
        drawing
    }

    fn draw_axis(&self, drawing: &mut Drawing) {
        let bottom = self.bottom();
        for decade in self.decades.0..=self.decades.1 {
            let value = 10.0_f64.powi(decade);
            let x = self.x(value);
            drawing.line(vec![[x, TOP], [x, bottom]], FAINT, 1.0);
            let label = if decade < 0 {
                value.to_string()
            } else {
                digits(value).trim_end_matches(".00").trim_end_matches(".0").to_string()
            };
            drawing.text(label, [x, bottom + 20.0], 13.0, Align::Center, INK);
        }
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        let text = "µs, on a logarithmic axis; shorter is faster";
        drawing.text(text, [middle, bottom + 44.0], 13.0, Align::Center, INK);
    }
}

/// The power of ten at or below a value.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of an f64 is at most 308")]
fn floor_decade(value: f64) -> i32 {
    value.log10().floor() as i32
}
