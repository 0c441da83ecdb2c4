//! The file of a picture: SVG as it was drawn, or its pixels as PNG.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::text::FONT;
use crate::error::{Error, Result};
use crate::files;

/// The value of a flag that names a picture.
pub(in crate::cli) fn parse_path(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match Format::of(&path) {
        Some(_) => Ok(path),
        None => Err("expected a name that ends in .svg or .png".into()),
    }
}

/// How a picture is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Format {
    Svg,
    Png,
}

impl Format {
    /// By the end of the name.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        let is = |name: &str| extension.eq_ignore_ascii_case(name);
        if is("svg") { Some(Self::Svg) } else { is("png").then_some(Self::Png) }
    }
}

/// The file to draw to.
pub(in crate::cli) struct Target {
    flag: &'static str,
    pub(in crate::cli) path: PathBuf,
    pub(in crate::cli) format: Format,
}

impl Target {
    /// The file that `flag` names, which is not touched before it is written; a folder that is missing is found now.
    pub(in crate::cli) fn open(flag: &'static str, path: &Path) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("{flag} {}: {text}", path.display()));
        let format = Format::of(path).ok_or_else(|| refuse("expected a name that ends in .svg or .png".into()))?;
        files::check(path).map_err(refuse)?;
        Ok(Self { flag, path: path.into(), format })
    }

    /// Writes a picture that was drawn as SVG.
    pub(in crate::cli) fn write_svg(&self, svg: &str) -> Result<()> {
        match self.format {
            Format::Svg => self.write(svg.as_bytes()),
            Format::Png => self.write(&png(svg).map_err(|e| Error::io(&self.path, std::io::Error::other(e)))?),
        }
    }

    /// Writes the bytes of the file.
    pub(in crate::cli) fn write(&self, bytes: &[u8]) -> Result<()> {
        files::replace(self.flag, &self.path, bytes)
    }
}

/// Pixels of a PNG per pixel of an SVG, for screens of today.
const SCALE: f32 = 2.0;

/// The pixels of an SVG, or why there are none.
fn png(svg: &str) -> std::result::Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let [width, height] = [tree.size().width(), tree.size().height()].map(|length| (length * SCALE).ceil() as u32);
    let mut map = Pixmap::new(width, height).ok_or_else(|| format!("{width} by {height} pixels are too many"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut map.as_mut());
    map.encode_png().map_err(|e| e.to_string())
}

/// An SVG with the outlines of its letters.
pub(super) fn tree(svg: &str) -> std::result::Result<Tree, String> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|e| e.to_string())
}
