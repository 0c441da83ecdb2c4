//! The examples and what they show, on the cpu executor so that each takes a moment; and the library's short ways.
#![allow(dead_code, clippy::print_stdout, reason = "a test calls what `main` calls, not `main`, which prints")]

use std::ops::ControlFlow;

use fori::{Error, ExecutorChoice, Experiment, Frame, Task, Which};

#[path = "../../examples/callback.rs"]
mod callback;
#[path = "../../examples/custom_loop.rs"]
mod custom_loop;
#[path = "../../examples/digits.rs"]
mod digits;
#[path = "../../examples/ensemble.rs"]
mod ensemble;
#[path = "../../examples/image.rs"]
mod image;
#[path = "../../examples/regression.rs"]
mod regression;
#[path = "../../examples/sine.rs"]
mod sine;

/// What the examples train on the cpu executor.
fn cpu() -> Experiment {
    Experiment { executor: ExecutorChoice::Cpu, ..Experiment::default() }
}

#[test]
fn regression_stops_early_and_predicts() {
    let trained = regression::train(cpu()).expect("it trains");
    let (name, r2) = trained.scores()[0].headline();
    assert!(name == "r2" && r2 > 0.4, "{name} {r2}");
    assert!(trained.outcome.steps < 3000, "stopped after {} steps", trained.outcome.steps);
    let frame = fori::read_frame("tests/data/diabetes.csv".as_ref(), None).expect("a table");
    let predicted = trained.predictor(Which::Best).and_then(|p| p.predict_frame(&frame)).expect("predictions");
    let found = frame.column("progression").expect("the target");
    let error = |row: usize| {
        let found: f64 = found.text(row).and_then(|text| text.parse().ok()).expect("a number");
        (predicted.answers[row] - found).abs()
    };
    let mean = (0..442).map(error).sum::<f64>() / 442.0;
    assert!(mean < 45.0, "mean absolute error in the units of the table: {mean}");
}

#[test]
fn digits_are_read() {
    let trained = digits::train(cpu()).expect("it trains");
    let (name, accuracy) = trained.scores()[0].headline();
    assert!(name == "accuracy" && accuracy > 0.97, "{name} {accuracy}");
}

#[test]
fn sines_follow_a_fast_sine() {
    let error = |experiment| sine::train(experiment).expect("it trains");
    let base = Experiment { steps: 1000, ..cpu() };
    let (sin, gelu) = (error(sine::siren(base.clone())), error(base));
    assert!(sin < 0.05 && gelu > 0.5, "sin {sin}, gelu {gelu}");
}

#[test]
fn an_image_is_learned() {
    let trained = image::train(cpu()).expect("it trains");
    let loss = trained.train_losses.as_ref().expect("a table")[0];
    assert!(loss < 0.005, "loss {loss}");
    let pixels = image::draw(&trained.predictor(Which::Best).expect("a model"), 48).expect("a picture");
    let file = std::fs::File::open("examples/image.png").expect("the image");
    let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("an image");
    let mut wanted = vec![0; 3 * 48 * 48];
    reader.next_frame(&mut wanted).expect("pixels");
    let squares = pixels.iter().zip(&wanted).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2) / 255.0_f64.powi(2));
    let drawn = squares.sum::<f64>() / 6912.0;
    assert!((drawn - loss).abs() < 0.1 * loss, "error {drawn} of the picture, loss {loss}");
}

#[test]
fn an_ensemble_is_unsure_where_there_is_no_data() {
    let predictions = ensemble::train(cpu()).expect("it trains");
    let of = |from: f64, to: f64| {
        let inside =
            ensemble::places().into_iter().zip(&predictions.std).filter(move |(x, _)| (from..to).contains(&x.abs()));
        inside.map(|(_, &std)| std).collect::<Vec<_>>()
    };
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.iter().map(|_| 1.0).sum::<f64>();
    let (inside, outside) = (mean(of(0.0, 0.9)), mean(of(1.5, 2.1)));
    assert!(outside > 5.0 * inside && inside < 0.1, "deviation inside {inside}, outside {outside}");
}

#[test]
fn a_callback_ends_a_run() {
    let (mut seen, mut losses) = (Vec::new(), Vec::new());
    let trained = callback::train(cpu(), 0.02, |step, loss| {
        seen.push(step);
        losses.push(loss);
    });
    let outcome = trained.expect("it trains").outcome;
    assert!(seen.is_sorted() && seen.last() <= Some(&outcome.steps), "steps {seen:?} of {}", outcome.steps);
    assert!(outcome.steps < 20_000 && outcome.interrupted, "ended after {} steps", outcome.steps);
    let (last, before) = losses.split_last().expect("a chunk");
    assert!(*last < 0.02 && before.iter().all(|&loss| loss >= 0.02), "it ends at the first small loss: {losses:?}");
}

#[test]
fn a_callback_sees_every_loss_of_every_model() {
    let (mut count, mut first) = (0, Vec::new());
    let experiment = Experiment { steps: 50, ensemble: 2, hidden: vec![4], ..cpu() };
    let trained = experiment.clone().train_with(|chunk| {
        assert_eq!(chunk.models, 2, "models");
        first.extend_from_slice(if count == 0 { &chunk.losses[..2] } else { &[] });
        count += chunk.losses.len();
        let of_model_1 = chunk.losses.iter().skip(1).step_by(2).map(|&loss| f64::from(loss));
        let (sum, steps) = of_model_1.fold((0.0, 0.0), |(sum, steps), loss| (sum + loss, steps + 1.0));
        assert_eq!(chunk.mean_loss(1), sum / steps, "mean loss of model 1 up to step {}", chunk.step);
        ControlFlow::Continue(())
    });
    assert_eq!(count, 100, "losses of 50 steps of two models");
    let silent = experiment.train().expect("it trains");
    assert_eq!(trained.expect("it trains").arenas, silent.arenas, "a callback changes nothing");
    assert_ne!(first[0], first[1], "losses of two models");
}

#[test]
fn a_loop_of_ones_own_halves_the_learning_rate() {
    let history = custom_loop::train(&cpu()).expect("it trains");
    let ((first, before), (last, after)) = (history[0], history[history.len() - 1]);
    assert!(after < before && last < 0.02 * first, "from {first} at {before} to {last} at {after}");
    // Its first chunk is that of a run.
    let mut losses = Vec::new();
    let trained = Experiment { steps: 200, ..cpu() }.train_with(|chunk| {
        losses.extend_from_slice(chunk.losses);
        ControlFlow::Continue(())
    });
    assert_eq!(trained.expect("it trains").outcome.steps, 200, "steps");
    assert_eq!(losses.iter().map(|&loss| f64::from(loss)).sum::<f64>() / 200.0, first, "mean of the first 200 losses");
}

#[test]
fn a_table_in_memory_trains_like_the_file() {
    let (a, y) = (vec![1.0, 1.5, -2.0, 3.0, 0.25], vec![0.5, 7.0, 1.0, -3.0, 2.0]);
    let text: String = a.iter().zip(&y).map(|(a, y)| format!("{a},{y}\n")).collect();
    let dir = crate::cli::Dir::new();
    dir.write("t.csv", &format!("a,y\n{text}"));
    let small = Experiment { hidden: vec![4], steps: 30, batch_size: 2, ..cpu() };
    let file = Task::Table(fori::TableConfig::new(dir.path("t.csv"), &["y"]));
    let memory = Task::frame(Frame::of_columns(vec![("a", a), ("y", y)]).expect("a table"), &["y"]);
    let [file, memory] = [file, memory].map(|task| Experiment { task, ..small.clone() }.train().expect("it trains"));
    assert_eq!(file.arenas, memory.arenas, "the same numbers");
    assert_eq!(file.network(0).expect("a network"), memory.network(0).expect("a network"), "the same network");
}

#[test]
fn a_table_in_memory_that_is_none_is_refused() {
    let cases = [
        (vec![], "expected a column with a row or more"),
        (vec![("a", vec![])], "expected a column with a row or more"),
        (
            vec![("a", vec![1.0]), ("b", vec![1.0, 2.0])],
            "column \"b\": expected 1 rows as in the first column, found 2",
        ),
        (vec![("a", vec![1.0]), ("a", vec![2.0])], "column \"a\" is there twice"),
    ];
    for (columns, want) in cases {
        let error = Frame::of_columns(columns).expect_err("no table");
        assert!(matches!(error, Error::Data(_)) && error.to_string().contains(want), "{error}: expected {want}");
    }
    let frame = Frame::of_columns(vec![("a", vec![1.0, f64::NAN]), ("y", vec![1.0, 2.0])]).expect("a table");
    let error = Experiment { task: Task::frame(frame, &["y"]), ..cpu() }.train().expect_err("a missing value");
    assert!(error.to_string().contains("table in memory, row 2: column \"a\": missing value"), "{error}");
}
