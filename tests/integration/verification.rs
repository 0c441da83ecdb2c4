//! The loop over chunks, driven with executors that do less than they are told.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fori::arenas::Arenas;
use fori::config::{Member, OnDivergence};
use fori::error::{Error, Result};
use fori::executor::Executor;
use fori::plan::{Plan, Source, TrainStep};
use fori::run::{Outcome, Pace, Run, Start};
use fori::shader::Walk;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::adapter::{bits, member, reference};
use crate::common::device;
use crate::faulty::{Fault, Faulty, Recorder};

fn pace(iters_per_submit: Option<usize>) -> Pace {
    Pace { iters_per_submit, submit_budget: Duration::from_millis(20) }
}

fn train(executor: &mut dyn Executor, pace: Pace, to: u64, recorder: &mut Recorder<'_>) -> Result<Outcome> {
    let never = AtomicBool::new(false);
    let stop = recorder.stop.unwrap_or(&never);
    recorder.models = recorder.models.max(1);
    let (started, on_divergence) = (Instant::now(), OnDivergence::Stop);
    let mut run = Run { executor, pace, started, pauses: Vec::new(), on_divergence, stop };
    run.train(&Start::fresh(recorder.models), to, recorder)
}

/// Losses and parameters of a run in which nothing goes wrong.
fn undisturbed(steps: usize) -> (Vec<u32>, Arenas<f32>) {
    let mut executor = Faulty::new(Fault::Nothing, &[member(0)]);
    let losses = crate::adapter::train(&mut executor, 0..steps, steps, steps);
    (bits(&losses), executor.read().expect("the arenas are read"))
}

const STEPS: u64 = 1000;

/// Runs with a fault that the loop can get over, and checks that nothing of it remains.
fn assert_recovers(what: &str, fault: Fault, iters_per_submit: Option<usize>) -> (Outcome, Recorder<'static>, Faulty) {
    let mut executor = Faulty::new(fault, &[member(0)]);
    let mut recorder = Recorder::default();
    let outcome = train(&mut executor, pace(iters_per_submit), STEPS, &mut recorder).expect(what);
    let (losses, arenas) = undisturbed(1000);
    assert!(bits(&recorder.losses) == losses, "{what}: the losses are those of a run without faults");
    assert!(executor.read().expect("the arenas are read") == arenas, "{what}: so are the arenas");
    assert_eq!((outcome.steps, outcome.verified_steps), (STEPS, STEPS), "{what}: steps");
    assert_eq!(outcome.final_losses, recorder.losses[999..], "{what}: last loss");
    assert_eq!(outcome.repeated_chunks, recorder.notices.len(), "{what}: a notice per repetition");
    assert!(!outcome.interrupted, "{what}: it ran to its end");
    (outcome, recorder, executor)
}

#[test]
fn a_run_without_faults_reports_each_step_once() {
    for iters in [None, Some(1), Some(7), Some(1000), Some(1024)] {
        let (outcome, ..) = assert_recovers(&format!("{iters:?} steps per submission"), Fault::Nothing, iters);
        assert_eq!(outcome.repeated_chunks, 0, "{iters:?}: nothing was repeated");
    }
}

#[test]
fn a_chunk_cut_short_is_repeated_in_smaller_ones() {
    for iters in [None, Some(8), Some(512)] {
        let what = format!("{iters:?} steps per submission");
        let (outcome, recorder, executor) = assert_recovers(&what, Fault::Cut(&[1]), iters);
        assert_eq!(outcome.repeated_chunks, 1, "{what}: one repetition");
        let cut = executor.chunks[1];
        let told = format!("finished {} of the {} steps after step {}", cut.steps / 2, cut.steps, cut.first_step);
        assert!(recorder.notices[0].contains(&told), "{what}: `{}` says `{told}`", recorder.notices[0]);
        let after = executor.chunks.iter().skip(3).map(|c| c.steps).max();
        assert!(after <= Some((cut.steps / 2).max(1)), "{what}: chunks after the cut are at most half as long");
    }
}

#[test]
fn faults_far_apart_do_not_add_up_to_a_failure() {
    let (outcome, ..) = assert_recovers("eight faults", Fault::Cut(&[0, 5, 20, 50, 100, 180, 300, 450]), Some(1));
    assert_eq!(outcome.repeated_chunks, 8, "every fault led to a repetition");
}

#[test]
fn dispatches_that_are_cut_when_long_become_short() {
    for (limit, iters) in [(100, None), (100, Some(1000)), (5, None), (5, Some(64)), (1, Some(8))] {
        let what = format!("dispatches of at most {limit} steps, {iters:?} steps per submission");
        let (outcome, ..) = assert_recovers(&what, Fault::After(limit), iters);
        if iters.is_some_and(|iters| iters > limit) {
            assert!(outcome.repeated_chunks > 0, "{what}: some were cut");
        }
    }
}

#[test]
fn a_device_that_never_finishes_is_an_error() {
    for iters in [None, Some(1), Some(64)] {
        let mut recorder = Recorder::default();
        let mut executor = Faulty::new(Fault::Always, &[member(0)]);
        let error = train(&mut executor, pace(iters), STEPS, &mut recorder).expect_err("no chunk is ever finished");
        assert!(matches!(error, Error::Device(_)), "{iters:?}: a fault of the device, not {error:?}");
        let text = error.to_string();
        assert!(text.contains("steps after step 0 and reported no error"), "{iters:?}: `{text}` says what happened");
        assert!(text.contains("--submit-budget-ms"), "{iters:?}: `{text}` says what may help");
        assert!(recorder.losses.is_empty(), "{iters:?}: no loss was told");
    }
}

#[test]
fn errors_of_the_executor_and_of_the_observer_end_the_run() {
    let mut recorder = Recorder::default();
    let mut executor = Faulty::new(Fault::Lost(1), &[member(0)]);
    let error = train(&mut executor, pace(Some(10)), STEPS, &mut recorder).expect_err("the device is lost");
    assert_eq!(error.to_string(), "the device was lost", "the error of the executor");
    assert_eq!(recorder.losses.len(), 10, "steps verified before the loss were told");

    let mut recorder = Recorder { fails: true, ..Recorder::default() };
    let mut executor = Faulty::new(Fault::Nothing, &[member(0)]);
    let error = train(&mut executor, pace(Some(10)), STEPS, &mut recorder).expect_err("the observer fails");
    assert_eq!(error.to_string(), "the disk is full", "the error of the observer");
}

#[test]
fn impossible_submissions_are_usage_errors() {
    for iters in [0, 1025, usize::MAX] {
        let mut executor = Faulty::new(Fault::Nothing, &[member(0)]);
        let error = train(&mut executor, pace(Some(iters)), STEPS, &mut Recorder::default());
        let error = error.expect_err("the executor takes 1 to 1024");
        assert!(matches!(error, Error::Usage(_)), "{iters}: {error:?}");
        assert!(error.to_string().contains("1 to 1024"), "{iters}: `{error}` says what is possible");
        assert!(executor.chunks.is_empty(), "{iters}: nothing was run");
    }
}

#[test]
fn submissions_grow_to_the_budget_and_not_beyond() {
    let mut executor = Faulty::new(Fault::Nothing, &[member(0)]);
    executor.time_per_step = Duration::from_micros(500);
    let outcome = train(&mut executor, pace(None), STEPS, &mut Recorder::default()).expect("nothing fails");
    let most = executor.chunks.iter().map(|c| c.steps).max().unwrap_or(0);
    // 40 steps of 500 µs are the 20 ms of the budget, a quarter more is let pass, and no sleep is ever too short.
    assert!((8..=50).contains(&most), "submissions of {most} steps, expected about 40");
    assert!(outcome.submissions < 500, "{} submissions", outcome.submissions);
}

#[test]
fn a_stop_ends_the_run_after_the_chunks_in_flight() {
    let stop = AtomicBool::new(false);
    let mut recorder = Recorder { stop: Some(&stop), ..Recorder::default() };
    let mut executor = Faulty::new(Fault::Nothing, &[member(0)]);
    let outcome = train(&mut executor, pace(Some(10)), STEPS, &mut recorder).expect("nothing fails");
    assert!(outcome.interrupted, "a stop is an interruption");
    assert!(outcome.steps < STEPS, "{} steps", outcome.steps);
    assert_eq!(recorder.losses.len() as u64, outcome.steps, "every finished step was told");
    assert_eq!(
        u64::from(executor.read().expect("the arenas are read").state[0][0]),
        outcome.steps,
        "steps of the state"
    );
}

#[test]
fn a_run_ends_when_all_of_its_models_have_diverged() {
    let rate =
        |learning_rate| Member { seed: 0, hyper: Hyperparameters { learning_rate, ..Hyperparameters::default() } };
    for (rates, ends) in [(&[1e20][..], true), (&[1e20, 1e20], true), (&[1e20, 1e-3], false)] {
        let members: Vec<_> = rates.iter().copied().map(rate).collect();
        let mut recorder = Recorder { models: members.len(), ..Recorder::default() };
        let mut executor = Faulty::new(Fault::Nothing, &members);
        let outcome = train(&mut executor, pace(Some(10)), STEPS, &mut recorder).expect("divergence is no error here");
        assert_eq!(outcome.steps < STEPS, ends, "{rates:?}: {} steps", outcome.steps);
        assert!(!outcome.interrupted, "{rates:?}: divergence is no interruption");
        for (model, (first, rate)) in outcome.diverged.iter().zip(rates).enumerate() {
            let bad = recorder.losses.iter().skip(model).step_by(rates.len()).position(|l| !l.is_finite());
            assert_eq!(*first, bad.map(|step| step as u64 + 1), "{rates:?}: step at which model {model} diverged");
            assert_eq!(first.is_some(), *rate > 1.0, "{rates:?}: whether model {model} diverged");
        }
    }
}

#[test]
fn wide_tables_stay_far_below_the_smallest_loop_budget() {
    let model = Model::new(784, &[32], 10, Activation::Relu).expect("the widths are possible");
    let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 64, Source::Table { rows: 60_000 });
    let plan = Plan::new(step).expect("the plan is possible");
    // To gather a row takes a trip per vector; Mesa before version 23 grants 65,535.
    assert!(plan.trips_per_dispatch() < 2000, "{} trips in one op", plan.trips_per_dispatch());
    assert!(plan.trips_per_step() < 20_000, "{} trips in one step", plan.trips_per_step());
}

#[test]
fn the_persistent_loop_verifies_every_step_on_any_adapter() {
    let Some(device) = device() else { return };
    let bounded = device.summary.driver.contains("Mesa 22.");
    let (_, mut executor) = reference(device, Walk::Persistent, false);
    let mut recorder = Recorder::default();
    let outcome = train(&mut executor, pace(Some(1000)), STEPS, &mut recorder).expect("the steps are finished");
    assert_eq!((outcome.verified_steps, recorder.losses.len()), (STEPS, 1000), "verified steps and losses");
    assert_eq!(outcome.repeated_chunks, 0, "no dispatch was too long: {:?}", recorder.notices);
    assert_eq!(outcome.dispatches > outcome.submissions, bounded, "dispatches are divided where loops are cut short");
}
