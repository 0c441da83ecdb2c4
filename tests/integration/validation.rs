//! Validation: the scores that a run reports, when it stops, and which parameters it keeps.

use std::time::Duration;

use fori::arenas::Arenas;
use fori::config::TableConfig;
use fori::cpu::CpuExecutor;
use fori::data::{Tables, load};
use fori::gpu::Device;
use fori::plan::{Arena, Plan, Source, TrainStep};
use fori::recover::answering_on;
use fori::score::{Scores, Tally, spread};
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};
use fori::validation::Evaluator;

use crate::cli::Dir;
use crate::common::{assert_close, device, path};

/// A table of `tests/data` and what is predicted of it.
fn tables(file: &str, target: &str, loss: Loss) -> Tables {
    let config = TableConfig::new(path(&format!("data/{file}")), &[target]);
    load(&config, loss.target_kind(), 0).expect("the table is in the repository")
}

fn plan(tables: &Tables, loss: Loss, weighted: bool) -> Plan {
    let (inputs, outputs) = (tables.schema.inputs(), tables.schema.targets.outputs());
    let model = Model::new(inputs, &[7], outputs, Activation::Tanh).expect("the widths are possible");
    let step = TrainStep::new(model, loss, Optimizer::Adam, 16, Source::Table { rows: tables.train.rows });
    Plan::new(TrainStep { models: 2, label_smoothing: 0.1, weighted, ..step }).expect("the plan is possible")
}

/// The scores of model `model` by the outputs of the network in double precision.
fn wanted(plan: &Plan, arenas: &Arenas<f32>, model: usize, tables: &Tables) -> Scores {
    let layer = |layer: usize, part: &str| arenas.get(plan, model, &format!("layers.{layer}.{part}"));
    let dense = |x: &[f64], i: usize| -> Vec<f64> {
        let (kernel, bias) = (layer(i, "kernel"), layer(i, "bias"));
        let sum = |o: usize| x.iter().enumerate().map(|(k, x)| x * f64::from(kernel[k * bias.len() + o])).sum::<f64>();
        bias.iter().enumerate().map(|(o, &b)| sum(o) + f64::from(b)).collect()
    };
    let table = &tables.train;
    let columns = table.targets.len() / table.rows;
    let mut tally = Tally::new(&tables.schema.targets);
    for row in 0..table.rows {
        let width = plan.step.model.inputs();
        let x: Vec<_> = table.features[row * width..(row + 1) * width].iter().map(|&v| f64::from(v)).collect();
        let hidden: Vec<_> = dense(&x, 0).into_iter().map(f64::tanh).collect();
        let weight = table.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
        let target = &table.targets[row * columns..(row + 1) * columns];
        tally.add(plan.step.loss, plan.step.label_smoothing, &dense(&hidden, 1), target, weight);
    }
    tally.scores(&tables.schema.targets, &spread(&table.targets, columns))
}

fn check(device: Option<Device>) {
    let cases = [
        ("diabetes.csv", "progression", Loss::Huber, false),
        ("diabetes.csv", "progression", Loss::Mse, true),
        ("breast_cancer.csv", "benign", Loss::BinaryCrossEntropy, false),
        ("breast_cancer.csv", "benign", Loss::SoftmaxCrossEntropy, true),
        ("iris.csv", "species", Loss::SoftmaxCrossEntropy, false),
    ];
    for (file, target, loss, weighted) in cases {
        let mut tables = tables(file, target, loss);
        if weighted {
            tables.train.weights =
                Some((0..tables.train.rows).map(|row| if row % 3 == 0 { 2.0 } else { 0.5 }).collect());
        }
        let mut plan = plan(&tables, loss, weighted);
        if let Some(device) = &device {
            plan = Plan::new(TrainStep { products: device.products, ..plan.step }).expect("the plan is possible");
        }
        let arenas = Arenas::initial(&plan, &[0, 1], Some(&tables.train), 0.0).expect("the table fits");
        let (rows, targets) = (tables.train.clone(), tables.schema.targets.clone());
        let evaluator = Evaluator::new(&plan, rows, targets, Duration::from_millis(100), |plan| match &device {
            Some(device) => answering_on(device, &plan, false),
            None => Box::new(move |arenas| {
                let hyper = vec![Hyperparameters::default(); 2];
                Ok(Box::new(CpuExecutor::new(plan.clone(), hyper, arenas.clone())))
            }),
        });
        let mut evaluator = evaluator.expect("the plan is possible");
        let params = &arenas.scalars[Arena::Params as usize];
        let scores = evaluator.scores(params).expect("the table is answered");
        assert_eq!(scores, evaluator.scores(params).expect("again"), "{file}: a second time");
        for (model, scores) in scores.iter().enumerate() {
            let want = wanted(&plan, &arenas, model, &tables);
            for ((name, got), (_, want)) in scores.named().into_iter().zip(want.named()) {
                assert_close(&format!("{file} {loss} {name} of model {model}"), &[got], &[want], 1e-5, 1e-6);
            }
        }
    }
}

#[test]
fn scores_on_the_device_are_those_of_double_precision() {
    let Some(device) = device() else { return };
    check(Some(device));
}

#[test]
fn scores_on_the_cpu_are_those_of_double_precision() {
    check(None);
}

/// A table that a network soon learns by heart: the validation loss rises again.
fn noisy(dir: &Dir) {
    let rows: String = (0..40).map(|i| format!("{},{},{}\n", i % 7, (i * 5) % 11, (i * i * 31 + 7 * i) % 17)).collect();
    dir.write("t.csv", &format!("a,b,y\n{rows}"));
}

const RUN: &str = "--data t.csv --target y --validation 0.25 --hidden 32 --learning-rate 1e-2 --batch-size 10 -q";

#[test]
fn a_run_stops_early_and_keeps_the_best_parameters() {
    for executor in ["cpu", "recorded"] {
        if executor != "cpu" && device().is_none() {
            return;
        }
        let dir = Dir::new();
        noisy(&dir);
        let flags = format!("train {RUN} --executor {executor} --validate-every 5");
        let ran = dir.run(&format!("{flags} --steps 4000 --patience 6 --checkpoint a --metrics m.csv --json"));
        let json = ran.exits(0).json();
        let (step, best) = (&json["steps"], &json["validation"]);
        assert_eq!(json["stopped_early"], true, "{ran}");
        let best_step = best["step"].as_u64().expect("the step of the best validation");
        assert_eq!(step.as_u64(), Some(best_step + 30), "six validations after the best: {ran}");
        // A run of just so many steps ends in the same validation.
        let until = dir.run(&format!("{flags} --steps {best_step} --checkpoint b --json"));
        assert_eq!(until.exits(0).json()["validation"], *best, "metrics of step {best_step}");
        let [a, b] = ["a", "b"].map(|name| fori::checkpoint::Checkpoint::read(&dir.path(name)).expect("a checkpoint"));
        assert_eq!(
            a.parameter("layers.0.kernel", 0),
            b.parameter("layers.0.kernel", 0),
            "the parameters that are kept"
        );
        assert_ne!(a.tensor("layers.0.kernel"), b.tensor("layers.0.kernel"), "those of the last step");
        let metrics = dir.read("m.csv");
        let row =
            metrics.lines().find(|row| row.starts_with(&format!("{best_step},"))).expect("a row of the best step");
        let loss: f64 = row.split(',').nth(4).and_then(|v| v.parse().ok()).expect("a validation loss in the row");
        assert_eq!(Some(loss), best["loss"].as_f64(), "validation loss in {row}");
    }
}

#[test]
fn a_resumed_run_waits_on_and_ends_in_the_same_bits() {
    for models in ["", "--ensemble 3"] {
        let dir = Dir::new();
        noisy(&dir);
        let flags = format!("train {RUN} {models} --executor cpu --validate-every 5 --patience 6");
        dir.run(&format!("{flags} --steps 400 --checkpoint whole")).exits(0);
        dir.run(&format!("{flags} --steps 12 --checkpoint parts")).exits(0);
        dir.run("train --resume parts --steps 23 -q").exits(0);
        dir.run("train --resume parts --steps 400 -q").exits(0);
        assert!(dir.bytes("whole") == dir.bytes("parts"), "checkpoints of {flags}");
    }
}

#[test]
fn how_often_is_validated_moves_no_bit_of_the_training() {
    let dir = Dir::new();
    noisy(&dir);
    let last = ["1", "7", "60"].map(|every| {
        dir.run(&format!("train {RUN} --executor cpu --validate-every {every} --steps 60 --checkpoint c")).exits(0);
        fori::checkpoint::Checkpoint::read(&dir.path("c")).expect("a checkpoint").tensor("mu.layers.1.kernel")
    });
    assert_eq!(last[0], last[1], "each step and each seventh");
    assert_eq!(last[0], last[2], "each step and only the last");
}

#[test]
fn the_best_state_is_written_when_it_is_found() {
    let dir = Dir::new();
    noisy(&dir);
    let flags = format!("train {RUN} --executor cpu --validate-every 5 --steps 300");
    dir.run(&format!("{flags} --checkpoint-best best")).exits(0);
    let stopped = dir.run(&format!("{flags} --patience 1000 --json")).exits(0).json();
    let best = fori::checkpoint::Checkpoint::read(&dir.path("best")).expect("a checkpoint");
    assert_eq!(Some(best.step()), stopped["validation"]["step"].as_u64(), "the step of the best validation");
}

#[test]
fn flags_of_validation_need_rows_to_validate_with() {
    let dir = Dir::new();
    noisy(&dir);
    for flag in ["--validate-every 5", "--patience 5", "--checkpoint-best b"] {
        let ran = dir.run(&format!("train --data t.csv --target y {flag}"));
        ran.exits(2).says(&["needs rows to validate with: add --validation SHARE"]);
    }
}

#[test]
fn what_a_run_reports_is_what_evaluate_says_of_its_checkpoint() {
    let dir = Dir::new();
    noisy(&dir);
    dir.write("v.csv", "y,b,a\n3,4,2\n9,1,5\n0,7,7\n12,3,3\n");
    let networks = [
        "",
        "--activation sin --init siren --w0 7",
        "--hidden 6,6 --layer-norm --residual --dropout 0.2",
        "--encoding fourier --fourier-features 5 --activation sin --w0 2",
        "--encoding frequency --include-input --patience 2",
    ];
    for network in networks {
        let train = format!("train --data t.csv --target y --validation v.csv {network} --executor cpu --steps 200");
        let validation = dir.run(&format!("{train} -q --json --checkpoint c")).exits(0).json()["validation"].clone();
        let evaluated = dir.run("evaluate c --data v.csv --json").exits(0).json()["metrics"].clone();
        for name in ["loss", "mae", "rmse", "r2"] {
            let [got, want] = [&evaluated, &validation].map(|json| json[name].as_f64().unwrap_or(f64::NAN));
            assert_close(&format!("{name} of {network}: {evaluated}"), &[got], &[want], 1e-4, 1e-5);
        }
    }
}

#[test]
fn the_learning_rate_falls_on_a_plateau_and_a_resumed_run_keeps_it() {
    for models in ["", "--sweep learning_rate=1e-2,1e-4"] {
        let dir = Dir::new();
        noisy(&dir);
        let data = RUN.replace("--learning-rate 1e-2 ", "");
        let flags = format!(
            "train {data} {models} --executor cpu --validate-every 5 --reduce-on-plateau 3 --plateau-factor 0.5"
        );
        dir.run(&format!("{flags} --steps 400 --checkpoint whole --metrics m.csv --log-every 1")).exits(0);
        dir.run(&format!("{flags} --steps 112 --checkpoint parts")).exits(0);
        dir.run("train --resume parts --steps 233 -q").exits(0);
        dir.run("train --resume parts --steps 400 -q").exits(0);
        assert!(dir.bytes("whole") == dir.bytes("parts"), "checkpoints of {flags}");
        let metrics = dir.read("m.csv");
        let rates: Vec<f64> =
            metrics.lines().skip(1).filter_map(|row| row.split(',').rev().nth(5)?.parse().ok()).collect();
        let (first, last) = (rates[0], rates[rates.len() - 1]);
        assert!(last < first, "the learning rate of the last step, {last}, and of the first, {first}");
        let halvings = (first / last).log2();
        assert!(!models.is_empty() || (halvings - halvings.round()).abs() < 1e-9, "{first} to {last} in halves");
    }
}

/// The index of the least number.
fn least(losses: impl Iterator<Item = f64>) -> usize {
    losses.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(i, _)| i)
}

#[test]
fn the_best_model_is_that_of_the_validation_and_not_of_the_last_batch() {
    let dir = Dir::new();
    let data = format!("--data {}", path("data/diabetes.csv").display());
    let train = format!("train {data} --target progression --hidden 8 --seed 1 --executor cpu --quiet --json");
    for (patience, steps) in [("", 200), (" --patience 3 --validate-every 20", 400)] {
        let flags = format!("--ensemble 4 --validation 0.3 --steps {steps} --checkpoint c{patience}");
        let json = dir.run(&format!("{train} {flags}")).exits(0).json();
        let models = json["models"].as_array().expect("models");
        let best = least(models.iter().map(|m| m["validation"]["loss"].as_f64().expect("a validation loss")));
        let last = least(models.iter().map(|m| m["final_loss"].as_f64().expect("a loss")));
        assert_ne!(best, last, "the losses of the last batches would choose another model: {json}");
        dir.run(&format!("evaluate c {data}")).exits(0).prints(&[&format!("by model {best} of 4")]);
        std::fs::remove_file(dir.path("c")).expect("the checkpoint is there");
    }
    dir.run(&format!("{train} --ensemble 4 --steps 50 --checkpoint c")).exits(0);
    dir.run(&format!("evaluate c {data}")).exits(0);
}
