//! Charts: drawn by plotters as SVG, which resvg makes the pixels of a PNG. The only module that knows the fonts and the files.

mod axis;
mod canvas;
mod file;
mod legend;
mod text;

pub(super) use axis::Axis;
pub(super) use canvas::{Area, Drawn, Labels, Line, MAX_LINES, Plane, UNIT, axes, color, draw, pen, point, polyline};
pub(super) use file::{Format, Target, parse_path};
pub(super) use legend::{Entry, INNER, Legend, Mark, OUTER};
pub(super) use text::{shortened, style, text_width};

#[cfg(test)]
#[path = "../../../tests/integration/svg.rs"]
pub(super) mod svg;
