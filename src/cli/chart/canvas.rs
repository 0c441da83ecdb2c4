//! What charts have in common: the paper, axes with their texts, and lines that differ without color.

use std::f64::consts::TAU;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::{CoordTranslate, Shift, cartesian::Cartesian2d};
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::element::{DashedPathElement, EmptyElement, PathElement, Polygon};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, FontTransform, RGBColor, ShapeStyle, WHITE};

use super::axis::Axis;
use super::text::{shortened, style, text_width};
use crate::error::{Error, Result};

/// Units of plotters, which counts in whole ones, per pixel.
pub(in crate::cli) const UNIT: i32 = 4;

/// A part of the paper with coordinates.
type Sheet<'a, C> = DrawingArea<SVGBackend<'a>, C>;
/// A part of the paper, in units.
pub(in crate::cli) type Area<'a> = Sheet<'a, Shift>;
/// Axes.
pub(in crate::cli) type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;
/// What drawing gives.
pub(in crate::cli) type Drawn<T = ()> = std::result::Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// From dark to light, so that they differ on paper without color, and for eyes that tell few colors apart.
const COLORS: [RGBColor; 5] = [
    RGBColor(27, 20, 100),
    RGBColor(170, 30, 60),
    RGBColor(0, 140, 115),
    RGBColor(225, 115, 25),
    RGBColor(110, 175, 235),
];
/// Lengths of strokes and gaps in pixels. Their number and that of the colors have no common divisor, so that the pairs of both
/// take long to come again.
const DASHES: [Option<[i32; 2]>; 4] = [None, Some([7, 3]), Some([2, 2]), Some([14, 5])];

/// The most lines whose styles differ.
pub(in crate::cli) const MAX_LINES: usize = COLORS.len() * DASHES.len();

const AXIS: RGBColor = RGBColor(34, 34, 34);
const GRID: RGBColor = RGBColor(221, 221, 221);
const FAINT_GRID: RGBColor = RGBColor(241, 241, 241);

/// An SVG of this many pixels with what `draw` draws.
///
/// # Errors
/// [`Error::Data`] with the reason of plotters.
pub(in crate::cli) fn draw(width: i32, height: i32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String> {
    let mut svg = String::new();
    let [wide, high] = [width, height].map(|length| (length * UNIT).unsigned_abs());
    {
        let area = SVGBackend::with_string(&mut svg, (wide, high)).into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
        drawn.map_err(|e| Error::Data(format!("the picture cannot be drawn: {e}")))?;
    }
    let (units, pixels) =
        (format!("width=\"{wide}\" height=\"{high}\""), format!("width=\"{width}\" height=\"{height}\""));
    Ok(svg.replacen(&units, &format!("{pixels} stroke-linejoin=\"round\""), 1))
}

/// The color of a number.
pub(in crate::cli) fn color(number: usize) -> RGBColor {
    COLORS[number % COLORS.len()]
}

/// A stroke of this width in pixels.
pub(in crate::cli) fn pen(color: impl Color, width: f64) -> ShapeStyle {
    color.stroke_width(units(width).unsigned_abs())
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Line {
    pub(in crate::cli) style: ShapeStyle,
    pub(in crate::cli) dash: Option<[i32; 2]>,
}

impl Line {
    /// The one of a number, of this width in pixels.
    pub(in crate::cli) fn of(number: usize, width: f64) -> Self {
        Self { style: pen(color(number), width), dash: DASHES[number % DASHES.len()] }
    }
}

/// A line through points, which are pairs of values or places in units.
pub(in crate::cli) fn polyline<C: CoordTranslate>(area: &Sheet<'_, C>, points: Vec<C::From>, line: Line) -> Drawn
where
    C::From: Clone + 'static,
{
    match line.dash {
        None => area.draw(&PathElement::new(points, line.style)),
        Some([stroke, gap]) => area.draw(&DashedPathElement::new(points, stroke * UNIT, gap * UNIT, line.style)),
    }
}

/// A point whose shape and color go by a number, with a white edge.
pub(in crate::cli) fn point<C: CoordTranslate>(area: &Sheet<'_, C>, at: C::From, number: usize, radius: f64) -> Drawn
where
    C::From: Clone + 'static,
{
    let (corners, turn) = [(16, 0.0), (3, -0.25), (4, 0.125), (4, 0.0)][number % 4];
    let corner = |i: i32| {
        let angle = TAU * (f64::from(i) / f64::from(corners) + turn);
        (units(radius * angle.cos()), units(radius * angle.sin()))
    };
    let inside: Vec<_> = (0..corners).map(corner).collect();
    let edge: Vec<_> = (0..=corners).map(corner).collect();
    let shape = EmptyElement::at(at) + Polygon::new(inside, color(number));
    area.draw(&(shape + PathElement::new(edge, pen(WHITE, 0.5))))
}

/// What stands at axes.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct Labels {
    pub(in crate::cli) title: Option<String>,
    pub(in crate::cli) x: String,
    pub(in crate::cli) y: String,
}

const SMALL: f64 = 13.0;

/// Axes that fill an area, with grid and texts.
pub(in crate::cli) fn axes<'a>(area: &Area<'a>, labels: &Labels, x: Axis, y: Axis) -> Drawn<Plane<'a>> {
    let width = pixels(area.dim_in_pixel().0);
    let area = match &labels.title {
        Some(title) => {
            let title = shortened(title, 20.0, width - 60.0);
            area.margin(8 * UNIT, 0, 0, 0).titled(&title, style(20.0, HPos::Center, VPos::Top))?
        }
        None => area.clone(),
    };
    let widest = |axis: &Axis| axis.ticks().iter().map(|(_, text)| text_width(text, SMALL)).fold(0.0, f64::max);
    let (left, right) = (widest(&y) + 38.0, (widest(&x) / 2.0).max(24.0) + 4.0);
    // Names that are wider than their room read upward.
    let names: f64 = x.ticks().iter().filter(|_| x.has_names()).map(|_| widest(&x) + 6.0).sum();
    let turned = names > width - left - right - 8.0;
    let below = if turned { widest(&x) + 40.0 } else { 48.0 };
    let mut plane = ChartBuilder::on(&area)
        .margin_top(14 * UNIT)
        .margin_left(8 * UNIT)
        .margin_right(units(if turned { 24.0 } else { right }))
        .x_label_area_size(units(below))
        .y_label_area_size(units(left))
        .build_cartesian_2d(x, y)?;
    mesh(&mut plane, turned)?;
    describe(&plane, labels, below - 8.0, &area)?;
    if turned {
        turn_names(&plane, &area)?;
    }
    Ok(plane)
}

/// What the axes are of: plotters' mesh would draw it twice. The lower text ends `below` the axis.
fn describe(plane: &Plane<'_>, labels: &Labels, below: f64, area: &Area<'_>) -> Drawn {
    let ((columns, rows), (left, top)) = (plane.plotting_area().get_pixel_range(), area.get_base_pixel());
    let (middle, center) = (i32::midpoint(columns.start, columns.end), i32::midpoint(rows.start, rows.end));
    let (width, height) = area.dim_in_pixel();
    let x = shortened(&labels.x, 14.0, pixels(width) - 120.0);
    let at = (middle - left, rows.end - top + units(below));
    area.draw_text(&x, &style(14.0, HPos::Center, VPos::Bottom), at)?;
    let y = shortened(&labels.y, 14.0, pixels(height) - 80.0);
    let upward = style(14.0, HPos::Center, VPos::Top).transform(FontTransform::Rotate270);
    area.draw_text(&y, &upward, (8 * UNIT, center - top))
}

/// The names at the lower axis, each ending at it.
fn turn_names(plane: &Plane<'_>, area: &Area<'_>) -> Drawn {
    let sheet = plane.plotting_area();
    let (left, top) = area.get_base_pixel();
    let below = sheet.get_pixel_range().1.end - top + 8 * UNIT;
    let upward = style(SMALL, HPos::Right, VPos::Center).transform(FontTransform::Rotate270);
    let names = sheet.as_coord_spec().x_spec().ticks();
    names.into_iter().try_for_each(|(value, name)| {
        area.draw_text(&name, &upward, (plane.backend_coord(&(value, 0.0)).0 - left, below))
    })
}

/// The grid, and the texts of values; without those at the lower axis where they are `turned`.
fn mesh(plane: &mut Plane<'_>, turned: bool) -> Drawn {
    let area = plane.plotting_area();
    let [x_names, y_names] = [area.as_coord_spec().x_spec(), area.as_coord_spec().y_spec()].map(Axis::has_names);
    let nothing = |_: &f64| String::new();
    let mut mesh = plane.configure_mesh();
    mesh.x_labels(Axis::LABELS)
        .y_labels(Axis::LABELS)
        .axis_style(pen(AXIS, 1.0))
        .bold_line_style(pen(GRID, 1.0))
        .light_line_style(pen(FAINT_GRID, 1.0))
        .set_all_tick_mark_size(4 * UNIT)
        .label_style(style(SMALL, HPos::Center, VPos::Center));
    if x_names {
        mesh.disable_x_mesh();
    }
    if y_names {
        mesh.disable_y_mesh();
    }
    if turned {
        mesh.x_label_formatter(&nothing);
    }
    mesh.draw()
}

/// Units in pixels.
fn pixels(units: u32) -> f64 {
    f64::from(units) / f64::from(UNIT)
}

/// Pixels in units.
#[expect(clippy::cast_possible_truncation, reason = "a length on paper")]
pub(in crate::cli) fn units(pixels: f64) -> i32 {
    (pixels * f64::from(UNIT)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_differ_without_color() {
        let gray = |RGBColor(r, g, b): RGBColor| 0.299 * f32::from(r) + 0.587 * f32::from(g) + 0.114 * f32::from(b);
        for pair in COLORS.windows(2) {
            assert!(gray(pair[1]) - gray(pair[0]) > 12.0, "{pair:?} are alike in gray");
        }
        let styles: std::collections::HashSet<_> =
            (0..MAX_LINES).map(|i| (i % COLORS.len(), i % DASHES.len())).collect();
        assert_eq!(styles.len(), MAX_LINES, "every line has its own style");
    }
}
