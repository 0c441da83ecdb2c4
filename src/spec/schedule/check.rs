//! Which schedules there can be.

use super::Schedule;
use crate::error::{Error, Result};

impl Schedule {
    /// Checks that each number can be used.
    ///
    /// # Errors
    /// [`Error::Usage`] with the flag, the value and what was expected.
    pub fn validate(&self) -> Result<()> {
        let refuse = |text: &str| Err(Error::Usage(format!("--schedule {self}: {text}")));
        match *self {
            Self::Linear { transition_steps: 0, .. }
            | Self::Polynomial { transition_steps: 0, .. }
            | Self::Exponential { transition_steps: 0, .. }
            | Self::OneCycle { transition_steps: 0, .. } => refuse("expected a --transition-steps of 1 or more"),
            Self::Cosine { decay_steps: 0, .. } => refuse("expected a --decay-steps of 1 or more"),
            Self::WarmupCosine { warmup_steps, decay_steps, .. } if warmup_steps >= decay_steps => {
                refuse("expected --warmup-steps below --decay-steps, which counts both parts")
            }
            Self::Piecewise { ref boundaries } if boundaries.is_empty() => {
                let text = "--schedule piecewise needs --boundaries STEP=FACTOR, with commas between several";
                Err(Error::Usage(text.into()))
            }
            Self::OneCycle { pct_start, .. } if !(0.0..1.0).contains(&pct_start) => {
                refuse("expected a --pct-start of 0 or more and below 1")
            }
            _ => self.check_numbers(),
        }
    }

    /// Checks that no number makes a rate negative or infinite.
    fn check_numbers(&self) -> Result<()> {
        let refuse = |name: &str, value: f64, expected| {
            let flag = name.replace('_', "-");
            Err(Error::Usage(format!("--schedule {}: --{flag} {value:?}: expected {expected}", self.kind())))
        };
        let mut numbers = Vec::new();
        match *self {
            Self::Linear { end_value, .. } => numbers.push(("end_value", end_value)),
            Self::Polynomial { end_value, power, .. } => numbers.extend([("end_value", end_value), ("power", power)]),
            Self::Cosine { alpha, exponent, .. } => numbers.extend([("alpha", alpha), ("exponent", exponent)]),
            Self::WarmupCosine { init_value, end_value, exponent, .. } => {
                numbers.extend([("init_value", init_value), ("end_value", end_value), ("exponent", exponent)]);
            }
            Self::Exponential { decay_rate, end_value, .. } => {
                if decay_rate == 0.0 {
                    return refuse("decay_rate", decay_rate, "a number above 0");
                }
                numbers.push(("decay_rate", decay_rate));
                numbers.extend(end_value.map(|end| ("end_value", end)));
            }
            Self::Piecewise { ref boundaries } => {
                numbers.extend(boundaries.iter().map(|&(_, factor)| ("boundaries", factor)));
            }
            Self::OneCycle { div_factor, final_div_factor, .. } => {
                for (name, value) in [("div_factor", div_factor), ("final_div_factor", final_div_factor)] {
                    if !(value > 0.0 && value.is_finite()) {
                        return refuse(name, value, "a finite number above 0");
                    }
                }
            }
            Self::Constant => {}
        }
        match numbers.into_iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
            Some((name, value)) => refuse(name, value, "a finite number of 0 or more"),
            None => Ok(()),
        }
    }
}
