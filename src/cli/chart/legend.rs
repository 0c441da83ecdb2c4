//! Samples and names of what a chart shows, below its axes.

use plotters::element::{Circle, Rectangle};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Area, Drawn, Line, UNIT, color, point, polyline};
use super::text::{shortened, style, text_width};

/// How something is drawn, in the color of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Mark {
    /// A line.
    Line,
    /// A line in two bands.
    Bands,
    /// A line in a band.
    Band,
    /// A line with dots.
    Dots,
    /// A point, whose shape goes by the number.
    Point,
}

/// What stands in the legend.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Entry {
    pub(in crate::cli) text: String,
    pub(in crate::cli) number: usize,
    pub(in crate::cli) mark: Mark,
}

/// The samples and names, in columns.
pub(in crate::cli) struct Legend {
    entries: Vec<Entry>,
    columns: usize,
}

const SMALL: f64 = 13.0;
const ROW: i32 = 22;
/// The length of the sample of a line.
const SAMPLE: i32 = 38;
const MARGIN: i32 = 24;

impl Legend {
    /// That of a picture of this width in pixels.
    pub(in crate::cli) fn of(mut entries: Vec<Entry>, width: i32) -> Self {
        let room = f64::from(width - 2 * MARGIN);
        let beside = f64::from(SAMPLE) + 32.0;
        for entry in &mut entries {
            entry.text = shortened(&entry.text, SMALL, (room - beside) * 0.85);
        }
        // The font of an SVG's viewer may be wider.
        let widest = entries.iter().map(|entry| text_width(&entry.text, SMALL) * 1.15).fold(0.0, f64::max);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 20")]
        let columns = ((room / (beside + widest)) as usize).clamp(1, 4);
        Self { entries, columns }
    }

    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns)
    }

    /// In pixels, with room below; 0 where there is nothing.
    pub(in crate::cli) fn height(&self) -> i32 {
        let rows: i32 = (0..self.rows()).map(|_| ROW).sum();
        if rows == 0 { 0 } else { rows + 12 }
    }

    /// Draws it into an area of its height.
    pub(in crate::cli) fn draw(&self, area: &Area<'_>) -> Drawn {
        if self.entries.is_empty() {
            return Ok(());
        }
        let inner = area.margin(0, 12 * UNIT, MARGIN * UNIT, MARGIN * UNIT);
        for (cell, entry) in inner.split_evenly((self.rows(), self.columns)).iter().zip(&self.entries) {
            let middle = ROW * UNIT / 2;
            sample(entry, cell, middle)?;
            cell.draw_text(&entry.text, &style(SMALL, HPos::Left, VPos::Center), ((SAMPLE + 8) * UNIT, middle))?;
        }
        Ok(())
    }
}

/// A short piece.
fn sample(entry: &Entry, area: &Area<'_>, middle: i32) -> Drawn {
    let (color, end) = (color(entry.number), SAMPLE * UNIT);
    if entry.mark == Mark::Point {
        return point(area, (end / 2, middle), entry.number, 5.0);
    }
    let bands: &[_] = match entry.mark {
        Mark::Bands => &[(8 * UNIT, OUTER), (4 * UNIT, INNER)],
        Mark::Band => &[(8 * UNIT, OUTER)],
        _ => &[],
    };
    for &(half, share) in bands {
        area.draw(&Rectangle::new([(0, middle - half), (end, middle + half)], color.mix(share).filled()))?;
    }
    polyline(area, vec![(0, middle), (end, middle)], Line::of(entry.number, 2.2))?;
    match entry.mark {
        Mark::Dots => area.draw(&Circle::new((end / 2, middle), 4 * UNIT, color.filled())),
        _ => Ok(()),
    }
}

/// How much of a band's color covers.
pub(in crate::cli) const OUTER: f64 = 0.16;
/// The same of the band within it.
pub(in crate::cli) const INNER: f64 = 0.28;
