//! Embeddings of the columns of texts, on the host: against Flax, differences and the oracle, and as a user meets them.

use fori::checkpoint::Checkpoint;
use fori::plan::{Plan, Source, TrainStep};
use fori::spec::{Activation, Embedding, InputEncoding, LayerOptions, Loss, Optimizer, initial_extras};

use crate::cli::{Dir, TINY};
use crate::common::{assert_close, assert_ulps, golden};
use crate::cpu::follows_the_oracle;
use crate::gradients::check;
use crate::network::{Network, embedded, model};

const NORM: LayerOptions = LayerOptions { layer_norm: true, ..LayerOptions::NONE };

/// That of the golden data: a number, two embeddings, a number, an embedding.
const GOLDEN: [(usize, usize, usize); 3] = [(1, 4, 3), (2, 7, 2), (4, 2, 6)];

#[test]
fn predictions_and_gradients_equal_those_of_flax() {
    let data = golden("layers.safetensors");
    let model = embedded(&[5, 6, 2], Activation::Tanh, &GOLDEN).with(NORM).expect("the options are possible");
    let mut network = Network::of(&data, "embedding", model, 9);
    let loss = network.step();
    assert_close("loss", &[loss], &data["embedding_loss"], 1e-12, 0.0);
    assert_close("prediction", &network.get("h2"), &data["embedding_prediction"], 1e-12, 1e-13);
    for parameter in network.parameters() {
        let (got, want) = (format!("grads.{parameter}"), format!("embedding_grads.{parameter}"));
        assert_close(&want, &network.get(&got), &data[&want], 1e-11, 1e-13);
    }
}

#[test]
fn tables_begin_as_those_of_flax() {
    let data = golden("layers.safetensors");
    let model = embedded(&[5, 6, 2], Activation::Tanh, &GOLDEN).with(NORM).expect("the options are possible");
    for (name, values) in initial_extras(&model, 3).iter().filter(|(name, _)| name.starts_with("embeddings.")) {
        let number = name.split('.').nth(1).expect("a name has its number");
        assert_ulps(name, values, &data[&format!("embedding_init.{number}")], 4, 0.0);
    }
}

#[test]
fn gradients_equal_central_differences() {
    for options in [LayerOptions::NONE, LayerOptions { dropout: 0.3, residual: true, ..NORM }] {
        for tables in [&[(0, 5, 3)][..], &[(1, 3, 2), (2, 40, 5)], &[(0, 2, 1), (1, 3, 4), (2, 6, 6)]] {
            for batch in [1, 17] {
                let model = embedded(&[3, 5, 5, 2], Activation::Tanh, tables);
                check(model.with(options.clone()).expect("the options are possible"), batch);
            }
        }
    }
}

#[test]
fn the_cpu_executor_follows_the_oracle() {
    for (widths, tables) in [
        (&[3, 5, 2][..], &[(0, 5, 3)][..]),
        (&[3, 5, 5, 1], &[(1, 3, 7), (2, 40, 5)]),
        (&[2, 1], &[(0, 2, 1), (1, 300, 33)]),
    ] {
        for optimizer in [Optimizer::Adam, Optimizer::Sgd, Optimizer::Adagrad] {
            let model = embedded(widths, Activation::Tanh, tables);
            let step = TrainStep::new(model, Loss::Mse, optimizer, 17, Source::Table { rows: 23 });
            follows_the_oracle(&format!("{widths:?} {tables:?}"), step.clone());
            let separate = TrainStep { clip_norm: true, clip_value: true, accumulate: 2, decay_bias: false, ..step };
            follows_the_oracle(&format!("{widths:?} {tables:?} separate"), separate);
        }
    }
}

/// The rows of a table are found by counting columns, here once more.
#[test]
fn each_row_stands_in_the_place_of_its_column() {
    let plan = |tables: &[(usize, usize, usize)]| {
        let model = embedded(&[6, 3, 1], Activation::Relu, tables);
        let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 4, Source::Table { rows: 9 });
        Plan::new(step).expect("the plan is possible")
    };
    for (tables, want, width) in
        [(&[(0, 9, 4)][..], &[0][..], 9), (&[(5, 9, 4)], &[5], 9), (&[(1, 9, 4), (2, 9, 2), (4, 9, 1)], &[1, 5, 8], 10)]
    {
        let plan = plan(tables);
        let first: Vec<_> = plan.tables.iter().map(|table| table.first).collect();
        assert_eq!((first.as_slice(), plan.layers[0].inputs), (want, width), "{tables:?}");
    }
}

#[test]
fn what_cannot_be_embedded_is_refused() {
    let refused = |columns: &[(usize, usize, usize)]| {
        let all = columns.iter().map(|&(column, categories, width)| Embedding { column, categories, width }).collect();
        model(&[3, 2], Activation::Relu).embed(all).expect_err("it is not possible").to_string()
    };
    assert!(refused(&[(3, 2, 2)]).contains("below 3"), "{}", refused(&[(3, 2, 2)]));
    assert!(refused(&[(1, 2, 2), (0, 2, 2)]).contains("in order"), "columns out of order");
    assert!(refused(&[(0, 2, 0)]).contains("--embedding-width 0"), "no width");
    assert!(refused(&[(0, 2, 16_384)]).contains("at most 16384"), "too wide");
    let frequency = LayerOptions { encoding: InputEncoding::Frequency { frequencies: 2 }, ..LayerOptions::NONE };
    let both = embedded(&[3, 2], Activation::Relu, &[(0, 2, 2)]).with(frequency).expect_err("not both").to_string();
    assert!(both.contains("--encoding frequency") && both.contains("--categorical embedding"), "{both}");
}

/// Twelve names, each with a number that nothing else tells.
fn names() -> String {
    let value = [3, -1, 4, 1, -5, 9, -2, 6, 5, -3, 8, -7];
    let row = |i: usize| format!("0.{},n{},{}\n", i * 7 % 11, i % 12, value[i % 12]);
    format!("x,name,y\n{}", (0..60).map(row).collect::<String>())
}

#[test]
fn a_table_learns_what_only_the_category_tells() {
    let dir = Dir::new();
    dir.write("t.csv", &names());
    let train = "train --data t.csv --target y --categorical embedding --embedding-width 3 --executor cpu --hidden 16 \
                 --learning-rate 0.01 --batch-size 20 --steps 600 --ensemble 2 --json -q --checkpoint c";
    let json = dir.run(train).exits(0).json();
    for model in json["models"].as_array().expect("two models") {
        let loss = model["train_loss"].as_f64().expect("a loss");
        assert!(loss < 0.01, "the loss over the table is {loss} in {model}");
    }
    let table = Checkpoint::read(&dir.path("c")).expect("it was just written").tensor("embeddings.0.embedding");
    assert_eq!(table.len(), 2 * 12 * 3, "numbers of two tables");
    let predicted = dir.run("predict c --data t.csv").exits(0).stdout.clone();
    let wanted: Vec<f64> = [3, -1, 4, 1, -5, 9, -2, 6, 5, -3, 8, -7].map(f64::from).repeat(5);
    let got: Vec<f64> = predicted.lines().skip(1).map(|line| line.parse().expect("a number")).collect();
    assert_close("predictions", &got, &wanted, 0.0, 1.0);
    dir.write("other.csv", "x,name,y\n1,n3,1\n1,nobody,1\n");
    dir.run("predict c --data other.csv").exits(1).says(&["line 3", "\"name\"", "nobody"]);
    dir.run("evaluate c --data t.csv").exits(0);
}

#[test]
fn resumed_runs_have_the_bits_of_unbroken_ones() {
    for flags in [
        "",
        "--ensemble 2 --layer-norm --hidden 5",
        "--clip-norm 0.5 --accumulate 3 --optimizer adamw --validation 0.2",
    ] {
        let dir = Dir::new();
        dir.write("t.csv", &names());
        let tiny = if flags.contains("--hidden") { "--executor cpu --batch-size 7" } else { TINY };
        let train = format!("train {tiny} --data t.csv --target y --categorical embedding {flags}");
        dir.run(&format!("{train} --steps 60 --checkpoint whole -q")).exits(0);
        dir.run(&format!("{train} --steps 25 --checkpoint parts -q")).exits(0);
        dir.run("train --resume parts --steps 60 -q").exits(0);
        let tensors = |name: &str| {
            let checkpoint = Checkpoint::read(&dir.path(name)).expect("it was just written");
            ["embeddings.0.embedding", "mu.embeddings.0.embedding", "layers.0.kernel", "loss"]
                .map(|tensor| checkpoint.tensor(tensor).into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        assert_eq!(tensors("parts"), tensors("whole"), "{flags}: checkpoints");
    }
}

#[test]
fn flags_say_what_is_possible() {
    let dir = Dir::new();
    dir.write("t.csv", &names()).write("n.csv", "a,y\n1,2\n3,4\n");
    let train = format!("train {TINY} --target y --steps 9");
    for (flags, code, texts) in [
        ("--data n.csv --categorical embedding", 1, ["n.csv", "nothing to embed"]),
        ("--data t.csv --categorical both", 2, ["--categorical", "one_hot, embedding"]),
        ("--data t.csv --categorical embedding --embedding-width 0", 2, ["--embedding-width", "from 1 to 16384"]),
        ("--data t.csv --embedding-width 4", 2, ["--embedding-width", "--categorical embedding"]),
        ("--data t.csv --categorical embedding --encoding frequency", 2, ["--encoding frequency", "leave out one"]),
    ] {
        dir.run(&format!("{train} {flags}")).exits(code).says(&texts);
    }
    dir.run("train --executor cpu --categorical embedding").exits(2).says(&["--data"]);
    let said = dir.run(&format!("{train} --data t.csv --categorical embedding --checkpoint c"));
    said.exits(0).says(&["embedded", "12 categories as 6 numbers"]);
    for (flag, was) in
        [("--categorical one_hot", "embedding"), ("--categorical embedding --embedding-width 5", "its default")]
    {
        dir.run(&format!("train --resume c --data t.csv --steps 10 {flag}")).exits(2).says(&["contradicts", was]);
    }
    dir.run("train --resume c --data t.csv --steps 10 --categorical embedding -q").exits(0);
    let plan = dir.run(&format!("plan {TINY} --data t.csv --target y --categorical embedding"));
    plan.exits(0);
    for op in ["encode", "dense_backward_0", "embedding_update"] {
        assert!(plan.stdout.lines().any(|line| line.split_whitespace().next() == Some(op)), "{op} is an op of {plan}");
    }
    assert!(plan.stdout.starts_with("2-4-1 gelu embedding 12x6 mse"), "{plan}");
    let inspected = dir.run("inspect c");
    assert!(inspected.exits(0).stdout.contains("an embedding of width 6 of n0, n1"), "{inspected}");
}
