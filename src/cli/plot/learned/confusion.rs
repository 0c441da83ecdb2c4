//! Which classes were taken for which.

use plotters::element::{EmptyElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color as _, RGBColor, WHITE};

use super::rows::Subject;
use crate::cli::chart::{self, Area, Axis, Drawn, Labels, UNIT, axes, color, style, text_width};
use crate::error::Result;
use crate::evaluate::Confusion;

/// The most classes whose cells have room for numbers.
const WITH_NUMBERS: usize = 20;

/// Draws a matrix for each label, or one for the classes.
pub(super) fn draw(subject: &Subject, title: Option<&str>) -> Result<String> {
    let evaluation = subject.evaluation()?;
    let matrices = &evaluation.confusion;
    let score = |matrix: &Confusion| {
        let right: usize = matrix.counts.iter().enumerate().map(|(class, row)| row[class]).sum();
        format!("{}, accuracy {:.3}", subject.judged_by(), share(right, evaluation.rows))
    };
    let widest = matrices.iter().flat_map(|matrix| &matrix.classes).map(|class| text_width(class, 13.0).min(NAME));
    let beside = widest.fold(0.0, f64::max);
    let classes = matrices.first().map_or(1, |matrix| matrix.classes.len());
    let side = cell(classes) * i32::try_from(classes).unwrap_or(i32::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "at most the room of a name")]
    let (width, height) = ((side + beside as i32 + 90).max(420), side + beside as i32 + 110);
    let columns = matrices.len().clamp(1, 3);
    let rows = matrices.len().div_ceil(columns);
    let [across, down] = [columns, rows].map(|count| i32::try_from(count).unwrap_or(i32::MAX));
    chart::draw(width * across, height * down, |area| {
        for (matrix, area) in matrices.iter().zip(area.split_evenly((rows, columns))) {
            let title = title.map_or_else(|| score(matrix), Into::into);
            one(matrix, title, &area)?;
        }
        Ok(())
    })
}

/// The most room of a class's name.
const NAME: f64 = 160.0;

/// The side of a cell in pixels.
fn cell(classes: usize) -> i32 {
    match classes {
        0..=6 => 76,
        7..=WITH_NUMBERS => 46,
        21..=60 => 14,
        61..=200 => 5,
        _ => 2,
    }
}

fn one(matrix: &Confusion, title: String, area: &Area<'_>) -> Drawn {
    let Confusion { target, classes, counts } = matrix;
    let readable = cell(classes.len()) >= 12;
    let names = |down| match readable {
        true => Axis::of_names(classes.iter().map(|class| chart::shortened(class, 13.0, NAME)).collect(), down),
        false => Axis::of_names(vec![String::new(); classes.len()], down),
    };
    let labels = Labels { title: Some(title), x: format!("predicted {target}"), y: format!("true {target}") };
    let plane = axes(area, &labels, names(false), names(true))?;
    let area = plane.plotting_area();
    for (row, counts) in counts.iter().enumerate() {
        let of = counts.iter().sum();
        for (column, &count) in counts.iter().enumerate() {
            let share = share(count, of);
            let [x, y] = [column, row].map(number);
            area.draw(&Rectangle::new([(x, y), (x + 1.0, y + 1.0)], tint(share).filled()))?;
            if classes.len() <= WITH_NUMBERS {
                let text = |text: String, down: i32, size: f64| {
                    let style = style(size, HPos::Center, VPos::Center);
                    let style = match count {
                        0 => style.color(&RGBColor(170, 170, 170)),
                        _ if share > 0.5 => style.color(&WHITE),
                        _ => style,
                    };
                    Text::new(text, (0, down * UNIT), style)
                };
                let shown = if count > 0 { format!("{:.0}%", 100.0 * share) } else { String::new() };
                let at = EmptyElement::at((x + 0.5, y + 0.5));
                area.draw(&(at + text(count.to_string(), -7, 14.0) + text(shown, 10, 11.0)))?;
            }
        }
    }
    Ok(())
}

/// White for nothing, dark for all of a row.
fn tint(share: f64) -> RGBColor {
    let RGBColor(r, g, b) = color(0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
    let [r, g, b] = [r, g, b].map(|dark| (255.0 - share * f64::from(255 - dark)).round() as u8);
    RGBColor(r, g, b)
}

/// 0 of nothing.
fn share(count: usize, of: usize) -> f64 {
    number(count) / number(of.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a count of rows")]
fn number(count: usize) -> f64 {
    count as f64
}
