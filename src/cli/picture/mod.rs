//! Pictures: shapes as plain data, written as SVG or PNG. The only module that knows tiny-skia and ttf-parser.

mod font;
mod png;
mod shapes;
mod svg;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;

pub(super) use font::{shortened, text_width};
pub(super) use shapes::{Align, Drawing, Ink, Shape, dot};

/// The value of a flag that names a picture.
pub(super) fn parse_path(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match Format::of(&path) {
        Some(_) => Ok(path),
        None => Err("expected a name that ends in .svg or .png".into()),
    }
}

/// How a picture is written.
#[derive(Debug, Clone, Copy)]
enum Format {
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
pub(super) struct Target {
    flag: &'static str,
    path: PathBuf,
    format: Format,
}

impl Target {
    /// The file that `flag` names, which is not touched before [`Target::draw`]; a folder that is missing is found now.
    pub(super) fn open(flag: &'static str, path: &Path) -> Result<Self> {
        let refuse = |text: &str| Error::Usage(format!("{flag} {}: {text}", path.display()));
        let format = Format::of(path).ok_or_else(|| refuse("expected a name that ends in .svg or .png"))?;
        if path.is_dir() {
            return Err(refuse("expected a file, found a folder"));
        }
        match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) if !folder.is_dir() => {
                Err(refuse(&format!("there is no folder {}; make it first", folder.display())))
            }
            _ => Ok(Self { flag, path: path.into(), format }),
        }
    }

    /// Writes the picture.
    pub(super) fn draw(&self, drawing: &Drawing) -> Result<()> {
        let bytes = match self.format {
            Format::Svg => svg::write(drawing).into_bytes(),
            Format::Png => png::write(drawing).map_err(|e| Error::io(&self.path, std::io::Error::other(e)))?,
        };
        files::replace(self.flag, &self.path, &bytes)
    }
}
