//! Devices that fail with an error: the run goes on from the last good state on a new one, or says what happened.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fori::arenas::Arenas;
use fori::config::OnDivergence;
use fori::cpu::CpuExecutor;
use fori::error::{Error, Result};
use fori::executor::{Chunk, Executor, Report};
use fori::gpu::{Device, Found, GpuExecutor, adapters};
use fori::plan::Plan;
use fori::recover::Recovering;
use fori::run::{Observer, Outcome, Pace, Run, Start};
use fori::shader::Walk;

use crate::common::device;
use crate::scripted::{At, LOST, Script, Scripted, hyper, initial, plan, recovering};

const STEPS: u64 = 600;
#[derive(Default)]
struct Recorder {
    losses: Vec<u32>,
    notices: Vec<String>,
}

impl Observer for Recorder {
    fn losses(&mut self, first_step: u64, losses: &[f32]) -> Result<()> {
        assert_eq!(first_step, self.losses.len() as u64, "every step is told once, in order");
        self.losses.extend(losses.iter().map(|l| l.to_bits()));
        Ok(())
    }

    fn notice(&mut self, text: &str) {
        self.notices.push(text.into());
    }
}

fn train(executor: &mut dyn Executor, iters: usize, recorder: &mut Recorder) -> Result<Outcome> {
    // No submission fits the budget, so each chunk is one submission however fast the machine is.
    let pace = Pace { iters_per_submit: Some(iters), submit_budget: Duration::from_nanos(1) };
    let stop = AtomicBool::new(false);
    let (started, on_divergence) = (Instant::now(), OnDivergence::Stop);
    let mut run = Run { executor, pace, started, pauses: Vec::new(), on_divergence, stop: &stop };
    run.train(&Start::fresh(1), STEPS, recorder)
}

/// Losses and arenas of a run without faults.
fn undisturbed() -> (Vec<u32>, Arenas<f32>) {
    let plan = plan();
    let mut executor = CpuExecutor::new(plan.clone(), hyper(), initial(&plan));
    let mut recorder = Recorder::default();
    train(&mut executor, 50, &mut recorder).expect("nothing fails");
    (recorder.losses, executor.read().expect("the arenas are read"))
}

/// Runs a script that the run gets over, and checks that nothing of it shows in the result.
fn assert_recovers(faults: &[(At, usize, usize)], dropped: &[usize]) -> (Recorder, Script) {
    let what = format!("{faults:?}, dropped {dropped:?}");
    let script = Script { faults: faults.to_vec(), dropped: dropped.to_vec(), ..Script::default() };
    let script = Rc::new(RefCell::new(script));
    let mut executor = recovering(&script, &initial(&plan()));
    let mut recorder = Recorder::default();
    let outcome = train(&mut executor, 50, &mut recorder).unwrap_or_else(|e| panic!("{what}: {e}"));
    let arenas = executor.read().unwrap_or_else(|e| panic!("{what}: the arenas: {e}"));
    let (losses, wanted) = undisturbed();
    assert!(recorder.losses == losses, "{what}: the losses are those of a run without faults");
    assert!(arenas == wanted, "{what}: so are the arenas");
    assert_eq!((outcome.steps, outcome.verified_steps), (STEPS, STEPS), "{what}: steps");
    drop(executor);
    let script = Rc::into_inner(script).expect("no device is left").into_inner();
    (recorder, script)
}

#[test]
fn a_lost_device_is_replaced_and_the_run_goes_on_in_smaller_submissions() {
    for at in [At::Enqueue, At::Collect] {
        for number in [0, 1, 5] {
            let (recorder, script) = assert_recovers(&[(at, number, 1)], &[]);
            let what = format!("{at:?} number {number}");
            assert_eq!(recorder.notices.len(), 1, "{what}: one notice: {:?}", recorder.notices);
            for text in [LOST, "the 50 steps after step", "going back to step 0", "smaller submissions"] {
                assert!(recorder.notices[0].contains(text), "{what}: `{}` says `{text}`", recorder.notices[0]);
            }
            assert_eq!(script.calls.iter().filter(|&&c| c == At::Rebuild).count(), 1, "{what}: one new device");
            let last = script.chunks.last();
            assert!(last <= Some(&25), "{what}: the chunks after it are half as long, the last has {last:?} steps");
        }
    }
}

#[test]
fn three_losses_in_a_row_are_survived_and_a_fourth_is_an_error() {
    assert_recovers(&[(At::Collect, 2, 3)], &[]);
    assert_recovers(&[(At::Enqueue, 2, 1), (At::Collect, 4, 2)], &[]);
    for at in [At::Enqueue, At::Collect] {
        let script = Script { faults: vec![(at, 2, usize::MAX - 2)], ..Script::default() };
        let script = Rc::new(RefCell::new(script));
        let mut executor = recovering(&script, &initial(&plan()));
        let mut recorder = Recorder::default();
        let error = train(&mut executor, 50, &mut recorder).expect_err("every device is lost");
        assert!(matches!(error, Error::Device(_)), "{at:?}: a fault of the device, not {error:?}");
        let text = error.to_string();
        assert!(text.contains(LOST) && text.contains("3 new devices"), "{at:?}: `{text}` says what happened");
        assert_eq!(script.borrow().calls.iter().filter(|&&c| c == At::Rebuild).count(), 3, "{at:?}: three tries");
        assert_eq!(recorder.notices.len(), 4, "{at:?}: a notice each time: {:?}", recorder.notices);
        assert!(undisturbed().0.starts_with(&recorder.losses), "{at:?}: what was told is true");
    }
}

#[test]
fn a_device_that_comes_back_late_is_waited_for() {
    let (_, script) = assert_recovers(&[(At::Collect, 3, 1), (At::Rebuild, 0, 1)], &[]);
    assert_eq!(script.calls.iter().filter(|&&c| c == At::Rebuild).count(), 2, "the second attempt succeeded");
    let script = Script { faults: vec![(At::Collect, 3, 1), (At::Rebuild, 0, usize::MAX)], ..Script::default() };
    let mut executor = recovering(&Rc::new(RefCell::new(script)), &initial(&plan()));
    let error = train(&mut executor, 50, &mut Recorder::default()).expect_err("no device comes back");
    assert!(error.to_string().contains("Card 3000 cannot be opened"), "`{error}` says what happened last");
}

#[test]
fn steps_since_the_last_copy_are_computed_again_where_the_state_is_read_or_saved() {
    // The arenas are read once when the state is saved, and once at the end.
    let (recorder, _) = assert_recovers(&[(At::Read, 1, 1)], &[]);
    assert!(recorder.notices.is_empty(), "no step was told twice, so there is nothing to say");
    assert_recovers(&[(At::Read, 1, 2), (At::Rebuild, 1, 1)], &[]);
    assert_recovers(&[(At::Save, 0, 2), (At::Read, 0, 1)], &[]);
}

#[test]
fn a_dropped_submission_and_a_device_lost_on_the_way_back_are_both_survived() {
    let (recorder, script) = assert_recovers(&[], &[2]);
    assert!(recorder.notices[0].contains("finished 0 of the 50 steps"), "`{}`", recorder.notices[0]);
    assert!(!script.calls.contains(&At::Rebuild), "a dropped submission needs no new device");
    let (_, script) = assert_recovers(&[(At::Restore, 0, 1)], &[2]);
    assert!(script.calls.contains(&At::Rebuild), "a lost one does");
}

#[test]
fn a_state_too_large_to_copy_is_said_to_be() {
    let mut arenas = initial(&plan());
    arenas.scalars[0].resize(17 << 20, 0.0);
    let script = Script { faults: vec![(At::Collect, 1, 1)], ..Script::default() };
    let mut executor = recovering(&Rc::new(RefCell::new(script)), &arenas);
    let error = train(&mut executor, 50, &mut Recorder::default()).expect_err("it cannot be repeated");
    assert!(error.to_string().starts_with(LOST), "`{error}` says what happened");
    assert!(error.to_string().contains("64 MiB"), "`{error}` says why it ends the run");
}

#[test]
fn errors_that_are_not_of_the_device_are_passed_on() {
    let plan = plan();
    let inner = CpuExecutor::new(plan.clone(), hyper(), initial(&plan));
    let script = Rc::new(RefCell::new(Script { faults: vec![(At::Collect, 0, 1)], ..Script::default() }));
    let first = Scripted { inner, script };
    let refuse = |_: &Arenas<f32>| Err(Error::Shader("no kernel".into()));
    let mut executor = Recovering::new(Box::new(first), &initial(&plan), Box::new(refuse));
    let error = train(&mut executor, 50, &mut Recorder::default()).expect_err("the kernel is refused");
    assert!(matches!(error, Error::Shader(_)), "{error:?}");
}

/// An executor that gives its device up at a chunk.
struct Doomed {
    inner: GpuExecutor,
    chunks_left: usize,
    before: bool,
}

impl Executor for Doomed {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn capacity(&self) -> usize {
        self.inner.capacity()
    }
    fn scale_learning_rates(&mut self, _: &[f64]) {}

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        let last = self.chunks_left == 0;
        self.chunks_left = self.chunks_left.wrapping_sub(1);
        if last && self.before {
            self.inner.device().destroy();
        }
        let result = self.inner.enqueue(chunk);
        if last && !self.before {
            self.inner.device().destroy();
        }
        result
    }
    fn collect(&mut self) -> Result<Option<Report>> {
        self.inner.collect()
    }
    fn save(&mut self) -> Result<()> {
        self.inner.save()
    }
    fn restore(&mut self) -> Result<()> {
        self.inner.restore()
    }
    fn read(&mut self) -> Result<Arenas<f32>> {
        self.inner.read()
    }
    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.inner.write(arenas)
    }
}

fn on(found: &Found, plan: &Plan, arenas: &Arenas<f32>) -> GpuExecutor {
    let device = Device::open(found).expect("the adapter opens");
    GpuExecutor::new(device, plan.clone(), hyper(), arenas, Walk::Recorded, false).expect("the kernels compile")
}

#[test]
fn a_real_device_that_is_given_up_is_replaced_bit_for_bit() {
    let Some(device) = device() else { return };
    let found = adapters().into_iter().find(|f| f.summary == device.summary).expect("it is listed");
    let plan = plan();
    let arenas = initial(&plan);
    let mut recorder = Recorder::default();
    let mut undisturbed = on(&found, &plan, &arenas);
    train(&mut undisturbed, 50, &mut recorder).expect("nothing fails");
    let wanted = (recorder.losses, undisturbed.read().expect("the arenas are read").scalars[0].clone());
    for before in [true, false] {
        let first = Doomed { inner: on(&found, &plan, &arenas), chunks_left: 3, before };
        let (plan, found) = (plan.clone(), found.clone());
        let rebuild =
            move |arenas: &Arenas<f32>| -> Result<Box<dyn Executor>> { Ok(Box::new(on(&found, &plan, arenas))) };
        let mut executor = Recovering::new(Box::new(first), &arenas, Box::new(rebuild));
        let mut recorder = Recorder::default();
        train(&mut executor, 50, &mut recorder).unwrap_or_else(|e| panic!("given up before {before}: {e}"));
        let params = executor.read().expect("the arenas are read").scalars[0].clone();
        assert_eq!(recorder.notices.len(), 1, "given up before {before}: {:?}", recorder.notices);
        assert!((recorder.losses, params) == wanted, "given up before {before}: the same bits");
    }
}
