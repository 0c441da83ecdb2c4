//! The results of a benchmark as a bar chart.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoTextStyle as _, RGBColor, TextStyle, WHITE};
use tempfile::NamedTempFile;

use super::report::{Heading, digits};
use crate::bench::{Bench, Row};
use crate::error::{Error, Result};

/// The value of `--plot`.
pub(super) fn parse_path(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let svg = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("svg"));
    if svg { Ok(path) } else { Err("expected a name that ends in .svg".into()) }
}

/// The file to draw to. It is written beside its name, so that an older chart is not lost to a run that fails.
pub(super) struct Target {
    path: PathBuf,
    file: NamedTempFile,
}

impl Target {
    /// Opens the file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::Usage(format!("--plot {}: expected a file, found a folder", path.display())));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().suffix(".partial").tempfile_in(folder).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.into(), file })
    }

    /// Draws the chart and gives the file its name.
    pub(super) fn draw(mut self, heading: &Heading, bench: &Bench) -> Result<()> {
        let chart = Chart::of(&bench.rows);
        let mut text = String::new();
        let drawn = chart.draw(
            &SVGBackend::with_string(&mut text, (WIDTH.cast_unsigned(), chart.height())).into_drawing_area(),
            heading,
        );
        drawn.map_err(|e| Error::io(&self.path, std::io::Error::other(e)))?;
        self.file.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, e))?;
        self.file.persist(&self.path).map_err(|e| Error::io(&self.path, e.error))?;
        Ok(())
    }
}

const WIDTH: i32 = 960;
/// Room left of the bars, for the names, and right of them, for the numbers.
const LEFT: i32 = 250;
const RIGHT: i32 = 150;
const TOP: i32 = 96;
const BOTTOM: i32 = 60;
const ROW: i32 = 34;
const BAR: RGBColor = RGBColor(42, 111, 171);
const FAINT: RGBColor = RGBColor(221, 221, 221);
const INK: RGBColor = RGBColor(34, 34, 34);

/// A fault of the drawing, as text.
type Drawn = std::result::Result<(), String>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

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

    fn height(&self) -> u32 {
        (self.bottom() + BOTTOM).cast_unsigned()
    }

    /// Below the last bar.
    fn bottom(&self) -> i32 {
        TOP + ROW * i32::try_from(self.bars.len()).unwrap_or(i32::MAX / ROW / 2)
    }

    /// The pixel of a value.
    fn x(&self, value: f64) -> i32 {
        let (low, high) = (f64::from(self.decades.0), f64::from(self.decades.1));
        let share = ((value.log10() - low) / (high - low)).clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, reason = "at most the width")]
        let offset = (share * f64::from(WIDTH - LEFT - RIGHT)).round() as i32;
        LEFT + offset
    }

    fn draw(&self, area: &Area<'_>, heading: &Heading) -> Drawn {
        area.fill(&WHITE).map_err(|e| e.to_string())?;
        let [place, network] = heading.lines();
        write(area, "Time of one training step of one model", (16, 14), 20, HPos::Left)?;
        for (line, y) in [(place, 44), (network, 64)] {
            // A long line in smaller letters, so that it ends within the chart.
            let size = 13 * 120 / i32::try_from(line.chars().count().max(120)).unwrap_or(i32::MAX);
            write(area, &line, (16, y), size.max(6), HPos::Left)?;
        }
        self.draw_axis(area)?;
        for ((name, value, label), top) in self.bars.iter().zip((TOP..).step_by(ROW as usize)) {
            let end = value.map_or(LEFT, |value| self.x(value));
            let bar = Rectangle::new([(LEFT, top + 5), (end, top + ROW - 5)], BAR.filled());
            if value.is_some() {
                area.draw(&bar).map_err(|e| e.to_string())?;
            }
            write(area, name, (LEFT - 10, top + 9), 14, HPos::Right)?;
            write(area, label, (end + 8, top + 9), 14, HPos::Left)?;
        }
        area.present().map_err(|e| e.to_string())
    }

    fn draw_axis(&self, area: &Area<'_>) -> Drawn {
        let bottom = self.bottom();
        for decade in self.decades.0..=self.decades.1 {
            let value = 10.0_f64.powi(decade);
            let x = self.x(value);
            area.draw(&PathElement::new([(x, TOP), (x, bottom)], FAINT)).map_err(|e| e.to_string())?;
            let label = if decade < 0 {
                value.to_string()
            } else {
                digits(value).trim_end_matches(".00").trim_end_matches(".0").to_string()
            };
            write(area, &label, (x, bottom + 8), 13, HPos::Center)?;
        }
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2;
        write(area, "µs, on a logarithmic axis; shorter is faster", (middle, bottom + 32), 13, HPos::Center)
    }
}

/// The power of ten at or below a value.
#[expect(clippy::cast_possible_truncation, reason = "the logarithm of an f64 is at most 308")]
fn floor_decade(value: f64) -> i32 {
    value.log10().floor() as i32
}

/// Writes a line of text whose top is at `at`.
fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: i32, side: HPos) -> Drawn {
    let style: TextStyle<'_> = ("sans-serif", size).into_text_style(area).color(&INK).pos(Pos::new(side, VPos::Top));
    area.draw(&Text::new(text, at, style)).map_err(|e| e.to_string())
}
