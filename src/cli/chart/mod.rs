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
pub(super) mod tests {
    /// Fails where a part of a picture is outside of it.
    pub(in crate::cli) fn check_inside(svg: &str, what: &str) {
        let tree = super::file::tree(svg).unwrap_or_else(|e| panic!("{what}: {e}: {svg}"));
        let (size, all) = (tree.size(), tree.root().abs_stroke_bounding_box());
        let within = all.left() >= -1.0 && all.top() >= -1.0;
        let within = within && all.right() <= size.width() + 1.0 && all.bottom() <= size.height() + 1.0;
        assert!(within, "{all:?} is outside of {size:?}: {what}");
    }
}
