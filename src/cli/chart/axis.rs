//! Axes: plotters' linear and logarithmic ones as one type, and which values are written at them.

use std::ops::Range;

use plotters::coord::combinators::{IntoLogRange as _, LogCoord};
use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;

use crate::cli::output::thousands;

/// An axis from one value to another, logarithmic or not, or one of names.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Axis {
    log: bool,
    low: f64,
    high: f64,
    /// Those of the whole numbers from 0, each in the middle of the unit that begins there; empty where values have numbers.
    names: Vec<String>,
}

impl Axis {
    /// At most about this many values have texts.
    pub(in crate::cli) const LABELS: usize = 8;

    /// A linear one.
    pub(in crate::cli) fn linear(low: f64, high: f64) -> Self {
        Self { log: false, low, high, names: Vec::new() }
    }

    /// One of names: from left to right, and from the top down.
    pub(in crate::cli) fn of_names(names: Vec<String>, down: bool) -> Self {
        let end = number(names.len());
        let (low, high) = if down { (end, 0.0) } else { (0.0, end) };
        Self { log: false, low, high, names }
    }

    /// One that holds all values that it can, with `margin` of its length beyond either end; linear where there are none
    /// above 0.
    pub(in crate::cli) fn of(values: impl Iterator<Item = f64> + Clone, log: bool, margin: f64) -> Self {
        let log = log && values.clone().any(|v| on_axis(v, true));
        let place = |value: f64| if log { value.log10() } else { value };
        let value = |place: f64| if log { 10.0_f64.powf(place) } else { place };
        let places = values.filter(|&v| on_axis(v, log)).map(place);
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        // All values alike: some room around them.
        let room = if log { 0.15 } else { (low.abs() * 0.1).max(1e-9) };
        let least = if log { 1e-9 } else { low.abs().max(high.abs()) * 1e-12 };
        let (low, high) = if high - low <= least { (low - room, high + room) } else { (low, high) };
        let more = (high - low) * margin;
        Self { log, low: value(low - more), high: value(high + more), names: Vec::new() }
    }

    /// Whether it can show a value.
    pub(in crate::cli) fn holds(&self, value: f64) -> bool {
        on_axis(value, self.log)
    }

    /// Its low end.
    pub(in crate::cli) fn low(&self) -> f64 {
        self.low
    }

    /// The value at a share of its length, of one that is linear.
    pub(in crate::cli) fn at(&self, share: f64) -> f64 {
        self.low + share * (self.high - self.low)
    }

    /// Whether it has names instead of numbers.
    pub(in crate::cli) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// The values at it, and their texts.
    pub(in crate::cli) fn ticks(&self) -> Vec<(f64, String)> {
        let values = self.key_points(BoldPoints(Self::LABELS));
        values.into_iter().map(|value| (value, self.format_ext(&value))).collect()
    }

    /// Whether it is labeled by decades: in less than half of one, values between are as round.
    fn by_decades(&self) -> bool {
        self.log && self.high / self.low >= 5.0
    }

    /// Powers of ten, of few decades also twice and five times as much, with `all` everything between; by exponents, as plotters
    /// takes those below 1e-16 for 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most some hundred decades")]
    fn decades(&self, count: usize, all: bool) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().floor() as i32);
        let stride = (last - first + 1).unsigned_abs().div_ceil(count.max(1) as u32) as i32;
        let digits: &[f64] = match (self.high / self.low).log10() {
            decades if all && decades <= 4.0 => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            decades if decades < 2.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let exponents = (first..=last).filter(|exponent| exponent.rem_euclid(stride) == 0);
        let values = exponents.flat_map(|e| digits.iter().map(move |digit| digit * 10.0_f64.powi(e)));
        values.filter(|value| (self.low..=self.high).contains(value)).collect()
    }

    /// Round numbers of plotters, which takes a range of less than 1e-16 for none: they are found in units of its length.
    fn rounds(&self, count: usize) -> Vec<f64> {
        let unit = 10.0_f64.powf((self.high - self.low).log10().floor());
        let rounds = RangedCoordf64::from(self.low / unit..self.high / unit).key_points(BoldPoints(count));
        rounds.into_iter().map(|value| value * unit).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self.log {
            true => LogCoord::from((self.low..self.high).log_scale()).map(value, limit),
            false => RangedCoordf64::from(self.low..self.high).map(value, limit),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self.by_decades() {
            _ if self.has_names() => (0..self.names.len()).map(|i| number(i) + 0.5).collect(),
            true => self.decades(hint.bold_points(), hint.weight().allow_light_points()),
            false => self.rounds(hint.bold_points()),
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of names")]
        if let Some(name) = self.names.get(*value as usize) {
            return name.clone();
        }
        if self.by_decades() {
            return decade_text(*value);
        }
        let step = match self.rounds(Self::LABELS).as_slice() {
            [first, second, ..] => second - first,
            _ => self.high - self.low,
        };
        number_text(*value, step)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of names")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Whether an axis can show a value.
fn on_axis(value: f64, log: bool) -> bool {
    if log { (1e-280..1e280).contains(&value) } else { value.abs() < 1e300 }
}

/// A digit times a power of ten.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 1e5, or at most some hundred decades"
)]
fn decade_text(value: f64) -> String {
    let exponent = (value.log10() + 1e-9).floor() as i32;
    match exponent {
        -4..=-1 => format!("{value:.*}", exponent.unsigned_abs() as usize),
        0..=4 => thousands(value.round() as u64),
        _ => format!("{:.0}e{exponent}", value / 10.0_f64.powi(exponent)),
    }
}

/// A number with as many digits as tell it from its neighbors, `step` away.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e7, or at most 17 digits")]
fn number_text(value: f64, step: f64) -> String {
    // A step away from 0, though not quite in binary.
    let value = if value.abs() < step / 2.0 { 0.0 } else { value };
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    match value.abs() {
        0.0 => "0".into(),
        size if decimals == 0 && size < 1e7 => {
            let sign = if value < 0.0 { "−" } else { "" };
            format!("{sign}{}", thousands(size.round() as u64))
        }
        size if decimals <= 6 && size < 1e7 => format!("{value:.decimals$}").replace('-', "−"),
        size => {
            let digits = (size.log10().floor() - (step.log10() + 1e-9).floor()).clamp(0.0, 16.0) as usize;
            format!("{value:.digits$e}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[f64], log: bool) -> Vec<String> {
        Axis::of(values.iter().copied(), log, 0.03).ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn labels_of_any_range_tell_each_other_apart() {
        let ranges: [&[f64]; 15] = [
            &[0.01, 3.0],
            &[1e-30, 1e30],
            &[1e-279, 1e279],
            &[0.5, 0.500_001],
            &[7.0, 7.0],
            &[0.0, 0.0],
            &[-3.0, 12.0],
            &[1e7, 1.000_001e7],
            &[0.001, 0.0012],
            &[0.3, 0.8],
            &[1.0, 20_000.0],
            &[1e38, 3e38],
            &[1e-45, 1e-44],
            &[f64::NAN, 2.0, f64::INFINITY],
            &[],
        ];
        for range in ranges {
            for log in [false, true] {
                let texts = texts(range, log);
                assert!((2..=8).contains(&texts.len()), "labels of {range:?}, log {log}: {texts:?}");
                let mut unique = texts.clone();
                unique.dedup();
                assert_eq!(unique, texts, "labels of {range:?}, log {log}");
                assert!(texts.iter().all(|t| t.chars().count() <= 12), "long labels of {range:?}: {texts:?}");
            }
        }
    }

    #[test]
    fn labels_are_round_numbers() {
        assert_eq!(texts(&[0.0, 20_000.0], false), ["0", "5,000", "10,000", "15,000", "20,000"], "steps");
        assert_eq!(texts(&[0.01, 8.0], true), ["0.01", "0.1", "1"], "losses");
        assert_eq!(texts(&[0.13, 3.1], true), ["0.2", "0.5", "1", "2"], "losses of little more than a decade");
        assert_eq!(texts(&[1e-7, 1e-6], true), ["1e-7", "2e-7", "5e-7", "1e-6"], "small ones");
        assert_eq!(texts(&[-1.0, 1.0], false), ["−1.0", "−0.5", "0", "0.5", "1.0"], "signs");
    }

    #[test]
    fn values_are_where_they_belong() {
        let axis = Axis::of([0.0, -1.0, 1.0, 100.0].into_iter(), true, 0.0);
        assert!(!axis.holds(0.0) && !axis.holds(-1.0) && axis.holds(1e-9), "what has a logarithm");
        assert_eq!(axis.map(&10.0, (0, 1000)), 500, "the middle");
        assert_eq!(Axis::of([-1.0, 1.0].into_iter(), false, 0.0).map(&-0.5, (0, 1000)), 250, "a quarter");
        assert_eq!(Axis::of([0.0, -1.0].into_iter(), true, 0.0).range(), -1.0..0.0, "linear where nothing is above 0");
    }
}
