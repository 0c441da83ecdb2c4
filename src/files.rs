//! Files that are written whole or not at all.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Gives a file new contents: they are written beside it, handed to the disk, and renamed. A link stays a link, and a stream,
/// as a pipe, is written as it is. `flag` is named in errors.
///
/// # Errors
/// [`Error::Usage`] when it cannot be written; it is then as it was.
pub fn replace(flag: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    replace_all(flag, &[(path, bytes)])
}

/// Gives files new contents, as [`replace`] does one. None is renamed before all are written.
///
/// # Errors
/// [`Error::Usage`] when one cannot be written; all are then as they were.
pub fn replace_all(flag: &str, files: &[(&Path, &[u8])]) -> Result<()> {
    let written = files.iter().map(|&(path, bytes)| Written::new(flag, path, bytes));
    written.collect::<Result<Vec<_>>>()?.into_iter().try_for_each(Written::rename)
}

/// A file that is about to have its name.
enum Written<'a> {
    Beside(NamedTempFile, PathBuf),
    Stream(&'a Path, &'a [u8]),
}

impl<'a> Written<'a> {
    fn new(flag: &str, path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let refuse = |text: String| Error::Usage(format!("{flag} {}: {text}", path.display()));
        check(path).map_err(refuse)?;
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(Self::Stream(path, bytes));
        }
        let target = resolved(path);
        let folder = folder_of(&target);
        let file = partial(&folder, OsStr::new("."));
        let mut file = file.map_err(|e| refuse(format!("its folder cannot be written: {e}")))?;
        file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|e| Error::io(&target, e))?;
        Ok(Self::Beside(file, target))
    }

    fn rename(self) -> Result<()> {
        match self {
            Self::Beside(file, target) => file.persist(&target).map(|_| ()).map_err(|e| Error::io(&target, e.error)),
            Self::Stream(path, bytes) => std::fs::write(path, bytes).map_err(|e| Error::io(path, e)),
        }
    }
}

/// Why there can be no file of this name, if there cannot; nothing is written.
pub(crate) fn check(path: &Path) -> std::result::Result<(), String> {
    if path.is_dir() || path.file_name().is_none() {
        return Err("expected a file, found a folder; add the name of a file".into());
    }
    let folder = folder_of(&resolved(path));
    if folder.is_dir() { Ok(()) } else { Err(format!("there is no folder {}; make it first", folder.display())) }
}

/// What the name of a half-written file ends with.
pub(crate) const PARTIAL: &str = ".partial";

/// A new file in a folder, whose name is `prefix`, six characters, and [`PARTIAL`].
pub(crate) fn partial(folder: &Path, prefix: &OsStr) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(PARTIAL);
    // As any other file that is made, not for the user alone.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

/// The file at the end of a link, also where there is none yet; other paths are as they are, those of files without links.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let to = path.read_link();
        to.map_or_else(|_| path.to_path_buf(), |to| folder_of(path).join(to))
    })
}

/// Whether two paths are of the same file.
pub fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Whether what is written to one path would replace what is written to the other, whether or not anything is there yet. A
/// stream, as `/dev/null`, takes both.
pub(crate) fn same_place(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let path = resolved(path);
        let place = folder_of(&path).canonicalize().ok()?.join(path.file_name()?);
        Some(place).filter(|place| !place.exists() || place.is_file() || place.is_dir())
    };
    place(a).is_some_and(|a| place(b).is_some_and(|b| a == b))
}
