//! What the value of a key may be: by the type of its flag, read from TOML and written to it.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Arg;
use toml::de::{DeInteger, DeTable, DeValue};

use super::super::schedule::Boundaries;
use super::super::values::{self, Iters, Names, Widths};
use crate::config::Validation;

/// A kind of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// On or off.
    Switch,
    Whole,
    Number,
    Text,
    Path,
    /// A number, or a path.
    Place,
    /// One of some names.
    Name,
    /// A number, or a name.
    Any,
    Widths,
    /// Texts.
    Names,
    /// A number for each step.
    Boundaries,
    /// Numbers for each name.
    Sweep,
}

type Words = Result<Vec<OsString>, &'static str>;

impl Kind {
    /// That of a flag.
    pub(super) fn of(arg: &Arg) -> Self {
        let id = arg.get_value_parser().type_id();
        let is = |types: &[TypeId]| types.iter().any(|of| id == *of);
        match () {
            () if !arg.get_action().takes_values() => Self::Switch,
            () if is(&[TypeId::of::<(String, Vec<f64>)>()]) => Self::Sweep,
            () if is(&[TypeId::of::<Widths>()]) => Self::Widths,
            () if is(&[TypeId::of::<Boundaries>()]) => Self::Boundaries,
            () if is(&[TypeId::of::<Validation>()]) => Self::Place,
            () if is(&[TypeId::of::<PathBuf>()]) => Self::Path,
            () if is(&[TypeId::of::<f64>()]) => Self::Number,
            () if is(&[TypeId::of::<u64>(), TypeId::of::<u32>(), TypeId::of::<usize>()]) => Self::Whole,
            () if is(&[TypeId::of::<Names>()]) => Self::Names,
            () if is(&[TypeId::of::<String>()]) => Self::Text,
            () if is(&[TypeId::of::<Iters>()]) => Self::Any,
            () => Self::Name,
        }
    }

    /// What the table of keys says of it.
    #[cfg(test)]
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Switch => "true, false",
            Self::Whole => "whole number",
            Self::Number => "number",
            Self::Text => "text",
            Self::Path => "path",
            Self::Place => "number or path",
            Self::Name => "name",
            Self::Any => "number or name",
            Self::Widths => "list of whole numbers",
            Self::Names => "list of texts",
            Self::Boundaries => "`{ step = factor }`",
            Self::Sweep => "`{ name = [numbers] }`",
        }
    }

    /// The values that a flag must be given to say the same; of a switch that is on one without a text. Relative paths begin in
    /// `folder`.
    ///
    /// # Errors
    /// What was expected.
    pub(super) fn words(self, value: &DeValue<'_>, folder: &Path) -> Result<Vec<Option<OsString>>, &'static str> {
        match (self, value) {
            (Self::Switch, DeValue::Boolean(on)) => return Ok(if *on { vec![None] } else { Vec::new() }),
            (Self::Switch, _) => return Err("true or false"),
            _ => {}
        }
        let one = |text: String| Ok(vec![OsString::from(text)]);
        let words: Words = match (self, value) {
            (
                Self::Whole | Self::Number | Self::Place | Self::Any | Self::Name,
                DeValue::Integer(_) | DeValue::Float(_),
            ) => number(value).ok_or("a number").and_then(one),
            (Self::Path, DeValue::String(path)) => Ok(vec![beside(folder, path)]),
            (Self::Place, DeValue::String(path)) if path.trim().parse::<f64>().is_err() => {
                Ok(vec![beside(folder, path)])
            }
            (
                Self::Place | Self::Text | Self::Any | Self::Name | Self::Widths | Self::Boundaries,
                DeValue::String(text),
            ) => one(text.to_string()),
            (Self::Names | Self::Sweep, DeValue::String(text)) => one(text.to_string()),
            (Self::Widths, DeValue::Array(widths)) if widths.is_empty() => one("none".into()),
            (Self::Widths, DeValue::Array(_)) => numbers(value).ok_or("widths, as [64, 64]").and_then(one),
            (Self::Names | Self::Sweep, DeValue::Array(list)) => {
                let text = |item: &toml::Spanned<DeValue<'_>>| item.get_ref().as_str().map(OsString::from);
                list.iter().map(text).collect::<Option<_>>().ok_or("texts, as [\"a\", \"b\"]")
            }
            (Self::Boundaries, DeValue::Table(steps)) => {
                let pairs =
                    in_order(steps).into_iter().map(|(step, factor)| Some(format!("{step}={}", number(factor)?)));
                let pairs: Option<Vec<_>> = pairs.collect();
                pairs.ok_or("factors, as { 2000 = 0.5, 5000 = 0.1 }").and_then(|pairs| one(pairs.join(",")))
            }
            (Self::Sweep, DeValue::Table(names)) => {
                let sweep =
                    |(name, values): (&str, &DeValue<'_>)| Some(OsString::from(format!("{name}={}", numbers(values)?)));
                let words: Option<Vec<_>> = in_order(names).into_iter().map(sweep).collect();
                words.ok_or("numbers for each name, as { learning_rate = [1e-4, 1e-3] }")
            }
            _ => Err(self.expected()),
        };
        let words = words?;
        // In a list each text is one name, whatever it has.
        let in_list = self == Self::Names && value.is_array();
        let word = |word: OsString| if in_list { values::name_text(&word.to_string_lossy()).into() } else { word };
        Ok(words.into_iter().map(|one| Some(word(one))).collect())
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Text => "a text, as \"...\"",
            Self::Path => "a path, as \"folder/file\"",
            Self::Place => "a number, as 0.2, or a path, as \"folder/file\"",
            Self::Name => "a name, as \"...\"",
            Self::Any => "a name, as \"auto\", or a number",
            Self::Widths => "widths, as [64, 64]",
            Self::Names => "texts, as [\"a\", \"b\"]",
            Self::Boundaries => "factors, as { 2000 = 0.5, 5000 = 0.1 }",
            Self::Sweep => "numbers for each name, as { learning_rate = [1e-4, 1e-3] }",
        }
    }

    /// The values of a flag as TOML.
    ///
    /// # Errors
    /// A value that is not in UTF-8.
    pub(super) fn toml(self, values: &[&OsStr]) -> Result<String, OsString> {
        let texts: Vec<_> = values.iter().map(|v| v.to_str().ok_or(v.to_os_string())).collect::<Result<_, _>>()?;
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let braces =
            |items: Vec<String>| if items.is_empty() { "{}".into() } else { format!("{{ {} }}", items.join(", ")) };
        let first = texts.first().copied().unwrap_or_default().trim();
        Ok(match self {
            Self::Whole | Self::Number | Self::Place | Self::Any | Self::Name => {
                scalar(first).unwrap_or_else(|| quoted(texts.first().copied().unwrap_or_default()))
            }
            Self::Widths if first == "none" => "[]".into(),
            Self::Widths => list(first.split(',').filter_map(scalar).collect()),
            Self::Names => {
                let names = texts.into_iter().filter_map(|text| values::names(text).ok()).flat_map(|names| names.0);
                list(names.map(|name| quoted(&name)).collect())
            }
            Self::Boundaries => {
                let pair = |pair: &str| {
                    pair.split_once('=').and_then(|(k, v)| Some(format!("{} = {}", scalar(k)?, scalar(v)?)))
                };
                braces(first.split(',').filter_map(pair).collect())
            }
            Self::Sweep => braces(texts.into_iter().filter_map(sweep).collect()),
            Self::Switch | Self::Text | Self::Path => quoted(texts.first().copied().unwrap_or_default()),
        })
    }
}

/// An entry of `sweep`.
fn sweep(text: &str) -> Option<String> {
    let (name, values) = text.split_once('=')?;
    let values: Vec<_> = values.split(',').filter_map(scalar).collect();
    Some(format!("{} = [{}]", name.trim().replace('-', "_"), values.join(", ")))
}

/// A number as TOML writes it: one with a point or an exponent is none for whole numbers, and the other way round.
fn scalar(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.to_string());
    }
    let number = text.parse::<f64>().ok()?;
    Some(format!("{number:?}").replace("NaN", "nan"))
}

/// A text as JSON writes it, which is TOML too but for one control character.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn beside(folder: &Path, path: &str) -> OsString {
    // An empty path is refused later, where a folder would not be.
    if path.is_empty() { OsString::new() } else { folder.join(path).into_os_string() }
}

fn number(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => whole(number),
        _ => None,
    }
}

fn whole(number: &DeInteger<'_>) -> Option<String> {
    let parsed = i128::from_str_radix(number.as_str(), number.radix()).ok()?;
    Some(parsed.to_string())
}

/// A number, or a list of them with commas between them.
fn numbers(value: &DeValue<'_>) -> Option<String> {
    let Some(list) = value.as_array() else { return number(value) };
    let all: Option<Vec<_>> = list.iter().map(|item| number(item.get_ref())).collect();
    all.map(|all| all.join(","))
}

/// The entries of a table as they stand in the text.
fn in_order<'a>(table: &'a DeTable<'_>) -> Vec<(&'a str, &'a DeValue<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| (&**key.get_ref(), value.get_ref())).collect()
}
