//! The texts of charts: one font, built in, because a machine may have none.

use std::sync::Once;

use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontDesc, FontStyle, IntoFont as _, RGBColor, TextStyle, register_font};

use super::canvas::UNIT;

/// See `assets/README.md`.
pub(super) const FONT: &[u8] = include_bytes!("../../../assets/Roboto-Regular.subset.ttf");

/// As an SVG names it, for machines that have it, or another without serifs.
const FAMILY: &str = "Roboto, Helvetica, Arial, sans-serif";

/// What plotters divides a size by.
const PLOTTERS_SIZE: f64 = 1.24;

const INK: RGBColor = RGBColor(34, 34, 34);

/// Letters of this size in pixels, placed by their anchor.
pub(in crate::cli) fn style(size: f64, h: HPos, v: VPos) -> TextStyle<'static> {
    font(size).color(&INK.to_rgba()).pos(Pos::new(h, v))
}

fn font(size: f64) -> FontDesc<'static> {
    static REGISTERED: Once = Once::new();
    // It is refused only where it is no font, which a test knows.
    REGISTERED.call_once(|| drop(register_font(FAMILY, FontStyle::Normal, FONT)));
    (FAMILY, size * PLOTTERS_SIZE * f64::from(UNIT)).into_font()
}

/// The width of a text in pixels, which in an SVG depends on the fonts of the viewer, too.
pub(in crate::cli) fn text_width(text: &str, size: f64) -> f64 {
    font(size).box_size(text).map_or(0.0, |(width, _)| f64::from(width) / f64::from(UNIT))
}

/// The text without control characters, which XML does not know; its beginning and its end where it is wider than `width`.
pub(in crate::cli) fn shortened(text: &str, size: f64, width: f64) -> String {
    let unknown = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    let letters: Vec<_> = text.chars().map(|c| if unknown(c) { ' ' } else { c }).collect();
    let cut = |keep: usize| {
        let (begin, end) = (keep.div_ceil(2), letters.len() - keep / 2);
        letters[..begin].iter().chain(&['…']).chain(&letters[end..]).collect::<String>()
    };
    let whole = letters.iter().collect::<String>();
    if text_width(&whole, size) <= width {
        return whole;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_of_the_charts() {
        let empty = text_width("\u{1f600}", 1000.0);
        assert!(empty > 0.0, "the font is known, and has a glyph for what it lacks");
        for c in "0123456789 abcxyz ABC.,:;()[]%µ×…−°äéñßλθφπДж".chars() {
            assert!(text_width(&c.to_string(), 1000.0) != empty, "a glyph for {c:?}");
        }
        assert!(text_width("wide", 10.0) > text_width("lie", 10.0), "a proportional font");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let long = "runs/2024/a/very/long/name/of/a/file/metrics.csv";
        let short = shortened(long, 13.0, 150.0);
        assert!(text_width(&short, 13.0) <= 150.0, "{short} is short enough");
        assert!(short.starts_with("runs") && short.contains('…') && short.ends_with(".csv"), "{short}");
        assert_eq!(shortened("m.csv", 13.0, 150.0), "m.csv", "a short text stays");
        assert_eq!(shortened("a\u{1}\nb", 13.0, 150.0), "a  b", "without control characters");
    }
}
