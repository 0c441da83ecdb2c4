//! Schedules of the learning rate. The host computes them, one number per update; no kernel knows them.

mod check;

use std::f64::consts::PI;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The learning rate by the number of updates before, `t`, starting from (or rising to) `peak`, the learning rate of the
/// [`Hyperparameters`](super::Hyperparameters). Names, parameters and formulas are optax's; the first update has `t = 0`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Schedule {
    /// `peak` (optax `constant_schedule`).
    #[default]
    Constant,
    /// A straight line from `peak` to `end_value` (`linear_schedule`).
    Linear {
        /// The rate after it.
        end_value: f64,
        /// Updates before it.
        transition_begin: u64,
        /// Updates that it takes.
        transition_steps: u64,
    },
    /// `(peak - end_value) (1 - u)^power + end_value` with `u` from 0 to 1 (`polynomial_schedule`).
    Polynomial {
        /// The rate after it.
        end_value: f64,
        /// 1 is a straight line.
        power: f64,
        /// Updates before it.
        transition_begin: u64,
        /// Updates that it takes.
        transition_steps: u64,
    },
    /// `peak ((1 - alpha) (1/2 (1 + cos(π u)))^exponent + alpha)` with `u` from 0 to 1 (`cosine_decay_schedule`). Reference:
    /// Loshchilov, Hutter (2016), "SGDR: stochastic gradient descent with warm restarts".
    Cosine {
        /// Updates that it takes.
        decay_steps: u64,
        /// The rate after it, as a share of `peak`.
        alpha: f64,
        /// Power of the cosine.
        exponent: f64,
    },
    /// A straight line from `init_value` to `peak`, then a cosine to `end_value` (`warmup_cosine_decay_schedule`).
    WarmupCosine {
        /// The rate of the first update.
        init_value: f64,
        /// Updates of the straight line.
        warmup_steps: u64,
        /// Updates of both together.
        decay_steps: u64,
        /// The rate after it.
        end_value: f64,
        /// Power of the cosine.
        exponent: f64,
    },
    /// `peak decay_rate^((t - transition_begin) / transition_steps)`, bounded by `end_value` (`exponential_decay`).
    Exponential {
        /// What the rate is multiplied by in `transition_steps` updates.
        decay_rate: f64,
        /// Updates before it.
        transition_begin: u64,
        /// Updates for one factor of `decay_rate`.
        transition_steps: u64,
        /// Only whole factors.
        staircase: bool,
        /// The least rate, or the largest where `decay_rate` is above 1.
        end_value: Option<f64>,
    },
    /// `peak` times the factor of every boundary that `t` has reached (`piecewise_constant_schedule`).
    Piecewise {
        /// Updates and factors.
        boundaries: Vec<(u64, f64)>,
    },
    /// Half a cosine from `peak / div_factor` up to `peak`, another down to `peak / (div_factor final_div_factor)`
    /// (`cosine_onecycle_schedule`). Reference: Smith, Topin (2017), "Super-convergence".
    OneCycle {
        /// Updates of both together.
        transition_steps: u64,
        /// The share of them that rise.
        pct_start: f64,
        /// `peak` over the first rate.
        div_factor: f64,
        /// The first rate over the last.
        final_div_factor: f64,
    },
}

/// The name of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScheduleKind {
    /// [`Schedule::Constant`].
    #[default]
    Constant,
    /// [`Schedule::Linear`].
    Linear,
    /// [`Schedule::Polynomial`].
    Polynomial,
    /// [`Schedule::Cosine`].
    Cosine,
    /// [`Schedule::WarmupCosine`].
    WarmupCosine,
    /// [`Schedule::Exponential`].
    Exponential,
    /// [`Schedule::Piecewise`].
    Piecewise,
    /// [`Schedule::OneCycle`].
    OneCycle,
}

super::named_enum!(
    ScheduleKind, "schedule",
    Constant => "constant", Linear => "linear", Polynomial => "polynomial", Cosine => "cosine",
    WarmupCosine => "warmup_cosine", Exponential => "exponential", Piecewise => "piecewise", OneCycle => "one_cycle",
);

impl Schedule {
    /// The learning rate of an update with `t` updates before it.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    pub fn at(&self, peak: f64, t: u64) -> f64 {
        let share = |t: u64, steps: u64| t.min(steps) as f64 / steps.max(1) as f64;
        match *self {
            Self::Constant => peak,
            Self::Linear { end_value, transition_begin, transition_steps } => {
                let left = 1.0 - share(t.saturating_sub(transition_begin), transition_steps);
                (peak - end_value) * left + end_value
            }
            Self::Polynomial { end_value, power, transition_begin, transition_steps } => {
                let left = 1.0 - share(t.saturating_sub(transition_begin), transition_steps);
                (peak - end_value) * left.powf(power) + end_value
            }
            Self::Cosine { decay_steps, alpha, exponent } => cosine(peak, share(t, decay_steps), alpha, exponent),
            Self::WarmupCosine { init_value, warmup_steps, .. } if t < warmup_steps => {
                (init_value - peak) * (1.0 - share(t, warmup_steps)) + peak
            }
            Self::WarmupCosine { warmup_steps, decay_steps, end_value, exponent, .. } => {
                let alpha = if peak == 0.0 { 0.0 } else { end_value / peak };
                cosine(peak, share(t - warmup_steps, decay_steps.saturating_sub(warmup_steps)), alpha, exponent)
            }
            Self::Exponential { decay_rate, transition_begin, transition_steps, staircase, end_value } => {
                let factors = t.saturating_sub(transition_begin) as f64 / transition_steps.max(1) as f64;
                let value = peak * decay_rate.powf(if staircase { factors.floor() } else { factors });
                match end_value {
                    Some(end) if decay_rate < 1.0 => value.max(end),
                    Some(end) => value.min(end),
                    None => value,
                }
            }
            Self::Piecewise { ref boundaries } => {
                boundaries.iter().filter(|(boundary, _)| t >= *boundary).fold(peak, |rate, (_, factor)| rate * factor)
            }
            Self::OneCycle { transition_steps, pct_start, div_factor, final_div_factor } => {
                let first = peak / div_factor;
                let top = one_cycle_top(transition_steps, pct_start);
                if t < top {
                    half_cosine(first, peak, share(t, top))
                } else {
                    half_cosine(peak, first / final_div_factor, share(t - top, transition_steps - top))
                }
            }
        }
    }

    /// Its name.
    pub fn kind(&self) -> ScheduleKind {
        match self {
            Self::Constant => ScheduleKind::Constant,
            Self::Linear { .. } => ScheduleKind::Linear,
            Self::Polynomial { .. } => ScheduleKind::Polynomial,
            Self::Cosine { .. } => ScheduleKind::Cosine,
            Self::WarmupCosine { .. } => ScheduleKind::WarmupCosine,
            Self::Exponential { .. } => ScheduleKind::Exponential,
            Self::Piecewise { .. } => ScheduleKind::Piecewise,
            Self::OneCycle { .. } => ScheduleKind::OneCycle,
        }
    }

    /// Its parameters by their names in optax, as text; none that is left out.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let number = |name, value: f64| (name, format!("{value:?}"));
        let count = |name, value: u64| (name, value.to_string());
        match *self {
            Self::Constant => vec![],
            Self::Linear { end_value, transition_begin, transition_steps } => vec![
                number("end_value", end_value),
                count("transition_begin", transition_begin),
                count("transition_steps", transition_steps),
            ],
            Self::Polynomial { end_value, power, transition_begin, transition_steps } => vec![
                number("end_value", end_value),
                number("power", power),
                count("transition_begin", transition_begin),
                count("transition_steps", transition_steps),
            ],
            Self::Cosine { decay_steps, alpha, exponent } => {
                vec![count("decay_steps", decay_steps), number("alpha", alpha), number("exponent", exponent)]
            }
            Self::WarmupCosine { init_value, warmup_steps, decay_steps, end_value, exponent } => vec![
                number("init_value", init_value),
                count("warmup_steps", warmup_steps),
                count("decay_steps", decay_steps),
                number("end_value", end_value),
                number("exponent", exponent),
            ],
            Self::Exponential { decay_rate, transition_begin, transition_steps, staircase, end_value } => {
                let fixed = [
                    number("decay_rate", decay_rate),
                    count("transition_begin", transition_begin),
                    count("transition_steps", transition_steps),
                ];
                let staircase = staircase.then(|| ("staircase", "true".to_owned()));
                fixed.into_iter().chain(staircase).chain(end_value.map(|end| number("end_value", end))).collect()
            }
            Self::Piecewise { ref boundaries } => {
                let one = |(boundary, factor): &(u64, f64)| format!("{boundary}={factor:?}");
                vec![("boundaries", boundaries.iter().map(one).collect::<Vec<_>>().join(","))]
            }
            Self::OneCycle { transition_steps, pct_start, div_factor, final_div_factor } => vec![
                count("transition_steps", transition_steps),
                number("pct_start", pct_start),
                number("div_factor", div_factor),
                number("final_div_factor", final_div_factor),
            ],
        }
    }
}

/// Its name and its parameters, as on the command line.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        for (name, value) in self.parameters() {
            let flag = name.replace('_', "-");
            if name == "staircase" { write!(f, " --{flag}")? } else { write!(f, " --{flag} {value}")? }
        }
        Ok(())
    }
}

fn cosine(peak: f64, share: f64, alpha: f64, exponent: f64) -> f64 {
    peak * ((1.0 - alpha) * (0.5 * (1.0 + (PI * share).cos())).powf(exponent) + alpha)
}

fn half_cosine(start: f64, end: f64, share: f64) -> f64 {
    end + (start - end) / 2.0 * ((PI * share).cos() + 1.0)
}

/// Updates that rise, rounded down.
#[expect(clippy::cast_precision_loss, reason = "a count far below 2^53")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
fn one_cycle_top(transition_steps: u64, pct_start: f64) -> u64 {
    (pct_start * transition_steps as f64) as u64
}
