//! The results of a benchmark as a bar chart.

use plotters::element::{EmptyElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color as _, RGBColor};

use super::report::{Heading, digits};
use crate::bench::{Bench, Row};
use crate::cli::chart::{self, Area, Axis, Drawn, Labels, UNIT, axes, shortened, style};
use crate::error::Result;

const WIDTH: i32 = 960;
/// Room right of the bars, for the numbers.
const RIGHT: i32 = 150;
/// Room above the bars, and below them.
const TOP: i32 = 80;
const BOTTOM: i32 = 70;
const ROW: i32 = 34;
const BAR: RGBColor = RGBColor(42, 111, 171);

/// Draws the results as SVG.
pub(super) fn chart(heading: &Heading, bench: &Bench) -> Result<String> {
    let bars: Vec<_> = bench.rows.iter().map(Bar::of).collect();
    let height = bars.iter().map(|_| ROW).sum::<i32>() + TOP + BOTTOM;
    chart::draw(WIDTH, height, |area| {
        let [place, network] = heading.lines();
        let at = |y: i32| (16 * UNIT, y * UNIT);
        let left = |size| style(size, HPos::Left, VPos::Center);
        area.draw_text("Time of one training step of one model", &left(20.0), at(26))?;
        for (line, y) in [(place, 52), (network, 72)] {
            let line = shortened(&line, 13.0, f64::from(WIDTH - 60));
            area.draw_text(&line, &left(13.0), at(y))?;
        }
        draw(&bars, &area.margin(TOP * UNIT, 8 * UNIT, 0, RIGHT * UNIT))
    })
}

/// Name, microseconds, and what is written beside it.
struct Bar {
    name: String,
    value: Option<f64>,
    text: String,
}

impl Bar {
    fn of(row: &Row) -> Self {
        let name = row.way.name();
        match &row.outcome {
            Ok(f) => {
                let speed = f.speedup.map_or(String::new(), |speed| format!("  ({}x)", digits(speed)));
                let value = f.us_per_model_step;
                Self { name, value: Some(value), text: format!("{} µs{speed}", digits(value)) }
            }
            Err(_) => Self { name, value: None, text: "not measured".into() },
        }
    }
}

fn draw(bars: &[Bar], area: &Area<'_>) -> Drawn {
    let values = || bars.iter().filter_map(|bar| bar.value);
    // From half of the smallest, so that its bar has a length.
    let low = values().map(|value| (value / 2.0).log10().floor()).reduce(f64::min);
    let high = values().map(|value| value.log10().ceil()).reduce(f64::max);
    let times = Axis::of(low.into_iter().chain(high).map(|place| 10.0_f64.powf(place)), true, 0.0);
    let names = Axis::of_names(bars.iter().map(|bar| bar.name.clone()).collect(), true);
    let labels = Labels { x: "µs, on a logarithmic axis; shorter is faster".into(), ..Labels::default() };
    let start = times.low();
    let plane = axes(area, &labels, times, names)?;
    let mut middle = 0.5;
    for bar in bars {
        let end = bar.value.unwrap_or(start);
        let area = plane.plotting_area();
        area.draw(&Rectangle::new([(start, middle - 0.35), (end, middle + 0.35)], BAR.filled()))?;
        let text = Text::new(bar.text.clone(), (8 * UNIT, 0), style(14.0, HPos::Left, VPos::Center));
        area.draw(&(EmptyElement::at((end, middle)) + text))?;
        middle += 1.0;
    }
    Ok(())
}
