//! Axes: where a value is on one, and which values are written at it.

use crate::cli::output::thousands;

/// An axis from one value to another, logarithmic or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    /// Whether [`Axis::share`] goes by the logarithm.
    pub(super) log: bool,
    /// The ends, as logarithms where it goes by them.
    low: f64,
    high: f64,
}

/// A value at an axis, and its text where there is room for one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    /// From 0, the low end, to 1.
    pub(super) share: f64,
    pub(super) text: Option<String>,
}

impl Axis {
    /// One that holds all values that it can, with `margin` of its length beyond either end; linear where there are none
    /// above 0.
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone, log: bool, margin: f64) -> Self {
        let log = log && values.clone().any(|v| on_axis(v, true));
        let place = |v: f64| if log { v.log10() } else { v };
        let places = values.filter(|&v| on_axis(v, log)).map(place);
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        // All values alike: some room around them.
        let room = if log { 0.15 } else { (low.abs() * 0.1).max(1e-9) };
        let least = if log { 1e-9 } else { low.abs().max(high.abs()) * 1e-12 };
        let (low, high) = if high - low <= least { (low - room, high + room) } else { (low, high) };
        let more = (high - low) * margin;
        Self { log, low: low - more, high: high + more }
    }

    /// Where a value is, from 0 to 1; `None` for one that the axis cannot show.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let place = if self.log { value.log10() } else { value };
        on_axis(value, self.log).then(|| ((place - self.low) / (self.high - self.low)).clamp(0.0, 1.0))
    }

    /// Up to about `count` values with texts, and where there is room the lines of the digits between them.
    pub(super) fn ticks(&self, count: usize) -> Vec<Tick> {
        let decades = self.high - self.low;
        match self.log {
            true if decades >= 1.5 => self.decades(count),
            // Values between two powers of ten, as on a linear axis.
            true => self.linear(10.0_f64.powf(self.low), 10.0_f64.powf(self.high), count),
            false => self.linear(self.low, self.high, count),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "at most some hundred decades")]
    fn decades(&self, count: usize) -> Vec<Tick> {
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let stride = (f64::from(last - first + 1) / count.max(1) as f64).ceil().max(1.0) as i32;
        let mut ticks = Vec::new();
        for exponent in (first - 1)..=last {
            for digit in 1..=9 {
                let value = f64::from(digit) * 10.0_f64.powi(exponent);
                let labeled = digit == 1 && exponent.rem_euclid(stride) == 0;
                // The digits between are shown where few decades leave room.
                let shown = labeled || self.high - self.low <= 4.0;
                if shown && (self.low..=self.high).contains(&value.log10()) {
                    let text = labeled.then(|| decade_text(exponent));
                    ticks.extend(self.share(value).map(|share| Tick { share, text }));
                }
            }
        }
        ticks
    }

    #[expect(clippy::cast_precision_loss, reason = "at most a hundred steps")]
    fn linear(&self, low: f64, high: f64, count: usize) -> Vec<Tick> {
        let rough = (high - low) / count.max(1) as f64;
        let power = 10.0_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
        let first = (low / step).ceil();
        let values =
            (0..=2 * count).map(|i| (first + i as f64) * step).take_while(|v| *v <= high * (1.0 + 1e-12) || *v <= high);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number of 0 or more")]
        let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
        values
            .filter_map(|v| self.share(v).map(|share| Tick { share, text: Some(number_text(v, step, decimals)) }))
            .collect()
    }
}

/// Whether an axis can show a value.
pub(super) fn on_axis(value: f64, log: bool) -> bool {
    value.is_finite() && value.abs() < 1e300 && (!log || value > 0.0)
}

/// A power of ten.
fn decade_text(exponent: i32) -> String {
    match exponent {
        -4..=-1 => format!("{:.*}", exponent.unsigned_abs() as usize, 10.0_f64.powi(exponent)),
        0..=4 => thousands(10_u64.pow(exponent.unsigned_abs())),
        _ => format!("1e{exponent}"),
    }
}

/// A number with as many digits as tell it from its neighbors, `step` away.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e7, or at most 17 digits")]
fn number_text(value: f64, step: f64, decimals: usize) -> String {
    // A step away from 0, though not quite in binary.
    let value = if value.abs() < step / 2.0 { 0.0 } else { value };
    match value.abs() {
        0.0 => "0".into(),
        size if decimals == 0 && size < 1e7 => {
            let sign = if value < 0.0 { "−" } else { "" };
            format!("{sign}{}", thousands(size.round() as u64))
        }
        size if decimals <= 6 && size < 1e7 => format!("{value:.decimals$}").replace('-', "−"),
        size => {
            let digits = (size.log10().floor() - step.log10().floor()).clamp(0.0, 16.0) as usize;
            format!("{value:.digits$e}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[f64], log: bool) -> Vec<String> {
        Axis::of(values.iter().copied(), log, 0.03).ticks(6).into_iter().filter_map(|t| t.text).collect()
    }

    #[test]
    fn ticks_of_any_range_tell_each_other_apart() {
        let ranges: [&[f64]; 13] = [
            &[0.01, 3.0],
            &[1e-30, 1e30],
            &[0.5, 0.500_001],
            &[7.0, 7.0],
            &[0.0, 0.0],
            &[-3.0, 12.0],
            &[1e7, 1.000_001e7],
            &[0.001, 0.0012],
            &[1.0, 20_000.0],
            &[1e38, 3e38],
            &[1e-45, 1e-44],
            &[f64::NAN, 2.0, f64::INFINITY],
            &[],
        ];
        for range in ranges {
            for log in [false, true] {
                let texts = texts(range, log);
                assert!((2..=13).contains(&texts.len()), "labels of {range:?}, log {log}: {texts:?}");
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
        assert_eq!(texts(&[-1.0, 1.0], false), ["−1.0", "−0.5", "0", "0.5", "1.0"], "signs");
    }

    #[test]
    fn values_off_a_logarithmic_axis_have_no_place() {
        let axis = Axis::of([0.0, -1.0, 1.0, 100.0].into_iter(), true, 0.0);
        assert_eq!(axis.share(0.0), None, "zero");
        assert_eq!(axis.share(-1.0), None, "less");
        assert_eq!(axis.share(10.0), Some(0.5), "the middle");
        assert!(!Axis::of([0.0, -1.0].into_iter(), true, 0.0).log, "linear where nothing is above 0");
    }
}
