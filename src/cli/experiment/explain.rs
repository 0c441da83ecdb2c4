//! Errors of a run with an experiment file: they speak of keys and lines where the user has written those, not flags.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Entry, Experiment};
use crate::error::Error;

impl Experiment {
    /// What clap says of the arguments, where an entry of the file is the reason. `parse` parses these arguments with those of the
    /// command line.
    pub(in super::super) fn explain(
        &self,
        error: &clap::Error,
        parse: impl Fn(&[std::ffi::OsString]) -> Option<clap::Error>,
    ) -> Option<Error> {
        match error.kind() {
            ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
                let entry = flags_of(error, ContextKind::InvalidArg).iter().find_map(|flag| self.entry_of(flag))?;
                let reason = match (std::error::Error::source(error), error.get(ContextKind::ValidValue)) {
                    (Some(reason), _) => reason.to_string(),
                    (None, Some(ContextValue::Strings(values))) if !values.is_empty() => {
                        format!("expected one of {}", values.join(", "))
                    }
                    _ => "expected a value".into(),
                };
                Some(self.error(entry.line, &format!("{} = {}: {reason}", entry.key, entry.shown)))
            }
            ErrorKind::ArgumentConflict => {
                let (one, others) = (flags_of(error, ContextKind::InvalidArg), flags_of(error, ContextKind::PriorArg));
                let ours = one.iter().chain(&others).any(|flag| self.entry_of(flag).is_some());
                // A flag that is given twice is one of the command line.
                (ours && one != others).then(|| {
                    let text = format!("{} cannot be used with {}", one.join(", "), others.join(" and "));
                    Error::Usage(self.named(&text))
                })
            }
            ErrorKind::MissingRequiredArgument => {
                let missing = flags_of(error, ContextKind::InvalidArg);
                let alone = |entry: &&Entry| {
                    let missed = parse(&entry.args).filter(|e| e.kind() == ErrorKind::MissingRequiredArgument);
                    missed.is_some_and(|e| flags_of(&e, ContextKind::InvalidArg) == missing)
                };
                // Where the command line itself lacks it, clap says so.
                let culprit = self.entries.iter().filter(|_| parse(&[]).is_none()).find(alone)?;
                Some(self.error(culprit.line, &format!("{} needs {}", culprit.key, missing.join(" or "))))
            }
            _ => None,
        }
    }

    /// The same error with keys for flags, and their lines.
    pub(in super::super) fn translate(&self, error: Error) -> Error {
        match error {
            Error::Usage(text) => Error::Usage(self.named(&text)),
            Error::Data(text) => Error::Data(self.named(&text)),
            Error::Device(text) => Error::Device(self.named(&text)),
            other => other,
        }
    }

    fn entry_of(&self, flag: &str) -> Option<&Entry> {
        let key = flag.strip_prefix("--")?.replace('-', "_");
        self.entries.iter().find(|entry| entry.key == key && !entry.args.is_empty())
    }

    /// A text with keys for the flags that the file has given.
    fn named(&self, text: &str) -> String {
        let (mut out, mut rest, mut found) = (String::new(), text, Vec::new());
        while let Some((at, flag)) = first_flag(rest) {
            out.push_str(&rest[..at]);
            match self.entry_of(flag) {
                Some(entry) => {
                    out.push_str(&entry.key);
                    let place = format!("{} in line {}", entry.key, entry.line);
                    if !found.contains(&place) {
                        found.push(place);
                    }
                }
                None => out.push_str(flag),
            }
            rest = &rest[at + flag.len()..];
        }
        out.push_str(rest);
        if found.is_empty() { out } else { format!("{out} ({}: {})", self.path.display(), found.join(", ")) }
    }
}

/// The first flag of a text, and where it is.
fn first_flag(text: &str) -> Option<(usize, &str)> {
    let at = text.find("--")?;
    let name = &text[at + 2..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
    Some((at, &text[at..at + 2 + end]))
}

/// The flags of an error of clap, which names them as `--data <FILE>` or `<--data <FILE>|--image <FILE>>`.
fn flags_of(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    let texts = match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    };
    let mut flags = Vec::new();
    for text in &texts {
        let mut rest = text.as_str();
        while let Some((at, flag)) = first_flag(rest) {
            flags.push(flag.to_owned());
            rest = &rest[at + flag.len()..];
        }
    }
    flags
}
