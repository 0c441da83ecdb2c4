//! What the live view knows of a run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{Member, TrainConfig};

/// What does not change while a run lasts.
#[derive(Debug, Clone, Default)]
pub(in crate::cli) struct About {
    /// What is trained.
    pub(in crate::cli) network: String,
    /// Who trains it.
    pub(in crate::cli) place: String,
    /// The step that ends the run.
    pub(in crate::cli) steps: u64,
    /// What the models differ in.
    pub(in crate::cli) names: String,
    /// Per model the values of that.
    pub(in crate::cli) models: Vec<String>,
}

impl About {
    /// The models of a config, by what they differ in.
    pub(in crate::cli) fn of(config: &TrainConfig, members: &[Member]) -> Self {
        let seeds = config.ensemble > 1 || config.sweep.is_empty();
        let names = config.sweep.iter().map(|(name, _)| name.as_str()).chain(seeds.then_some("seed"));
        let text = |(model, member): (usize, &Member)| {
            let swept = config.swept(model).into_iter().map(|(_, value)| format!("{value:?}"));
            swept.chain(seeds.then(|| member.seed.to_string())).collect::<Vec<_>>().join(", ")
        };
        let models = members.iter().enumerate().map(text).collect();
        Self { steps: config.steps, names: names.collect::<Vec<_>>().join(", "), models, ..Self::default() }
    }
}

/// Points of the chart that are kept.
const POINTS: usize = 1024;
/// About how many losses of a chunk are looked at, so that looking costs next to nothing.
const LOOKS: usize = 1 << 16;
/// Visits to the host that are remembered.
const VISITS: usize = 64;

/// A run as it was told of so far.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) about: Arc<About>,
    pub(super) step: u64,
    /// The step that the run began with.
    pub(super) first: u64,
    /// The last loss of each model.
    pub(super) losses: Vec<f32>,
    pub(super) learning_rate: f64,
    /// Per reported step the least loss of all models, and of several their median.
    pub(super) best: Points,
    pub(super) median: Points,
    /// Losses on the validation rows.
    pub(super) validation: Points,
    /// When the host was told of steps, up to which, and how long it had waited.
    pub(super) visits: VecDeque<(Instant, u64, Duration)>,
    pub(super) started: Instant,
    pub(super) notices: Vec<String>,
    /// Whether the user has asked for the end.
    pub(super) stopping: bool,
}

impl State {
    pub(super) fn new(about: About, first: u64) -> Self {
        Self {
            about: Arc::new(about),
            step: first,
            first,
            losses: Vec::new(),
            learning_rate: f64::NAN,
            best: Points::default(),
            median: Points::default(),
            validation: Points::default(),
            visits: VecDeque::new(),
            started: Instant::now(),
            notices: Vec::new(),
            stopping: false,
        }
    }

    /// Takes the losses `(steps, models)` of the steps after `first_step`.
    pub(super) fn losses(&mut self, first_step: u64, losses: &[f32], models: usize, now: Instant) {
        let steps = losses.len() / models.max(1);
        let Some(last) = losses.chunks_exact(models).next_back() else { return };
        let stride = steps.div_ceil((LOOKS / models).clamp(4, 256));
        for (step, row) in (first_step + 1..).zip(losses.chunks_exact(models)).skip(stride - 1).step_by(stride) {
            let mut finite: Vec<_> = row.iter().copied().filter(|loss| loss.is_finite()).collect();
            self.best.add(step, finite.iter().copied().reduce(f32::min));
            if models > 1 && !finite.is_empty() {
                let middle = finite.len() / 2;
                self.median.add(step, Some(*finite.select_nth_unstable_by(middle, f32::total_cmp).1));
            }
        }
        self.step = first_step + steps as u64;
        let before = self.visits.back().map_or(self.started, |(when, ..)| *when);
        let waited = now - before;
        match self.visits.back_mut() {
            // Told of together with the chunk before.
            Some(visit) if waited < Duration::from_millis(1) => visit.1 = self.step,
            _ => self.visits.push_back((now, self.step, waited)),
        }
        if self.visits.len() > VISITS {
            self.visits.pop_front();
        }
        self.losses = last.to_vec();
    }

    /// Steps per second over the last visits; `None` before the second.
    pub(super) fn steps_per_second(&self) -> Option<f64> {
        let (first, last) = (self.visits.front()?, self.visits.back()?);
        let seconds = (last.0 - first.0).as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a count far below 2^53")]
        (seconds > 0.0).then(|| (last.1 - first.1) as f64 / seconds)
    }

    /// The models with the least losses, best first; those that diverged last.
    pub(super) fn leaders(&self, count: usize) -> Vec<usize> {
        let key = |&model: &usize| {
            let loss = self.losses[model];
            if loss.is_finite() { loss } else { f32::INFINITY }
        };
        let mut order: Vec<_> = (0..self.losses.len()).collect();
        let count = count.min(order.len());
        if count < order.len() {
            order.select_nth_unstable_by(count, |a, b| key(a).total_cmp(&key(b)));
            order.truncate(count);
        }
        order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        order
    }
}

/// Points of a curve, each the mean of equally many in a row, so that there are never too many.
#[derive(Debug, Clone)]
pub(super) struct Points {
    /// The step and the decimal logarithm of the value.
    pub(super) logs: Vec<(f64, f64)>,
    /// How many values make a point.
    stride: usize,
    /// The sum and the number of those of the next point.
    sum: f64,
    count: usize,
}

impl Default for Points {
    fn default() -> Self {
        Self { logs: Vec::new(), stride: 1, sum: 0.0, count: 0 }
    }
}

impl Points {
    /// Adds a value; one that a logarithmic axis cannot show is left out.
    pub(super) fn add(&mut self, step: u64, value: Option<f32>) {
        let Some(value) = value.filter(|v| v.is_finite() && *v > 0.0) else { return };
        self.sum += f64::from(value).log10();
        self.count += 1;
        if self.count < self.stride {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        self.logs.push((step as f64, self.sum / self.count as f64));
        (self.sum, self.count) = (0.0, 0);
        if self.logs.len() >= POINTS {
            self.logs = self.logs.chunks(2).map(|pair| (pair[pair.len() - 1].0, mean(pair))).collect();
            self.stride *= 2;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "one or two")]
fn mean(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|(_, log)| log).sum::<f64>() / points.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stay_few_and_cover_the_run() {
        let mut points = Points::default();
        for step in 1..=1_000_000 {
            points.add(step, Some(0.1));
        }
        assert!((POINTS / 2..POINTS).contains(&points.logs.len()), "{} points", points.logs.len());
        assert!(points.logs.iter().all(|(_, log)| (log + 1.0).abs() < 1e-6), "the mean of equal values");
        assert!(points.logs.is_sorted_by(|a, b| a.0 < b.0), "in order");
        assert!(points.logs.last().is_some_and(|(step, _)| *step > 990_000.0), "up to the end");
    }

    #[test]
    fn leaders_are_the_best_with_the_diverged_behind() {
        let mut state = State::new(About::default(), 0);
        let now = state.started;
        state.losses(0, &[9.0, 9.0, 9.0, 9.0, 0.5, f32::NAN, 0.25, 1.0], 4, now);
        assert_eq!(state.leaders(2), [2, 0], "the best two");
        assert_eq!(state.leaders(9), [2, 0, 3, 1], "all");
        assert_eq!(state.step, 2, "the step");
        assert_eq!(state.median.logs.len(), 2, "a median per step");
    }

    #[test]
    fn speed_is_that_of_the_visits() {
        let mut state = State::new(About::default(), 100);
        assert_eq!(state.steps_per_second(), None, "before the first visit");
        let second = Duration::from_secs(1);
        for i in 1..=3 {
            let first = 100 + 10 * u64::from(i - 1);
            state.losses(first, &[1.0; 10], 1, state.started + second * i);
        }
        assert_eq!(state.steps_per_second(), Some(10.0), "steps per second");
        assert_eq!(state.visits.back().map(|v| v.2), Some(second), "the time of a visit");
    }
}
