//! What there is around the dense layers, on the host: the cpu executor against the oracle, runs that learn, and flags.

use fori::checkpoint::Checkpoint;
use fori::plan::{Source, TrainStep};
use fori::spec::{Activation, FREQUENCIES, InputEncoding, LayerOptions, Loss, Optimizer};

use crate::cli::{Dir, TINY};
use crate::common::{assert_close, golden};
use crate::cpu::follows_the_oracle;
use crate::network::{ENCODED, Network, model};

const NONE: LayerOptions = LayerOptions::NONE;
const FOURIER: InputEncoding = InputEncoding::Fourier { features: 5, scale: 2.0 };
const FREQUENCY: InputEncoding = InputEncoding::Frequency { frequencies: 3 };

const OPTIONS: [LayerOptions; 5] = [
    LayerOptions { dropout: 0.4, ..NONE },
    LayerOptions { residual: true, ..NONE },
    LayerOptions { dropout: 0.2, residual: true, ..NONE },
    LayerOptions { layer_norm: true, ..NONE },
    LayerOptions { dropout: 0.2, layer_norm: true, residual: true, ..LayerOptions::NONE },
];

#[test]
fn the_cpu_executor_follows_the_oracle() {
    for options in OPTIONS.into_iter().chain(ENCODED) {
        for widths in [&[3, 5, 5, 2][..], &[2, 33, 33, 1, 1, 1], &[7, 4, 4, 4, 3]] {
            for source in [Source::Linreg, Source::Table { rows: 23 }] {
                let model = model(widths, Activation::Tanh).with(options.clone()).expect("the options are possible");
                let what = format!("{model:?} {source:?}");
                follows_the_oracle(&what, TrainStep::new(model, Loss::Mse, Optimizer::Adam, 17, source));
            }
        }
    }
}

/// Networks of the golden data: widths, batch, options.
const GOLDEN: [(&str, &[usize], usize, LayerOptions); 8] = [
    ("norm", &[3, 6, 5, 2], 7, LayerOptions { layer_norm: true, ..NONE }),
    ("dropout", &[3, 6, 6, 2], 7, LayerOptions { dropout: 0.25, ..NONE }),
    ("residual", &[2, 5, 5, 5, 4, 4, 1], 4, LayerOptions { residual: true, ..NONE }),
    ("all", &[3, 6, 6, 6, 2], 5, LayerOptions { dropout: 0.5, layer_norm: true, residual: true, ..NONE }),
    ("fourier", &[2, 6, 1], 7, LayerOptions { encoding: FOURIER, ..NONE }),
    ("fourier_input", &[2, 6, 1], 7, LayerOptions { encoding: FOURIER, include_input: true, ..NONE }),
    ("frequency", &[3, 6, 1], 7, LayerOptions { encoding: FREQUENCY, ..NONE }),
    ("frequency_input", &[3, 6, 1], 7, LayerOptions { encoding: FREQUENCY, include_input: true, ..NONE }),
];

#[test]
fn predictions_and_gradients_equal_those_of_flax() {
    let data = golden("layers.safetensors");
    for (name, widths, batch, options) in GOLDEN {
        let model = model(widths, Activation::Tanh).with(options).expect("the options are possible");
        let mut network = Network::of(&data, name, model, batch);
        let loss = network.step();
        assert_close(name, &[loss], &data[&format!("{name}_loss")], 1e-12, 0.0);
        let prediction = network.get(&format!("h{}", widths.len() - 1));
        assert_close(name, &prediction, &data[&format!("{name}_prediction")], 1e-12, 1e-13);
        for parameter in network.parameters() {
            let (got, want) = (format!("grads.{parameter}"), format!("{name}_grads.{parameter}"));
            assert_close(&want, &network.get(&got), &data[&want], 1e-11, 1e-13);
        }
    }
}

/// The mean of what is kept is what there was, and each layer draws anew.
#[test]
fn dropout_keeps_the_mean_and_draws_anew() {
    let options = LayerOptions { dropout: 0.25, ..NONE };
    let dropped = model(&[1, 400, 400, 1], Activation::Softplus).with(options).expect("the options are possible");
    let mut network = Network::random(dropped, 20, 1);
    let zeros = |values: &[f64]| values.iter().map(|v| *v == 0.0).collect::<Vec<_>>();
    network.step();
    let (first, second) = (network.get("h1"), network.get("h2"));
    let share = |h: &[f64]| zeros(h).iter().filter(|z| **z).count();
    for h in [&first, &second] {
        assert!((1800..2200).contains(&share(h)), "{} of 8000 are dropped", share(h));
    }
    assert_ne!(zeros(&first), zeros(&second), "each layer has its own draw");
    network.step();
    assert_ne!(zeros(&first), zeros(&network.get("h1")), "each step has its own draw");
    let mut whole = Network::random(model(&[1, 400, 400, 1], Activation::Softplus), 20, 1);
    whole.step();
    let ratios = first.iter().zip(whole.get("h1")).filter(|(h, _)| **h != 0.0).map(|(h, w)| h / w);
    let worst = ratios.fold(0.0_f64, |worst, r| worst.max((r - 1.0 / 0.75).abs()));
    assert!(worst < 1e-12, "what is kept is divided by the probability to be kept: off by {worst}");
}

#[test]
fn resumed_runs_have_the_bits_of_unbroken_ones() {
    let flags = [
        "--dropout 0.3",
        "--residual",
        "--layer-norm",
        "--dropout 0.1 --residual --layer-norm",
        "--encoding fourier --fourier-features 5 --include-input --ensemble 2",
        "--encoding frequency --frequencies 2",
        "--encoding fourier --layer-norm --clip-norm 0.5 --accumulate 3 --optimizer adamw",
    ];
    for flags in flags {
        let dir = Dir::new();
        let train = format!("train {TINY} --hidden 4,4 {flags}").replacen("--hidden 4 ", "", 1);
        dir.run(&format!("{train} --steps 60 --checkpoint whole -q")).exits(0);
        dir.run(&format!("{train} --steps 25 --checkpoint parts -q")).exits(0);
        dir.run("train --resume parts --steps 60 -q").exits(0);
        assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "{flags}: checkpoints");
    }
}

#[test]
fn flags_say_what_is_possible() {
    let dir = Dir::new();
    for (flags, texts) in [
        ("--dropout 1", ["--dropout", "from 0 to below 1"]),
        ("--dropout -0.1", ["--dropout", "from 0 to below 1"]),
        ("--dropout half", ["--dropout", "from 0 to below 1"]),
        ("--dropout nan", ["--dropout", "from 0 to below 1"]),
        ("--dropout 0.5 --hidden none", ["--dropout", "--hidden"]),
        ("--layer-norm --hidden none", ["--layer-norm", "--hidden"]),
        ("--encoding sines", ["--encoding", "none, fourier, frequency"]),
        ("--encoding fourier --fourier-features 0", ["--fourier-features", "from 1 to 8192"]),
        ("--encoding fourier --fourier-scale 0", ["--fourier-scale", "a positive number"]),
        ("--encoding fourier --fourier-scale 1e-60", ["--fourier-scale", "a positive number"]),
        ("--encoding frequency --frequencies 33", ["--frequencies", "from 1 to 32"]),
        ("--encoding frequency --frequencies 32 --inputs 300", ["--encoding frequency", "at most 16384"]),
        ("--encoding frequency --fourier-features 4", ["--fourier-features", "goes with --encoding fourier"]),
        ("--frequencies 4", ["--frequencies", "goes with --encoding frequency"]),
        ("--include-input", ["--include-input", "--encoding"]),
        ("--residual --hidden 8", ["--residual", "--hidden"]),
        ("--residual --hidden 8,4,8", ["--residual", "as 64,64"]),
    ] {
        dir.run(&format!("train --executor cpu {flags}")).exits(2).says(&texts);
    }
    dir.run("train --executor cpu --hidden 4,4 --steps 9 --dropout 0.5 --checkpoint c -q").exits(0);
    for (flag, was) in [("--dropout 0.4", "0.5"), ("--residual", "false"), ("--layer-norm", "false")] {
        dir.run(&format!("train --resume c --steps 10 {flag}")).exits(2).says(&["contradicts", was]);
    }
    dir.run(&format!("train {TINY} --encoding fourier --fourier-features 4 --steps 9 --checkpoint d -q")).exits(0);
    for (flag, was) in [
        ("--encoding fourier --fourier-features 5", "4"),
        ("--encoding fourier --fourier-scale 2", "1.0"),
        ("--encoding frequency", "fourier"),
    ] {
        dir.run(&format!("train --resume d --steps 10 {flag}")).exits(2).says(&["contradicts", was]);
    }
    dir.run("train --resume d --steps 10 --fourier-scale 1").exits(2).says(&["goes with --encoding fourier"]);
    dir.run("train --resume d --steps 10 --encoding fourier -q").exits(0);
    assert_eq!(Checkpoint::read(&dir.path("d")).expect("it was just written").step(), 10, "it went on");
}

/// What the inputs are multiplied with is drawn once.
#[test]
fn frequencies_stay_as_they_were_drawn() {
    let dir = Dir::new();
    for optimizer in Optimizer::ALL {
        let train =
            format!("train {TINY} --encoding fourier --fourier-scale 3 --optimizer {optimizer} --checkpoint c -q");
        let after = |steps: u32| {
            dir.run(&format!("{train} --steps {steps}")).exits(0);
            Checkpoint::read(&dir.path("c")).expect("it was just written").tensor(FREQUENCIES)
        };
        let (early, late) = (after(1), after(30));
        assert!(early == late, "{optimizer}: frequencies after 1 and after 30 steps");
        let mean_square = early.iter().map(|f| f * f).sum::<f32>() / 128.0;
        assert!((mean_square - 9.0).abs() < 3.0, "mean square {mean_square} of 128 numbers, expected about 9");
    }
}

/// A function that varies too fast for a plain network, and not for waves of its input.
#[test]
fn encoded_inputs_learn_what_varies_fast() {
    let rows = (0..120_u8).map(|i| f32::from(i) / 60.0 - 1.0);
    let text: String = rows.map(|x| format!("{x},{}\n", (25.0 * x).sin())).collect();
    let dir = Dir::new();
    dir.write("t.csv", &format!("x,y\n{text}"));
    let data = "--data t.csv --target y --executor cpu --hidden 32 --batch-size 64 --steps 1500 --json -q";
    let loss = |flags: &str| {
        let json = dir.run(&format!("train {data} {flags}")).exits(0).json();
        json["train_loss"].as_f64().expect("a loss")
    };
    assert!(loss("") > 0.5, "a plain network does not learn it");
    for flags in ["--encoding fourier --fourier-scale 2", "--encoding frequency --frequencies 4 --include-input"] {
        assert!(loss(flags) < 0.05, "{flags}: the loss over the table is {}", loss(flags));
    }
}

#[test]
fn plans_name_what_there_is_besides_dense_layers() {
    let dir = Dir::new();
    let flags =
        "--executor cpu --dropout 0.5 --layer-norm --residual --encoding frequency --frequencies 2 --include-input";
    let ran = dir.run(&format!("plan {flags}"));
    let first = ran.exits(0).stdout.lines().next().unwrap_or_default();
    let options = "2-64-64-1 gelu frequency 2 include_input layer_norm residual dropout 0.5 mse adam";
    assert!(first.starts_with(options), "`{first}` starts with `{options}`");
    // 10 encoded inputs, and scale and bias of two normalizations.
    let parameters = 11 * 64 + 65 * 64 + 65 + 4 * 64;
    assert!(first.contains(&format!("{parameters} parameters")), "`{first}` has {parameters} parameters");
    for op in [
        "encode",
        "layer_norm_forward_0",
        "layer_norm_forward_1",
        "layer_norm_backward_1",
        "layer_norm_backward_0",
        "layer_norm_update",
    ] {
        assert!(ran.stdout.lines().any(|line| line.split_whitespace().next() == Some(op)), "{op} is an op of {ran}");
    }
}

/// The loss over the table is that of the whole network: nothing is dropped, and skips are there.
#[test]
fn runs_learn_and_are_evaluated_whole() {
    let rows = (0..40_u8).map(|i| f32::from(i) / 20.0 - 1.0);
    let text: String = rows.map(|x| format!("{x},{}\n", (3.0 * x).sin())).collect();
    let dir = Dir::new();
    dir.write("t.csv", &format!("x,y\n{text}"));
    let data = "--data t.csv --target y --executor cpu --hidden 32,32 --batch-size 32 --steps 1500 --json -q";
    for (flags, limit) in [
        ("--dropout 0.1", 0.2),
        ("--residual", 0.02),
        ("--layer-norm", 0.02),
        ("--dropout 0.05 --residual --layer-norm", 0.2),
    ] {
        let json = dir.run(&format!("train {data} {flags}")).exits(0).json();
        let loss = json["train_loss"].as_f64().expect("a loss");
        assert!(loss < limit, "{flags}: the loss over the table is {loss}");
    }
}
