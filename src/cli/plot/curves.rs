//! From the rows of metrics files to the curves of a chart.

use std::collections::BTreeMap;
use std::path::Path;

use super::{LossArgs, X};
use crate::cli::chart::MAX_LINES;
use crate::error::{Error, Result};
use crate::metrics::{self, Record};

/// One place of a curve: of several models the least, the quartiles and the greatest, of one model five times its value;
/// NaN where no value is finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) values: [f64; 5],
}

impl Place {
    /// The median.
    pub(super) fn middle(&self) -> f64 {
        self.values[2]
    }
}

/// A curve and how it is told from others.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    pub(super) label: String,
    /// Curves of one number have one color.
    pub(super) number: usize,
    pub(super) kind: Kind,
    pub(super) places: Vec<Place>,
    /// Before it was smoothed; empty where it was not.
    pub(super) raw: Vec<Place>,
    /// Whether its last value is not finite.
    pub(super) diverged: bool,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A line.
    Line,
    /// A line for the median in a band for the others.
    Band,
    /// A line with a dot at each place.
    Validation,
}

/// The curves of all files.
pub(super) fn read(files: &[(String, &Path)], args: &LossArgs) -> Result<Vec<Curve>> {
    let names = [args.column.as_str(), &format!("validation_{}", args.column)];
    let mut curves = Vec::new();
    let mut number = 0;
    for (label, path) in files {
        let table = metrics::read(path, &names)?;
        if !table.found.contains(&true) {
            let text = format!("{} has no column {}: --column names another", path.display(), args.column);
            return Err(Error::Data(text));
        }
        if args.x == X::Time && table.records.iter().any(|record| record.elapsed_s.is_none()) {
            let text = format!("{} has rows without elapsed_s, which --x time needs", path.display());
            return Err(Error::Data(text));
        }
        for (label, records) in split(label, table.records, args.each)? {
            curves.extend(curve(&label, &records, 0, number, args));
            curves.extend(curve(&label, &records, 1, number, args));
            number += 1;
        }
    }
    if number > MAX_LINES {
        let cure = if args.each { "without --each, the models of a file are one band" } else { "name fewer files" };
        return Err(Error::Usage(format!("{number} lines cannot be told apart, at most {MAX_LINES} can: {cure}")));
    }
    Ok(curves)
}

/// The models of a file, each with its label, or all of them as one.
fn split(label: &str, records: Vec<Record>, each: bool) -> Result<Vec<(String, Vec<Record>)>> {
    if !each {
        return Ok(vec![(label.to_owned(), records)]);
    }
    let mut models = BTreeMap::<usize, Vec<Record>>::new();
    for record in records {
        models.entry(record.model).or_default().push(record);
    }
    if models.len() == 1 {
        return Ok(models.into_values().map(|records| (label.to_owned(), records)).collect());
    }
    Ok(models.into_iter().map(|(model, records)| (format!("{label}, model {model}"), records)).collect())
}

/// The curve of one column, if it has values.
fn curve(label: &str, records: &[Record], column: usize, number: usize, args: &LossArgs) -> Option<Curve> {
    let mut last = BTreeMap::new();
    let mut places = Vec::new();
    let mut diverged_at = None;
    for step in records.chunk_by(|a, b| a.step == b.step) {
        let values = || step.iter().filter_map(|record| record.values[column]);
        let Some(record) = step.iter().rfind(|record| record.values[column].is_some()) else { continue };
        #[expect(clippy::cast_precision_loss, reason = "for a place on paper")]
        let x = if args.x == X::Time { record.elapsed_s.unwrap_or(0.0) } else { record.step as f64 };
        places.push(Place { x, values: quartiles(values().filter(|v| v.is_finite()).collect()) });
        last.extend(step.iter().filter_map(|record| Some((record.model, record.values[column]?.is_finite()))));
        match values().any(f64::is_finite) {
            true => diverged_at = None,
            false => diverged_at = diverged_at.or(Some(record.step)),
        }
    }
    let lost = last.values().filter(|&&finite| !finite).count();
    let models = last.len();
    let (kind, mut label) = match (column, models) {
        (_, 0) => return None,
        (1, 1) => (Kind::Validation, format!("{label}, validation")),
        (1, _) => (Kind::Validation, format!("{label}, validation: median")),
        (_, 1) => (Kind::Line, label.to_owned()),
        (_, models) => (Kind::Band, format!("{label}: median of {models} models, quartiles, range")),
    };
    match diverged_at {
        Some(step) => label += &format!(" (diverged at step {step})"),
        None if lost > 0 => label += &format!(" ({lost} diverged)"),
        None => {}
    }
    let raw = if args.smooth > 0.0 && kind != Kind::Validation { places.clone() } else { Vec::new() };
    if !raw.is_empty() {
        smooth(&mut places, args.smooth);
    }
    Some(Curve { label, number, kind, places, raw, diverged: diverged_at.is_some() })
}

/// The least, the quartiles and the greatest of finite values, between neighbors in proportion.
fn quartiles(mut values: Vec<f64>) -> [f64; 5] {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return [f64::NAN; 5] };
    [0, 1, 2, 3, 4].map(|quarter| {
        let (whole, rest) = (last * quarter / 4, last * quarter % 4);
        let (low, high) = (values[whole], values[(whole + 1).min(last)]);
        #[expect(clippy::cast_precision_loss, reason = "0 to 3")]
        let share = rest as f64 / 4.0;
        low + (high - low) * share
    })
}

/// Exponential moving averages, free of the bias to the first value, as TensorBoard's. What is not finite has no part in
/// them and stays.
fn smooth(places: &mut [Place], weight: f64) {
    let (mut sums, mut total) = ([0.0; 5], 0.0);
    for place in places.iter_mut().filter(|place| place.middle().is_finite()) {
        total = total * weight + 1.0 - weight;
        for (sum, value) in sums.iter_mut().zip(&mut place.values) {
            *sum = *sum * weight + *value * (1.0 - weight);
            *value = *sum / total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_those_of_numpy() {
        // numpy.quantile([4, 1, 3, 2, 9, 7], [0, .25, .5, .75, 1])
        assert_eq!(quartiles(vec![4.0, 1.0, 3.0, 2.0, 9.0, 7.0]), [1.0, 2.25, 3.5, 6.25, 9.0], "of six values");
        assert_eq!(quartiles(vec![5.0]), [5.0; 5], "of one value");
        assert!(quartiles(Vec::new()).iter().all(|v| v.is_nan()), "of none");
    }

    #[test]
    fn smoothing_starts_at_the_first_value_and_passes_over_gaps() {
        let mut places: Vec<_> = [2.0, f64::NAN, 4.0, 4.0].iter().map(|&v| Place { x: 0.0, values: [v; 5] }).collect();
        smooth(&mut places, 0.5);
        let got: Vec<_> = places.iter().map(Place::middle).collect();
        assert!((got[0] - 2.0).abs() < 1e-12 && got[1].is_nan(), "{got:?}");
        // (2/4 + 4/2) / (3/4), (2/8 + 4/4 + 4/2) / (7/8)
        assert!((got[2] - 10.0 / 3.0).abs() < 1e-12 && (got[3] - 26.0 / 7.0).abs() < 1e-12, "{got:?}");
    }
}
