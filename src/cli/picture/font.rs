//! The letters of pictures: one font, built in, because a machine may have none.

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// See `assets/README.md`.
const FONT: &[u8] = include_bytes!("../../../assets/Roboto-Regular.subset.ttf");

fn face() -> Option<Face<'static>> {
    Face::parse(FONT, 0).ok()
}

/// The glyphs of a text with their distances from its beginning, and its width, all for a size of 1.
fn layout(face: &Face<'_>, text: &str) -> (Vec<(GlyphId, f32)>, f32) {
    let unit = f32::from(face.units_per_em());
    let mut x = 0.0;
    let place = |c| {
        // The first glyph stands for those that the font lacks.
        let glyph = face.glyph_index(c).unwrap_or(GlyphId(0));
        let at = x;
        x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) / unit;
        (glyph, at)
    };
    let glyphs = text.chars().map(place).collect();
    (glyphs, x)
}

/// The width of a text in pixels. In an SVG the font of the viewer decides, which may be wider.
pub(in crate::cli) fn text_width(text: &str, size: f32) -> f32 {
    face().map_or(0.0, |face| layout(&face, text).1 * size)
}

/// The text, or its beginning and its end where it is wider than `width`.
pub(in crate::cli) fn shortened(text: &str, size: f32, width: f32) -> String {
    let letters: Vec<_> = text.chars().collect();
    let cut = |keep: usize| {
        let (begin, end) = (keep.div_ceil(2), letters.len() - keep / 2);
        letters[..begin].iter().chain(&['…']).chain(&letters[end..]).collect::<String>()
    };
    if text_width(text, size) <= width {
        return text.into();
    }
    let (mut low, mut high) = (0, letters.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if text_width(&cut(middle), size) <= width {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    cut(low)
}

/// The outlines of a text from the beginning of its baseline, for a size of 1.
pub(super) fn outline(text: &str) -> Option<Path> {
    let face = face()?;
    let unit = 1.0 / f32::from(face.units_per_em());
    let mut path = PathBuilder::new();
    for (glyph, x) in layout(&face, text).0 {
        let mut pen = Pen(PathBuilder::new());
        face.outline_glyph(glyph, &mut pen);
        // Fonts count upward.
        let placed = pen.0.finish().and_then(|p| p.transform(Transform::from_row(unit, 0.0, 0.0, -unit, x, 0.0)));
        if let Some(placed) = placed {
            path.push_path(&placed);
        }
    }
    path.finish()
}

struct Pen(PathBuilder);

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_of_the_charts() {
        let face = face().expect("the font is intact");
        for c in "0123456789 abcxyz ABC.,:;()[]%µ×…−°äéñßλθφπДж".chars() {
            assert!(face.glyph_index(c).is_some(), "a glyph for {c:?}");
        }
        assert!(text_width("wide", 10.0) > text_width("lie", 10.0), "a proportional font");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let long = "runs/2024/a/very/long/name/of/a/file/metrics.csv";
        let short = shortened(long, 13.0, 150.0);
        assert!(text_width(&short, 13.0) <= 150.0, "{short} is short enough");
        assert!(short.starts_with("runs") && short.contains('…') && short.ends_with("cs.csv"), "{short}");
        assert_eq!(shortened("m.csv", 13.0, 150.0), "m.csv", "a short text stays");
    }
}
