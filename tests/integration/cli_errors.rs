//! Wrong use: each message names the flag, says what was expected, and the exit code tells who can mend it.

use crate::cli::{Dir, TINY};
use crate::common;

/// Runs that end before anything is trained: arguments after `fori train`, exit code, texts on stderr.
type Misuse = (&'static str, i32, &'static [&'static str]);

/// Checks each row, in a folder with a good table, one with text in it, and a subfolder.
fn check(rows: &[Misuse]) {
    let dir = Dir::new();
    dir.write("good.csv", "a,b,y\n1,2,3\n1,5,4\n").write("text.csv", "a,b,y\n1,2,3\n1,red,4\n");
    std::fs::create_dir(dir.path("folder")).expect("a folder can be made");
    for (args, code, texts) in rows {
        let ran = dir.run(&format!("train {args}"));
        ran.exits(*code).says(&["error: "]).says(texts);
        assert_eq!(ran.stdout, "", "stdout of a run that failed: {ran}");
        assert!(!ran.stderr.contains("panicked"), "no panic: {ran}");
    }
    assert_eq!(dir.names(), ["folder", "good.csv", "text.csv"], "nothing is left behind");
}

const HUGE: &str = "99999999999999999999999";

#[test]
fn numbers_out_of_range_name_flag_and_range() {
    let whole: [(&str, &str); 8] = [
        ("--steps", "a whole number from 1 to 4000000000"),
        ("--inputs", "1"),
        ("--outputs", "1"),
        ("--batch-size", "a whole number from 1 to 1048576"),
        ("--ensemble", "a whole number from 1 to 65535"),
        ("--iters-per-submit", "auto, or a whole number of 1 or more"),
        ("--submit-budget-ms", "a whole number from 1 to 10000"),
        ("--log-every", "a whole number of 1 or more"),
    ];
    let dir = Dir::new();
    for (flag, want) in whole {
        for value in ["0", "-1", "two", "1.5", HUGE] {
            dir.run_with(&["train", flag, value]).exits(2).says(&[flag, &format!("'{value}'"), want]);
        }
        dir.run_with(&["train", flag]).exits(2).says(&[flag, "a value is required"]);
    }
    for value in ["-1", "one", HUGE] {
        dir.run_with(&["train", "--seed", value]).exits(2).says(&["--seed", "a whole number of 0 or more"]);
    }
    for flag in ["--learning-rate", "--b1", "--b2", "--eps"] {
        for value in ["-1", "nan", "inf", "1e300", "fast", ""] {
            dir.run_with(&["train", flag, value]).exits(2).says(&[flag, "expected"]);
        }
    }
}

#[test]
fn values_name_what_is_possible() {
    check(&[
        ("--hidden 0", 2, &["--hidden", "'0'", "widths of 1 or more", "none"]),
        ("--hidden 64,,64", 2, &["--hidden", "widths of 1 or more"]),
        ("--hidden -64", 2, &["--hidden", "widths of 1 or more"]),
        ("--hidden 64,99999", 2, &["--hidden", "width 99999", "1 to 16384"]),
        ("--inputs 99999", 2, &["--inputs", "1 to 16384"]),
        ("--hidden 16384,16384,16384", 2, &["4 GiB", "lower --batch-size, --hidden or --ensemble"]),
        ("--b1 1", 2, &["--b1", "0 or more and below 1"]),
        ("--b2 1", 2, &["--b2", "0 or more and below 1"]),
        ("--activation step", 2, &["--activation", "expected one of", "gelu"]),
        ("--loss step", 2, &["--loss", "expected one of", "mse"]),
        ("--optimizer step", 2, &["--optimizer", "expected one of", "adam", "lion"]),
        ("--momentum 1", 2, &["--momentum", "expected 0 or more and below 1"]),
        ("--weight-decay -1", 2, &["--weight-decay"]),
        ("--sweep nesterov=0,2", 2, &["--sweep", "nesterov", "expected 0 or 1"]),
        ("--executor gpu", 2, &["--executor", "expected one of", "recorded", "persistent"]),
        ("--backend cuda", 2, &["--backend", "vulkan, metal, dx12, gl"]),
        ("--task cubic", 2, &["--task", "linreg"]),
        ("--executor cpu --iters-per-submit 99999999", 2, &["--iters-per-submit 99999999", "auto, or 1 to"]),
        ("--stepz 3", 2, &["--stepz", "--steps"]),
        ("extra", 2, &["extra"]),
    ]);
}

#[test]
fn sweeps_name_what_is_possible() {
    check(&[
        ("--sweep momentun=1", 2, &["--sweep", "momentun", "expected one of learning_rate, b1"]),
        ("--sweep learning_rate=", 2, &["--sweep", "NAME=V1,V2,..."]),
        ("--sweep learning_rate", 2, &["--sweep", "NAME=V1,V2,..."]),
        ("--sweep learning_rate=1,,2", 2, &["--sweep", "NAME=V1,V2,..."]),
        ("--sweep learning_rate=fast", 2, &["--sweep", "NAME=V1,V2,... with numbers"]),
        ("--sweep learning_rate=0.1,-1", 2, &["--sweep", "learning_rate -1", "0 or more"]),
        ("--sweep b1=0.1 --sweep b1=0.2", 2, &["--sweep b1 is given twice", "into one"]),
        ("--sweep learning-rate=1 --learning-rate 1", 2, &["--learning-rate and --sweep", "leave one of them out"]),
        ("--ensemble 60000 --sweep b1=0.1,0.2", 2, &["--ensemble 60000", "--sweep", "at most 65535"]),
    ]);
}

#[test]
fn contradictions_name_both_flags() {
    check(&[
        ("--data good.csv --target y --task linreg", 2, &["--data", "--task"]),
        ("--data good.csv --target y --inputs 2", 2, &["--data", "--inputs"]),
        ("--data good.csv --target y --outputs 1", 2, &["--data", "--outputs"]),
        ("--data good.csv", 2, &["--target"]),
        ("--target y", 2, &["--data"]),
        ("--no-standardize", 2, &["--data"]),
        ("--inputs 2 --missing drop", 2, &["--data"]),
        ("--task linreg --no-standardize", 2, &["--data"]),
        ("--executor cpu --adapter llvmpipe", 2, &["--executor cpu", "leave out --adapter"]),
        ("--executor cpu --backend vulkan", 2, &["--executor cpu", "leave out --adapter and --backend"]),
        ("--steps 3 --steps 4", 2, &["--steps", "multiple times"]),
        ("--steps 3 --accumulate 4", 2, &["--accumulate 4", "no update in 3 steps"]),
        ("--schedule piecewise", 2, &["--schedule piecewise needs --boundaries STEP=FACTOR"]),
    ]);
}

#[test]
fn outputs_of_one_place_name_both_flags() {
    check(&[
        ("--checkpoint o --metrics ./o", 2, &["--metrics and --checkpoint both name", "o, and one would be lost"]),
        ("--plot o.svg --metrics o.svg", 2, &["--metrics and --plot"]),
        ("--save-experiment o --checkpoint folder/../o", 2, &["--checkpoint and --save-experiment"]),
        ("--metrics o --tensorboard o", 2, &["--metrics and --tensorboard"]),
        (
            "--data good.csv --target y --validation 0.5 --checkpoint o --checkpoint-best o",
            2,
            &["--checkpoint and --checkpoint-best"],
        ),
    ]);
    Dir::new().run(&format!("train {TINY} --steps 2 --metrics /dev/null --checkpoint o")).exits(0);
}

#[test]
fn numbers_of_another_optimizer_are_refused_wherever_a_network_is_named() {
    check(&[
        (
            "--weight-decay 0.1",
            2,
            &["--weight-decay has no meaning for --optimizer adam", "use --optimizer adamw or lion"],
        ),
        ("--no-bias-decay", 2, &["--no-bias-decay has no meaning for --optimizer adam", "adamw or lion"]),
        ("--momentum 0.9", 2, &["--momentum has no meaning for --optimizer adam", "use --optimizer sgd"]),
        ("--sweep momentum=0.1,0.9", 2, &["--sweep momentum has no meaning for --optimizer adam"]),
        ("--optimizer sgd --b1 0.9", 2, &["--b1 has no meaning for --optimizer sgd"]),
        ("--optimizer adagrad --b2 0.9", 2, &["--b2 has no meaning for --optimizer adagrad"]),
        ("--optimizer lion --eps 1", 2, &["--eps has no meaning for --optimizer lion"]),
        ("--optimizer sgd --nesterov", 2, &["--nesterov goes with a momentum: add --momentum 0.9"]),
        ("--optimizer sgd --sweep nesterov=0,1", 2, &["--sweep nesterov goes with a momentum"]),
    ]);
    let dir = Dir::new();
    for command in ["plan", "bench", "tune", "web --out w.html"] {
        dir.run(&format!("{command} --momentum 0.9")).exits(2).says(&["--momentum has no meaning"]);
    }
    dir.run(&format!("train {TINY} --steps 2 --optimizer sgd --sweep momentum=0.5,0.9 --nesterov --checkpoint c"))
        .exits(0);
    dir.run(&format!("train {TINY} --steps 2 --weight-decay 0 --momentum 0")).exits(0);
    // What the optimizer is, the checkpoint says.
    dir.run(&format!("train {TINY} --steps 2 --optimizer sgd --checkpoint c")).exits(0);
    dir.run("train --resume c --steps 4 --momentum 0.5 --override").exits(0);
    dir.run("train --resume c --steps 6 --b1 0.5 --override")
        .exits(2)
        .says(&["--b1 has no meaning for --optimizer sgd"]);
}

#[test]
fn data_errors_name_file_line_column_and_flag() {
    check(&[
        ("--executor cpu --data text.csv --target y", 1, &["text.csv, line 3: column \"b\"", "\"red\"", "encode"]),
        ("--executor cpu --data text.csv --target b", 1, &["text.csv, line 3: column \"b\""]),
        (
            "--executor cpu --data good.csv --target Y",
            1,
            &["good.csv, line 1", "--target \"Y\"", "did you mean \"y\"?"],
        ),
        (
            "--executor cpu --data good.csv --target x",
            1,
            &["--target \"x\"", "(available columns: \"a\", \"b\", \"y\")"],
        ),
        ("--executor cpu --data good.csv --target y,y", 1, &["--target names \"y\" twice"]),
        ("--executor cpu --data good.csv --target a,b,y", 1, &["--target names every column"]),
        ("--executor cpu --data absent.csv --target y", 1, &["--data absent.csv", "expected a CSV file"]),
        ("--executor cpu --data folder --target y", 1, &["--data folder", "expected a CSV file"]),
    ]);
}

#[test]
fn metrics_paths_that_cannot_be_written_are_refused_first() {
    check(&[
        ("--executor cpu --metrics folder", 2, &["--metrics folder", "expected a file, found a folder"]),
        ("--executor cpu --metrics absent/m.csv", 2, &["--metrics absent/m.csv", "no folder absent", "make it first"]),
        ("--executor cpu --data text.csv --target y --metrics m.csv", 1, &["text.csv, line 3"]),
        ("--executor cpu --iters-per-submit 99999999 --metrics m.csv", 2, &["--iters-per-submit"]),
    ]);
}

#[test]
fn an_older_metrics_file_outlives_a_run_that_fails() {
    let dir = Dir::new();
    dir.write("m.csv", "precious").write("bad.csv", "a,y\n1,red\n");
    dir.run(&format!("train {TINY} --data bad.csv --target y --metrics m.csv")).exits(1);
    dir.run(&format!("train {TINY} --iters-per-submit 99999999 --metrics m.csv")).exits(2);
    assert_eq!(dir.read("m.csv"), "precious", "the older file");
    assert_eq!(dir.names(), ["bad.csv", "m.csv"], "no partial file is left");
    dir.run(&format!("train {TINY} --steps 5 --metrics m.csv")).exits(0);
    assert!(dir.read("m.csv").starts_with("step,loss"), "a run that ends well replaces it");
}

#[test]
fn what_is_read_is_not_written_over() {
    let dir = Dir::new();
    let (table, held, experiment) = ("a,y\n1,2\n2,3\n", "a,y\n4,5\n", "hidden = [3]\n");
    dir.write("t.csv", table).write("v.csv", held).write("e.toml", experiment);
    let data = format!("{TINY} --data t.csv --target y --validation v.csv --steps 3 -q");
    dir.run(&format!("train {data} --checkpoint c")).exits(0);
    let checkpoint = dir.bytes("c");
    for (output, input) in [
        ("--metrics ./t.csv", "t.csv"),
        ("--metrics v.csv", "v.csv"),
        ("--checkpoint t.csv", "t.csv"),
        ("--checkpoint-best v.csv", "v.csv"),
    ] {
        let read = format!("this is {input}, which is read");
        dir.run(&format!("train {data} {output}")).exits(2).says(&[&format!("{output}: "), &read]);
    }
    dir.run("train e.toml --checkpoint e.toml").exits(2).says(&["--checkpoint e.toml: this is e.toml, which is read"]);
    dir.run("train --resume c --steps 4 --metrics c").exits(2).says(&["--metrics c: this is c, which is read"]);
    dir.run("web --data t.csv --target y --out t.csv").exits(2).says(&["--out t.csv: this is t.csv, which is read"]);
    dir.run("export c --format web --out v.csv").exits(2).says(&["--out v.csv: this is v.csv, which is read"]);
    assert_eq!([dir.read("t.csv"), dir.read("v.csv"), dir.read("e.toml")], [table, held, experiment], "what is read");
    assert_eq!(dir.bytes("c"), checkpoint, "the checkpoint");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_metrics_file_stays_a_link_and_a_pipe_is_written() {
    let dir = Dir::new();
    dir.write("target.csv", "old");
    std::os::unix::fs::symlink("target.csv", dir.path("link.csv")).expect("a link can be made");
    dir.run(&format!("train {TINY} --steps 5 --metrics link.csv")).exits(0);
    assert!(dir.read("target.csv").starts_with("step,loss"), "the file behind the link");
    let link = dir.path("link.csv").symlink_metadata().expect("the link exists");
    assert!(link.is_symlink(), "the link stays");
    for (name, to, flag) in
        [("c", "run.st", "--checkpoint"), ("p.svg", "chart.svg", "--plot"), ("m", "rows.csv", "--metrics")]
    {
        std::os::unix::fs::symlink(to, dir.path(name)).expect("a link can be made");
        dir.run(&format!("train {TINY} --steps 5 {flag} {name}")).exits(0);
        let link = dir.path(name).symlink_metadata().expect("the link exists");
        assert!(link.is_symlink() && !dir.bytes(to).is_empty(), "{flag} {name} to a file that is not there yet");
    }
    dir.run(&format!("train {TINY} --checkpoint c --metrics run.st")).exits(2).says(&["--metrics and --checkpoint"]);
    dir.run(&format!("train {TINY} --steps 5 --log-every 5 --metrics /dev/stderr -q"))
        .exits(0)
        .says(&["step,loss", "\n5,"]);
    dir.run(&format!("train {TINY} --metrics /dev/stdout")).exits(2).says(&["--metrics", "name a file"]);
}

#[cfg(target_os = "linux")]
#[test]
fn without_an_adapter_the_cpu_trains_and_says_what_to_install() {
    let dir = Dir::new().without_adapter();
    let install = "apt install mesa-vulkan-drivers libvulkan1";
    let ran = dir.run("train --hidden 4 --steps 10 --json --quiet");
    let json = ran.exits(0).says(&["note: no graphics adapter was found", "cpu executor", install]).json();
    assert_eq!(json["executor"], "cpu", "executor of {ran}");
    for executor in ["recorded", "persistent"] {
        let ran = dir.run(&format!("train --executor {executor} --steps 10 --metrics m.csv"));
        ran.exits(1).says(&["error: ", &format!("--executor {executor}"), install, "--executor cpu"]);
        assert_eq!(ran.stdout, "", "stdout of {ran}");
    }
    dir.run("train --backend vulkan --steps 10").exits(1).says(&["no adapter fits --backend vulkan"]);
    dir.run("adapters").exits(0).prints(&["no adapter was found", install]);
    assert_eq!(dir.run("adapters --json").exits(0).json(), serde_json::json!([]), "no adapters");
    dir.run("plan").exits(0).prints(&["tiled kernels"]);
    assert!(dir.names().is_empty(), "nothing is left behind: {:?}", dir.names());
}

#[test]
fn an_adapter_that_is_not_there_is_answered_with_those_that_are() {
    let Some(device) = common::device() else { return };
    let have = format!("there are: {}", device.summary.name);
    Dir::new().run("train --adapter Voodoo2").exits(1).says(&["no adapter fits --adapter Voodoo2"]);
    let ran = Dir::new().run(&format!("train --adapter Voodoo2 --backend {}", device.summary.backend));
    ran.exits(1).says(&["no adapter fits --adapter Voodoo2 --backend", &have]);
}
