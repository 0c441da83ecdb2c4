//! The values of flags: what is accepted, and what is said of the rest.
//!
//! clap puts the flag and the value in front of every message, so each says only what was expected.

use std::ops::RangeInclusive;

use crate::config::Validation;
use crate::error::Error;
use crate::spec::{Activation, Hyperparameters, Model};

/// Parses by `FromStr`.
pub(super) fn named<T: std::str::FromStr<Err = Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e: Error| e.to_string())
}

/// A whole number within `range`.
pub(super) fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|n| range.contains(n));
        number.and_then(|n| T::try_from(n).ok()).ok_or_else(|| match (range.start(), range.end()) {
            (low, &u64::MAX) => format!("expected a whole number of {low} or more"),
            (low, high) => format!("expected a whole number from {low} to {high}"),
        })
    }
}

/// A finite number of 0 or more.
pub(super) fn at_least_zero(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    number.ok_or_else(|| "expected a number of 0 or more, as 1e-4".into())
}

/// A share below 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|n: &f64| (0.0..1.0).contains(n));
    number.ok_or_else(|| "expected a number of 0 or more and below 1, as 0.1".into())
}

/// The width of a layer.
pub(super) fn width(text: &str) -> Result<usize, String> {
    let width = whole(0..=u64::MAX)(text).map_err(|_| "expected a whole number of 1 or more")?;
    Model::new(width, &[], 1, Activation::Identity).map(|_| width).map_err(|e| e.to_string())
}

/// The widths of `--hidden`.
#[derive(Debug, Clone)]
pub(super) struct Widths(pub(super) Vec<usize>);

/// Widths with commas between them, or `none`.
pub(super) fn widths(text: &str) -> Result<Widths, String> {
    if text == "none" {
        return Ok(Widths(Vec::new()));
    }
    let number = |w: &str| w.trim().parse::<usize>().is_ok_and(|w| w > 0);
    if !text.split(',').all(number) {
        return Err("expected widths of 1 or more with commas between them, as 64,64, or none".into());
    }
    text.split(',').map(width).collect::<Result<_, _>>().map(Widths)
}

/// Why `flag` cannot be given with one kind of what `choice` names, and the kinds that it goes with.
pub(super) fn no_meaning(flag: &str, choice: &str, kind: &str, kinds: impl Iterator<Item = &'static str>) -> Error {
    let kinds = kinds.collect::<Vec<_>>().join(" or ");
    Error::Usage(format!("{flag} has no meaning for {choice} {kind}: leave it out, or use {choice} {kinds}"))
}

/// Names of columns.
#[derive(Debug, Clone)]
pub(super) struct Names(pub(super) Vec<String>);

/// Names with commas between them, of which those that have commas themselves are in quotes, as in a CSV file.
pub(super) fn names(text: &str) -> Result<Names, String> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(text.as_bytes());
    let expected = "expected names with commas between them, those with commas in quotes, as '\"size, m\",color'";
    match reader.records().collect::<Result<Vec<_>, _>>().as_deref() {
        Ok([names]) => Ok(Names(names.iter().map(String::from).collect())),
        _ => Err(expected.into()),
    }
}

/// A name as [`names`] reads it.
pub(super) fn name_text(name: &str) -> String {
    let plain = !name.contains([',', '"', '\r', '\n']) && name.trim() == name;
    if plain { name.into() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The value of `--iters-per-submit`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Iters(pub(super) Option<usize>);

/// A number of steps, or `auto`.
pub(super) fn iters(text: &str) -> Result<Iters, String> {
    match text {
        "auto" => Ok(Iters(None)),
        _ => match text.parse() {
            Ok(n) if n > 0 => Ok(Iters(Some(n))),
            _ => Err("expected auto, or a whole number of 1 or more".into()),
        },
    }
}

/// A number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number, as 0.001 or 1e-3".into())
}

/// The value of `--validation`: a share of the rows, or a file.
pub(super) fn validation(text: &str) -> Result<Validation, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(Validation::Share(share)),
        Ok(_) => Err("expected a share above 0 and below 1, as 0.2, or a file".into()),
        Err(_) if text.trim().is_empty() => Err("expected a share of the rows, as 0.2, or a file".into()),
        Err(_) => Ok(Validation::File(text.into())),
    }
}

/// A value of the hyperparameter `name`.
pub(super) fn hyper(name: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let value = number(text)?;
        possible(name, value).map(|()| value)
    }
}

/// Whether a hyperparameter may have a value.
fn possible(name: &str, value: f64) -> Result<(), String> {
    let mut probe = Hyperparameters::default();
    probe.set(name, value).map_err(|e| e.to_string())?;
    #[expect(clippy::cast_possible_truncation, reason = "whether it survives is what is asked")]
    if !(value as f32).is_finite() {
        return Err("expected a finite number within the range of 32-bit floats".into());
    }
    probe.validate().map_err(|e| e.to_string())
}

/// A hyperparameter and the values to try. Its name may be spelled as that of its flag, with dashes.
pub(super) fn sweep(text: &str) -> Result<(String, Vec<f64>), String> {
    let expected = "expected NAME=V1,V2,... with numbers, as learning_rate=1e-4,1e-3";
    let (name, values) = text.split_once('=').ok_or(expected)?;
    let name = name.trim().replace('-', "_");
    let values = values.split(',').map(|v| v.trim().parse::<f64>()).collect::<Result<Vec<_>, _>>();
    let values = values.map_err(|_| expected)?;
    values.iter().try_for_each(|&value| possible(&name, value))?;
    Ok((name, values))
}

/// A probability below 1.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|p| (0.0..1.0).contains(p));
    number.ok_or_else(|| "expected a probability from 0 to below 1, as 0.1".into())
}

/// A positive number within the range of 32-bit floats.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    #[expect(clippy::cast_possible_truncation, reason = "whether it survives is what is asked")]
    let possible = |x: &f64| (*x as f32) > 0.0 && (*x as f32).is_finite();
    text.trim().parse().ok().filter(possible).ok_or_else(|| "expected a positive number, as 1 or 0.5".into())
}
