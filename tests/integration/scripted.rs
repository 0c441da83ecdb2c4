//! An executor on the processor that fails by a script.

use std::cell::RefCell;
use std::rc::Rc;

use fori::arenas::Arenas;
use fori::cpu::CpuExecutor;
use fori::error::{Error, Result};
use fori::executor::{Chunk, Executor, Report};
use fori::plan::{Plan, Source, TrainStep};
use fori::recover::Recovering;
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

/// What a device says that is lost.
pub const LOST: &str = "Card 3000: the device was lost";

/// The call that fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum At {
    Enqueue,
    Collect,
    Read,
    Save,
    Restore,
    Rebuild,
}

/// Calls of each kind so far, over all devices, and those that fail.
#[derive(Default)]
pub struct Script {
    /// A call, its number counted from 0, and how often it fails from there.
    pub faults: Vec<(At, usize, usize)>,
    pub calls: Vec<At>,
    /// Steps of every chunk.
    pub chunks: Vec<usize>,
    /// Numbers of chunks of which no step is run, without any error.
    pub dropped: Vec<usize>,
}

/// Executor on the processor that fails by a script.
pub struct Scripted {
    pub inner: CpuExecutor,
    pub script: Rc<RefCell<Script>>,
}

fn call(script: &RefCell<Script>, at: At, text: &str) -> Result<()> {
    let mut script = script.borrow_mut();
    let number = script.calls.iter().filter(|&&c| c == at).count();
    script.calls.push(at);
    let fails = script.faults.iter().any(|&(a, first, count)| a == at && (first..first + count).contains(&number));
    if fails { Err(Error::Device(text.into())) } else { Ok(()) }
}

impl Scripted {
    fn call(&self, at: At) -> Result<()> {
        call(&self.script, at, LOST)
    }
}

impl Executor for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn capacity(&self) -> usize {
        128
    }

    fn scale_learning_rates(&mut self, _: &[f64]) {}

    fn enqueue(&mut self, chunk: Chunk) -> Result<()> {
        self.call(At::Enqueue)?;
        let number = self.script.borrow().chunks.len();
        self.script.borrow_mut().chunks.push(chunk.steps);
        if self.script.borrow().dropped.contains(&number) {
            let before = self.inner.read()?;
            self.inner.enqueue(chunk)?;
            return self.inner.write(&before);
        }
        self.inner.enqueue(chunk)
    }

    fn collect(&mut self) -> Result<Option<Report>> {
        self.call(At::Collect)?;
        let number = self.script.borrow().chunks.len() - 1;
        let report = self.inner.collect()?;
        let dropped = self.script.borrow().dropped.contains(&number);
        let state = self.inner.read()?.state;
        Ok(report.map(|report| if dropped { Report { state, ..report } } else { report }))
    }

    fn save(&mut self) -> Result<()> {
        self.call(At::Save)?;
        self.inner.save()
    }

    fn restore(&mut self) -> Result<()> {
        self.call(At::Restore)?;
        self.inner.restore()
    }

    fn read(&mut self) -> Result<Arenas<f32>> {
        self.call(At::Read)?;
        self.inner.read()
    }

    fn write(&mut self, arenas: &Arenas<f32>) -> Result<()> {
        self.inner.write(arenas)
    }
}

pub fn plan() -> Plan {
    let model = Model::new(2, &[5], 1, Activation::Tanh).expect("a valid model");
    Plan::new(TrainStep::new(model, Loss::Mse, Optimizer::Adam, 4, Source::Linreg)).expect("a valid plan")
}

pub fn initial(plan: &Plan) -> Arenas<f32> {
    Arenas::initial(plan, &[0], None, 0.0).expect("no table is needed")
}

pub fn hyper() -> Vec<Hyperparameters> {
    vec![Hyperparameters::default()]
}

/// A scripted executor that is made again as often as is needed.
pub fn recovering(script: &Rc<RefCell<Script>>, arenas: &Arenas<f32>) -> Recovering {
    let (plan, script) = (plan(), Rc::clone(script));
    let make = move |arenas: &Arenas<f32>| {
        let inner = CpuExecutor::new(plan.clone(), hyper(), arenas.clone());
        let made: Box<dyn Executor> = Box::new(Scripted { inner, script: Rc::clone(&script) });
        (made, Rc::clone(&script))
    };
    let (first, _) = make(arenas);
    let rebuild = move |arenas: &Arenas<f32>| {
        let (made, script) = make(arenas);
        call(&script, At::Rebuild, "Card 3000 cannot be opened").map(|()| made)
    };
    Recovering::new(first, arenas, Box::new(rebuild))
}
