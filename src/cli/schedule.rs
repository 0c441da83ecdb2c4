//! Flags of the schedule of the learning rate.

use clap::Args;

use super::values;
use crate::error::Result;
use crate::spec::{Schedule, ScheduleKind};

/// A whole number of updates.
fn updates(text: &str) -> Result<u64, String> {
    values::whole(0..=u64::MAX >> 12)(text)
}

/// The schedule and its parameters; those that are left out follow from the updates of the run.
#[derive(Debug, Default, Args)]
pub(super) struct ScheduleArgs {
    /// How the learning rate changes from update to update: constant, linear, polynomial, cosine, warmup_cosine, exponential,
    /// piecewise, one_cycle. --learning-rate is its peak. Names and formulas are those of optax.
    #[arg(long, value_name = "NAME", default_value = "constant", value_parser = values::named::<ScheduleKind>, help_heading = "Schedule")]
    schedule: ScheduleKind,
    /// Updates of the decay, warm-up included (cosine, warmup_cosine) [default: all]
    #[arg(long, value_name = "N", value_parser = updates, help_heading = "Schedule")]
    decay_steps: Option<u64>,
    /// Last rate as a share of the peak (cosine) [default: 0]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    alpha: Option<f64>,
    /// Power of the cosine (cosine, warmup_cosine) [default: 1]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    exponent: Option<f64>,
    /// First rate (warmup_cosine) [default: 0]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    init_value: Option<f64>,
    /// Updates of the warm-up (warmup_cosine) [default: a tenth of all]
    #[arg(long, value_name = "N", value_parser = updates, help_heading = "Schedule")]
    warmup_steps: Option<u64>,
    /// Last rate (linear, polynomial, warmup_cosine) [default: 0]; bound of the rate (exponential) [default: none]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    end_value: Option<f64>,
    /// Power of what is left of the transition (polynomial) [default: 2]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    power: Option<f64>,
    /// Updates before the transition (linear, polynomial, exponential) [default: 0]
    #[arg(long, value_name = "N", value_parser = updates, help_heading = "Schedule")]
    transition_begin: Option<u64>,
    /// Updates of the transition (linear, polynomial, one_cycle), or of one factor (exponential) [default: all that are left]
    #[arg(long, value_name = "N", value_parser = updates, help_heading = "Schedule")]
    transition_steps: Option<u64>,
    /// Factor of the rate in --transition-steps (exponential) [default: 0.1]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    decay_rate: Option<f64>,
    /// Change the rate only at multiples of --transition-steps (exponential).
    #[arg(long, help_heading = "Schedule")]
    staircase: bool,
    /// Updates from which the rate has one more factor, as 2000=0.5,5000=0.1 (piecewise).
    #[arg(long, value_name = "STEP=FACTOR,...", value_parser = boundaries, help_heading = "Schedule")]
    boundaries: Option<Boundaries>,
    /// Share of the updates in which the rate rises (one_cycle) [default: 0.3]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    pct_start: Option<f64>,
    /// Peak over the first rate (one_cycle) [default: 25]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    div_factor: Option<f64>,
    /// First rate over the last one (one_cycle) [default: 1e4]
    #[arg(long, value_name = "X", value_parser = values::number, help_heading = "Schedule")]
    final_div_factor: Option<f64>,
}

/// The value of `--boundaries`.
#[derive(Debug, Clone)]
pub(super) struct Boundaries(Vec<(u64, f64)>);

/// Updates and factors with commas between them, in any order.
fn boundaries(text: &str) -> Result<Boundaries, String> {
    let one = |pair: &str| {
        let (step, factor) = pair.split_once('=')?;
        Some((step.trim().parse().ok()?, factor.trim().parse().ok()?))
    };
    let pairs: Option<Vec<(u64, f64)>> = text.split(',').map(one).collect();
    let mut pairs = pairs.ok_or("expected STEP=FACTOR with commas between several, as 2000=0.5,5000=0.1")?;
    pairs.sort_by_key(|(step, _)| *step);
    match pairs.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(two) => Err(format!("step {} is given twice: expected one factor", two[0].0)),
        None => Ok(Boundaries(pairs)),
    }
}

impl ScheduleArgs {
    /// The schedule of a run of `updates` updates.
    ///
    /// # Errors
    /// [`Error::Usage`] when a parameter is given that the schedule does not have.
    pub(super) fn schedule(&self, updates: u64) -> Result<Schedule> {
        let has = |kind, name: &str| self.of(kind, updates).parameters().iter().any(|(n, _)| *n == name);
        match self.given().into_iter().find(|(name, given)| *given && !has(self.schedule, name)) {
            Some((name, _)) => {
                let kinds = ScheduleKind::ALL.iter().filter(|&&kind| has(kind, name)).map(|kind| kind.name());
                let flag = format!("--{}", name.replace('_', "-"));
                Err(values::no_meaning(&flag, "--schedule", self.schedule.name(), kinds))
            }
            None => Ok(self.of(self.schedule, updates)),
        }
    }

    /// Each parameter, and whether it was given.
    fn given(&self) -> [(&'static str, bool); 15] {
        [
            ("decay_steps", self.decay_steps.is_some()),
            ("alpha", self.alpha.is_some()),
            ("exponent", self.exponent.is_some()),
            ("init_value", self.init_value.is_some()),
            ("warmup_steps", self.warmup_steps.is_some()),
            ("end_value", self.end_value.is_some()),
            ("power", self.power.is_some()),
            ("transition_begin", self.transition_begin.is_some()),
            ("transition_steps", self.transition_steps.is_some()),
            ("decay_rate", self.decay_rate.is_some()),
            ("staircase", self.staircase),
            ("boundaries", self.boundaries.is_some()),
            ("pct_start", self.pct_start.is_some()),
            ("div_factor", self.div_factor.is_some()),
            ("final_div_factor", self.final_div_factor.is_some()),
        ]
    }

    /// A kind of schedule with the parameters that were given, and the defaults of the others.
    fn of(&self, kind: ScheduleKind, updates: u64) -> Schedule {
        let transition_begin = self.transition_begin.unwrap_or(0);
        let transition_steps = self.transition_steps.unwrap_or(updates.saturating_sub(transition_begin).max(1));
        let decay_steps = self.decay_steps.unwrap_or(updates);
        let exponent = self.exponent.unwrap_or(1.0);
        let end_value = self.end_value.unwrap_or(0.0);
        match kind {
            ScheduleKind::Constant => Schedule::Constant,
            ScheduleKind::Linear => Schedule::Linear { end_value, transition_begin, transition_steps },
            ScheduleKind::Polynomial => {
                let power = self.power.unwrap_or(2.0);
                Schedule::Polynomial { end_value, power, transition_begin, transition_steps }
            }
            ScheduleKind::Cosine => Schedule::Cosine { decay_steps, alpha: self.alpha.unwrap_or(0.0), exponent },
            ScheduleKind::WarmupCosine => Schedule::WarmupCosine {
                init_value: self.init_value.unwrap_or(0.0),
                warmup_steps: self.warmup_steps.unwrap_or(decay_steps / 10),
                decay_steps,
                end_value,
                exponent,
            },
            ScheduleKind::Exponential => Schedule::Exponential {
                decay_rate: self.decay_rate.unwrap_or(0.1),
                transition_begin,
                transition_steps,
                staircase: self.staircase,
                end_value: self.end_value,
            },
            ScheduleKind::Piecewise => {
                Schedule::Piecewise { boundaries: self.boundaries.clone().map_or(Vec::new(), |b| b.0) }
            }
            ScheduleKind::OneCycle => Schedule::OneCycle {
                transition_steps: self.transition_steps.unwrap_or(updates),
                pct_start: self.pct_start.unwrap_or(0.3),
                div_factor: self.div_factor.unwrap_or(25.0),
                final_div_factor: self.final_div_factor.unwrap_or(1e4),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Probe {
        #[command(flatten)]
        args: ScheduleArgs,
    }

    fn parse(flags: &str) -> Result<Schedule> {
        let words = ["fori"].into_iter().chain(flags.split_whitespace());
        Probe::try_parse_from(words).expect("the flags are possible").args.schedule(1000)
    }

    #[test]
    fn what_is_left_out_follows_from_the_updates() {
        for (flags, want) in [
            ("", "constant"),
            ("--schedule linear", "linear --end-value 0.0 --transition-begin 0 --transition-steps 1000"),
            (
                "--schedule polynomial --transition-begin 100",
                "polynomial --end-value 0.0 --power 2.0 --transition-begin 100 --transition-steps 900",
            ),
            ("--schedule cosine", "cosine --decay-steps 1000 --alpha 0.0 --exponent 1.0"),
            (
                "--schedule warmup_cosine --decay-steps 500",
                "warmup_cosine --init-value 0.0 --warmup-steps 50 --decay-steps 500 --end-value 0.0 --exponent 1.0",
            ),
            (
                "--schedule exponential --staircase --end-value 1e-5",
                "exponential --decay-rate 0.1 --transition-begin 0 --transition-steps 1000 --staircase --end-value 1e-5",
            ),
            ("--schedule piecewise --boundaries 7=0.1,5=0.5", "piecewise --boundaries 5=0.5,7=0.1"),
            (
                "--schedule one_cycle",
                "one_cycle --transition-steps 1000 --pct-start 0.3 --div-factor 25.0 --final-div-factor 10000.0",
            ),
        ] {
            let schedule = parse(flags).expect("the flags fit");
            assert_eq!(schedule.to_string(), want, "{flags}");
            schedule.validate().expect("a possible schedule");
            // What is printed can be typed.
            let again = parse(&format!("--schedule {schedule}")).expect("the flags fit");
            assert_eq!(again, schedule, "{flags}");
        }
    }

    #[test]
    fn a_parameter_of_another_schedule_is_refused_with_those_that_have_it() {
        for (flags, name, kinds) in [
            ("--alpha 0.1", "--alpha has no meaning for --schedule constant", "--schedule cosine"),
            ("--schedule linear --warmup-steps 5", "--warmup-steps", "--schedule warmup_cosine"),
            ("--schedule cosine --end-value 1", "--end-value", "linear or polynomial or warmup_cosine or exponential"),
            ("--schedule cosine --staircase", "--staircase", "--schedule exponential"),
        ] {
            let text = parse(flags).expect_err("a parameter too many").to_string();
            assert!(text.contains(name) && text.contains(kinds), "`{flags}` says `{text}`");
        }
    }
}
