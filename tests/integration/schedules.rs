//! Schedules of the learning rate against optax, and through a run.

use fori::spec::{Hyperparameters, Optimizer, Schedule};

use crate::cli::{Dir, TINY};
use crate::common::{assert_close, golden, word};

const PEAK: f64 = 1e-3;

/// The schedules of the golden file `schedules`.
fn rows() -> Vec<(&'static str, Schedule)> {
    let linear =
        |transition_begin, transition_steps| Schedule::Linear { end_value: 1e-5, transition_begin, transition_steps };
    let exponential = |decay_rate, transition_begin, staircase, end_value| Schedule::Exponential {
        decay_rate,
        transition_begin,
        transition_steps: 100,
        staircase,
        end_value,
    };
    let polynomial = Schedule::Polynomial { end_value: 1e-5, power: 2.0, transition_begin: 0, transition_steps: 1000 };
    let warmup_cosine = Schedule::WarmupCosine {
        init_value: 0.0,
        warmup_steps: 100,
        decay_steps: 1000,
        end_value: 1e-5,
        exponent: 1.0,
    };
    vec![
        ("constant", Schedule::Constant),
        ("linear", linear(0, 1000)),
        ("linear_begin", linear(100, 400)),
        ("polynomial2", polynomial),
        ("cosine", Schedule::Cosine { decay_steps: 1000, alpha: 0.1, exponent: 1.0 }),
        ("warmup_cosine", warmup_cosine),
        ("exponential", exponential(0.9, 0, false, None)),
        ("exponential_stairs", exponential(0.9, 0, true, None)),
        ("exponential_begin_end", exponential(0.5, 100, false, Some(1e-4))),
        ("piecewise", Schedule::Piecewise { boundaries: vec![(200, 0.5), (500, 0.1)] }),
    ]
}

#[test]
fn schedules_equal_optax() {
    let data = golden("schedules.safetensors");
    for (name, schedule) in rows() {
        schedule.validate().expect("a possible schedule");
        let got: Vec<_> = data["step"].iter().map(|&step| schedule.at(PEAK, u64::from(word(step)))).collect();
        // Golden is in single precision, with a cosine and a power of its own.
        assert_close(name, &got, &data[name], 2e-6, 1e-10);
    }
}

#[test]
fn schedules_equal_optax_in_double_precision() {
    let data = golden("more.safetensors");
    let one_cycle = |transition_steps, pct_start, div_factor, final_div_factor| Schedule::OneCycle {
        transition_steps,
        pct_start,
        div_factor,
        final_div_factor,
    };
    let polynomial = Schedule::Polynomial { end_value: 1e-5, power: 3.0, transition_begin: 100, transition_steps: 500 };
    let warmup_cosine = Schedule::WarmupCosine {
        init_value: 1e-4,
        warmup_steps: 100,
        decay_steps: 650,
        end_value: 1e-5,
        exponent: 1.5,
    };
    let growth = Schedule::Exponential {
        decay_rate: 2.0,
        transition_begin: 50,
        transition_steps: 250,
        staircase: true,
        end_value: Some(5e-3),
    };
    for (name, peak, schedule) in [
        ("one_cycle", PEAK, one_cycle(1000, 0.3, 25.0, 1e4)),
        ("one_cycle_other", 3e-3, one_cycle(650, 0.155, 10.0, 50.0)),
        ("polynomial3_begin", PEAK, polynomial),
        ("cosine_exponent", PEAK, Schedule::Cosine { decay_steps: 500, alpha: 0.1, exponent: 2.5 }),
        ("warmup_cosine_exponent", PEAK, warmup_cosine),
        ("exponential_growth", PEAK, growth),
    ] {
        schedule.validate().expect("a possible schedule");
        let got: Vec<_> = data["schedule_step"].iter().map(|&step| schedule.at(peak, u64::from(word(step)))).collect();
        // Some of optax's own constants are in single precision.
        assert_close(name, &got, &data[name], 1e-6, 1e-12);
    }
}

#[test]
fn adam_with_a_schedule_equals_optax() {
    let data = golden("optimisers.safetensors");
    let schedule =
        Schedule::WarmupCosine { init_value: 0.0, warmup_steps: 5, decay_steps: 20, end_value: 1e-4, exponent: 1.0 };
    let hyper = Hyperparameters { learning_rate: 1e-2, ..Hyperparameters::default() };
    let mut slots: Vec<_> = data["p0"].iter().map(|&p| (p, [0.0; 2])).collect();
    let mut path = Vec::new();
    for (step, row) in (0..).zip(data["grads"].chunks_exact(slots.len())) {
        for ((p, state), &g) in slots.iter_mut().zip(row) {
            Optimizer::Adam.update(&hyper.constants(), &hyper.at_step(&schedule, step), g, p, state);
        }
        path.extend(slots.iter().map(|(p, _)| *p));
    }
    assert_close("adam with warmup_cosine", &path, &data["adam_warmup_cosine_f64"], 1e-7, 1e-9);
    assert_eq!(path[..slots.len()], data["p0"][..], "the first update uses schedule(0) = 0");
}

#[test]
fn impossible_schedules_are_refused_by_their_flags() {
    let dir = Dir::new();
    for (flags, texts) in [
        ("--schedule triangle", ["--schedule", "expected one of constant, linear"]),
        ("--alpha 0.1", ["--alpha has no meaning for --schedule constant", "--schedule cosine"]),
        ("--schedule piecewise", ["--schedule piecewise", "needs --boundaries STEP=FACTOR"]),
        ("--schedule piecewise --boundaries 5", ["--boundaries", "as 2000=0.5,5000=0.1"]),
        ("--schedule piecewise --boundaries 5=1,5=2", ["--boundaries", "step 5 is given twice"]),
        ("--schedule piecewise --boundaries 5=-1", ["--boundaries -1.0", "0 or more"]),
        (
            "--schedule warmup_cosine --warmup-steps 20",
            ["expected --warmup-steps below --decay-steps", "--decay-steps 20"],
        ),
        ("--schedule linear --transition-steps 0", ["--schedule linear", "--transition-steps of 1 or more"]),
        ("--schedule linear --end-value nan", ["--end-value NaN", "finite"]),
        ("--schedule exponential --decay-rate 0", ["--decay-rate 0.0", "above 0"]),
        ("--schedule one_cycle --pct-start 1", ["--pct-start", "below 1"]),
        ("--schedule one_cycle --div-factor 0", ["--div-factor 0.0", "above 0"]),
        ("--schedule cosine --decay-steps=-5", ["--decay-steps", "whole number"]),
    ] {
        dir.run(&format!("train {TINY} --steps 20 {flags}")).exits(2).says(&texts);
    }
}

/// The column of the learning rate in a metrics file.
fn rates(text: &str) -> Vec<f64> {
    let rows = text.lines().skip(1).filter_map(|row| row.split(',').rev().nth(1)?.parse().ok());
    rows.collect()
}

#[test]
fn metrics_have_the_rate_of_each_step_and_a_sweep_scales_the_curve() {
    let dir = Dir::new();
    let flags = "--schedule linear --steps 10 --log-every 1 --metrics m.csv -q";
    dir.run(&format!("train {TINY} {flags} --learning-rate 0.01")).exits(0);
    let want: Vec<_> = (0..10).map(|step| 0.01 * (1.0 - 0.1 * f64::from(step))).collect();
    assert_close("rates", &rates(&dir.read("m.csv")), &want, 1e-12, 0.0);
    dir.run(&format!("train {TINY} {flags} --sweep learning_rate=0.01,0.02")).exits(0);
    let want: Vec<_> = want.iter().flat_map(|&rate| [rate, 2.0 * rate]).collect();
    assert_close("rates of a sweep", &rates(&dir.read("m.csv")), &want, 1e-12, 0.0);
}

const SCHEDULES: [&str; 7] = [
    "warmup_cosine --warmup-steps 7",
    "linear",
    "polynomial",
    "cosine --alpha 0.1",
    "exponential --staircase --transition-steps 9",
    "piecewise --boundaries 5=0.5,30=0.1",
    "one_cycle",
];

/// On the executor that `flags` names.
fn resumes_with_its_curve(flags: &str, schedules: &[&str]) {
    let dir = Dir::new();
    for schedule in schedules {
        let train = format!(
            "train {flags} --hidden 4 --batch-size 4 --schedule {schedule} --steps 50 --checkpoint-every 23 --keep 9 -q"
        );
        dir.run(&format!("{train} --checkpoint whole --iters-per-submit 50")).exits(0);
        dir.run(&format!("{train} --checkpoint ones --iters-per-submit 1")).exits(0);
        assert_eq!(dir.bytes("ones"), dir.bytes("whole"), "{schedule}: submissions of one step");
        // Where the curve depends on the steps it is that of the first beginning.
        dir.run(&format!("{train} --checkpoint parts")).exits(0);
        dir.run("train --resume parts.23 --checkpoint parts -q").exits(0);
        assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "{schedule}: resumed from step 23");
    }
}

#[test]
fn cpu_resumes_with_its_curve() {
    resumes_with_its_curve("--executor cpu", &SCHEDULES);
}

#[test]
fn recorded_resumes_with_its_curve() {
    if crate::common::device().is_some() {
        resumes_with_its_curve("--executor recorded", &SCHEDULES[..2]);
    }
}

#[test]
fn persistent_resumes_with_its_curve() {
    if crate::common::device().is_some() {
        resumes_with_its_curve("--executor persistent", &SCHEDULES[..1]);
    }
}

#[test]
fn a_longer_run_keeps_the_curve_of_the_checkpoint() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --schedule linear --steps 20 --checkpoint c --checkpoint-every 10 --keep 2 -q"))
        .exits(0);
    dir.run("train --resume c.10 --checkpoint d --steps 40 --log-every 1 --metrics m.csv -q").exits(0);
    let rates = rates(&dir.read("m.csv"));
    assert_close("the first of the resumed rates", &rates[..1], &[0.5e-3], 1e-12, 0.0);
    assert!(rates[10..].iter().all(|&rate| rate == 0.0), "the curve ended at step 20: {rates:?}");
    let ran = dir.run("train --resume c.10 --checkpoint d --steps 40 --schedule linear");
    ran.exits(2).says(&["--schedule linear", "--transition-steps 40", "--transition-steps 20", "add --override"]);
    dir.run("train --resume c.10 --checkpoint d --steps 40 --schedule cosine --override -q").exits(0);
}
