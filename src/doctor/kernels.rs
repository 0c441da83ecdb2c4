//! The kernels of an adapter against the oracle, and its longest submission.

use std::time::{Duration, Instant};

use super::compare::{self, Deviation};
use super::{Add, Finding};
use crate::arenas::Arenas;
use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::executor::{Chunk, Executor};
use crate::gpu::{Device, Found, GpuExecutor};
use crate::plan::{Plan, Products, Source, TrainStep};
use crate::shader::Walk;
use crate::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};
use crate::tune::variants;

/// What one op may be off, as a share of the largest value: far above rounding, far below any fault.
const ONE_OP: f64 = 1e-4;

/// What a training may be off, into which the rounding of its steps adds up.
const TRAINING: f64 = 1e-3;

/// Steps of the training.
const STEPS: usize = 20;

/// Seeds of the two models.
const SEEDS: [u64; 2] = [3, 4];

/// How long the longest submission is made.
const LONG: Duration = Duration::from_millis(500);

/// A submission of this length has to work: it is what training makes by default.
const USUAL: Duration = Duration::from_millis(100);

/// A network with widths that are no multiple of anything, twice, from arenas full of NaN.
struct Patient {
    plan: Plan,
    hyper: Vec<Hyperparameters>,
}

impl Patient {
    fn new(products: Products) -> Result<Self> {
        let model = Model::new(3, &[17, 5], 2, Activation::Gelu)?;
        let mut step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 20, Source::Linreg);
        (step.models, step.products, step.keep_gradients) = (SEEDS.len(), products, true);
        // With a larger eps the sign of a gradient that is nearly 0 decides nothing.
        let hyper = Hyperparameters { eps: 1e-4, ..Hyperparameters::default() };
        Ok(Self { plan: Plan::new(step)?, hyper: vec![hyper; SEEDS.len()] })
    }

    fn executor(&self, device: &Device, walk: Walk) -> Result<GpuExecutor> {
        let arenas = Arenas::initial(&self.plan, &SEEDS, None, f32::NAN)?;
        GpuExecutor::new(device.clone(), self.plan.clone(), self.hyper.clone(), &arenas, walk, false)
    }

    fn oracle(&self) -> Result<Cpu<f64>> {
        let arenas = Arenas::initial(&self.plan, &SEEDS, None, f64::NAN)?;
        Ok(Cpu::new(self.plan.clone(), self.hyper.clone(), arenas))
    }

    /// How far each op of the first step is off, and how far the training is.
    fn examine(&self, executor: &mut GpuExecutor) -> Result<(Vec<Deviation>, Deviation)> {
        let mut oracle = self.oracle()?;
        let losses = steps(executor, 0, 1)?.0;
        let ops = compare::one_step(&self.plan, &self.hyper, oracle.arenas(), &executor.read()?, &losses);
        steps(executor, 1, STEPS - 1)?;
        (0..STEPS).for_each(|_| drop(oracle.step()));
        Ok((ops, compare::whole(&self.plan, &executor.read()?, oracle.arenas())))
    }
}

/// Runs steps in one submission, and returns the losses and the least count of finished steps.
fn steps(executor: &mut GpuExecutor, first: usize, steps: usize) -> Result<(Vec<f32>, usize)> {
    executor.enqueue(Chunk { first_step: first as u64, steps, iters_per_submit: steps })?;
    let report = executor.collect()?.ok_or_else(|| Error::Device("a submission came to nothing".into()))?;
    let counted = report.state.iter().map(|state| state[0] as usize).min().unwrap_or(0);
    Ok((report.losses, counted))
}

/// Runs the kernels that training would use, and on a GPU those that `fori tune` may find faster. Where the portable ones are
/// not what would be used, their smaller tiles are taken: the same text, which a driver that computes on the processor compiles
/// in a third of the time. Their loop takes it as long as everything else together, so it is left out there.
pub(super) fn run(found: &Found, device: &Device, add: &mut Add<'_>) -> Result<()> {
    let used = found.products();
    let all = if used.name() == "tiled" { variants(device) } else { vec![used, Products::Deep { side: 8 }] };
    for products in all {
        let patient = Patient::new(products)?;
        for (walk, name) in [(Walk::Recorded, "recorded"), (Walk::Persistent, "persistent")] {
            let title = format!("{products} kernels, {name}");
            if products != used && walk == Walk::Persistent && device.software {
                add(Finding::note(title, "not checked: training never takes them here, and they are slow to compile"))?;
                continue;
            }
            let mut executor = match patient.executor(device, walk) {
                Ok(executor) => executor,
                Err(error) => {
                    add(Finding::check(false, title, error.to_string(), "these kernels cannot run on this adapter"))?;
                    continue;
                }
            };
            report(&title, patient.examine(&mut executor), add)?;
            if products == used && walk == Walk::Recorded {
                add(longest_submission(&mut executor))?;
            }
        }
    }
    Ok(())
}

/// Turns deviations into findings.
fn report(title: &str, examined: Result<(Vec<Deviation>, Deviation)>, add: &mut Add<'_>) -> Result<()> {
    let (ops, training) = match examined {
        Ok(examined) => examined,
        Err(error) => {
            return add(Finding::check(false, title, error.to_string(), "these kernels cannot run on this adapter"));
        }
    };
    for d in &ops {
        let (what, meaning) = of_op(d.op);
        add(Finding::check(d.relative <= ONE_OP, format!("{title}: {what}"), measured(d, ONE_OP), meaning))?;
    }
    let meaning =
        "the ops by themselves may be right: memory that is not visible to the next op in time looks like this";
    let what = format!("{title}: all tensors, step count and keys after {STEPS} steps");
    add(Finding::check(training.relative <= TRAINING, what, measured(&training, TRAINING), meaning))
}

fn measured(d: &Deviation, allowed: f64) -> String {
    if d.relative == 0.0 {
        "equal to the f64 reference".into()
    } else if d.relative.is_finite() {
        format!("off by {:.1e} of the largest value in {}, {allowed:.0e} is allowed", d.relative, d.worst)
    } else {
        format!("{} is not a number or not equal", d.worst)
    }
}

/// What an op does, and what it means when it is wrong.
fn of_op(op: &str) -> (&'static str, &'static str) {
    match op {
        "sample" => ("sample (x, y)", "batches are not those of the seed: training sees other data than it should"),
        "dense_forward" => ("dense_forward (h)", "predictions are wrong: products, activation, or workgroup memory"),
        "loss" => ("loss (loss, last delta)", "the losses that are shown are wrong, and with them every gradient"),
        "dense_backward" => ("dense_backward (delta)", "gradients of the first layers are wrong"),
        "dense_update" => ("dense_update (params, mu, nu, grads)", "parameters are updated wrongly"),
        _ => ("advance (state)", "steps are not counted rightly or the key is wrong: lost work cannot be noticed"),
    }
}

/// Makes submissions longer until one takes half a second, and checks that no step of them is lost.
fn longest_submission(executor: &mut GpuExecutor) -> Finding {
    let what = "longest submission with all of its steps counted";
    let meaning = "submissions as long as training makes them lose steps, and --submit-budget-ms has to be smaller";
    let (mut done, mut length, mut good) = (STEPS, 32, (0, Duration::ZERO));
    loop {
        let started = Instant::now();
        let counted = match steps(executor, done, length) {
            Ok((_, counted)) => counted,
            Err(error) => return Finding::check(false, what, error.to_string(), meaning),
        };
        let took = started.elapsed();
        done += length;
        if counted != done {
            let lost = format!(
                "{:.3} s; of {length} steps {} were lost, without an error",
                good.1.as_secs_f64(),
                done.saturating_sub(counted)
            );
            return if good.1 < USUAL { Finding::check(false, what, lost, meaning) } else { Finding::note(what, lost) };
        }
        good = (length, took);
        if took >= LONG || length == executor.capacity() {
            break;
        }
        let growth = (1.1 * LONG.as_secs_f64() / took.as_secs_f64().max(1e-6)).clamp(1.1, 8.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "steps of a chunk"
        )]
        let next = (length as f64 * growth) as usize + 1;
        length = next.min(executor.capacity());
    }
    Finding::check(
        true,
        what,
        format!("{:.2} s ({} steps, recorded), longer ones were not tried", good.1.as_secs_f64(), good.0),
        meaning,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn deviations_become_findings_with_what_a_failure_means() {
        let deviation = |op, relative| Deviation { op, worst: "h1".into(), relative };
        let ops = vec![deviation("sample", 0.0), deviation("dense_forward", 0.02), deviation("loss", f64::INFINITY)];
        let mut findings = Vec::new();
        let mut add = |finding| {
            findings.push(finding);
            Ok(())
        };
        report("tiled kernels", Ok((ops, deviation("train", 1e-4))), &mut add).expect("nothing is refused");
        report("tiled kernels", Err(Error::Device("it is gone".into())), &mut add).expect("nothing is refused");
        let results: Vec<_> = findings.iter().map(|f| f.result).collect();
        assert_eq!(
            results,
            [Verdict::Pass, Verdict::Fail, Verdict::Fail, Verdict::Pass, Verdict::Fail],
            "what the checks came to"
        );
        for (finding, text) in findings.iter().zip(["equal", "off by 2.0e-2", "not a number", "off by 1.0e-4", "gone"])
        {
            assert!(finding.measured.contains(text), "`{finding}` says `{text}`");
            let failed = finding.result == Verdict::Fail;
            assert_eq!(finding.meaning.is_some(), failed, "`{finding}` says what it means where it failed");
        }
    }
}
