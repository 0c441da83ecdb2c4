//! Drawings as PNG, with twice the pixels for screens of today.

use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::font;
use super::shapes::{Align, Drawing, Ink, Shape};

/// Pixels of the file per pixel of the drawing.
const SCALE: f32 = 2.0;

/// The bytes of the file, or why it cannot be made.
pub(super) fn write(drawing: &Drawing) -> Result<Vec<u8>, String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let size = |length: f32| (length * SCALE).ceil() as u32;
    let (width, height) = (size(drawing.width), size(drawing.height));
    let mut map = Pixmap::new(width, height).ok_or_else(|| format!("{width} by {height} pixels are too many"))?;
    map.fill(Color::WHITE);
    for shape in &drawing.shapes {
        draw(shape, &mut map);
    }
    map.encode_png().map_err(|e| e.to_string())
}

fn draw(shape: &Shape, map: &mut Pixmap) {
    let scaled = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Line { points, ink, width, dash } => {
            let dash = StrokeDash::new(dash.to_vec(), 0.0);
            let stroke = Stroke { width: *width, line_join: LineJoin::Round, dash, ..Stroke::default() };
            if let Some(path) = path(points, false) {
                map.stroke_path(&path, &paint(*ink), &stroke, scaled, None);
            }
        }
        Shape::Area { points, ink } => {
            if let Some(path) = path(points, true) {
                map.fill_path(&path, &paint(*ink), FillRule::Winding, scaled, None);
            }
        }
        Shape::Text { text, at: [x, y], size, align, turned, ink } => {
            let width = font::text_width(text, *size);
            let begin = match align {
                Align::Left => 0.0,
                Align::Center => -width / 2.0,
                Align::Right => -width,
            };
            let turn = if *turned { -90.0 } else { 0.0 };
            let place = scaled.pre_translate(*x, *y).pre_rotate(turn).pre_translate(begin, 0.0).pre_scale(*size, *size);
            // A text of blanks has no outline.
            if let Some(path) = font::outline(text) {
                map.fill_path(&path, &paint(*ink), FillRule::Winding, place, None);
            }
        }
    }
}

fn path(points: &[[f32; 2]], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    path.move_to(first[0], first[1]);
    for [x, y] in rest {
        path.line_to(*x, *y);
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn paint(ink: Ink) -> Paint<'static> {
    let [r, g, b] = ink.color;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
    let alpha = (ink.alpha.clamp(0.0, 1.0) * 255.0).round() as u8;
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, alpha);
    paint
}
