//! The flags of checkpoints: what may change when a run goes on, and what is said of the rest.

use crate::cli::{Dir, TINY};

#[test]
fn flags_that_contradict_the_checkpoint_are_named_with_both_values() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 20 --ensemble 2 --sweep b1=0.5,0.6 --checkpoint c -q")).exits(0);
    let before = dir.bytes("c");
    for (flag, was) in [
        ("--hidden 8,8", "4"),
        ("--activation tanh", "gelu"),
        ("--optimizer sgd", "adam"),
        ("--batch-size 5", "4"),
        ("--seed 7", "0"),
        ("--ensemble 3", "2"),
        ("--inputs 3", "2"),
        ("--sweep b2=0.1,0.2", "b1=0.5,0.6"),
        ("--learning-rate 0.5", "0.001"),
        ("--weight-decay 0.5", "0.0"),
        ("--momentum 0.5", "0.0"),
        ("--nesterov", "false"),
        ("--data t.csv --target y", "the linreg task"),
    ] {
        let name = flag.split(' ').next().unwrap_or_default();
        let ran = dir.run(&format!("train --resume c --steps 30 {flag}"));
        ran.exits(2).says(&[name, "contradicts the checkpoint", &format!("which has {was}")]);
    }
    dir.run("train --resume c --learning-rate 0.5").exits(2).says(&["add --override"]);
    dir.run("train --resume c --b1 0.5 --override").exits(2).says(&["--b1 is swept in the checkpoint (b1=0.5,0.6)"]);
    dir.run("train --resume c --steps 19").exits(2).says(&["--steps 19", "step 20"]);
    dir.run("train --resume absent").exits(1).says(&["checkpoint absent: "]);
    dir.run("train --resume .").exits(1).says(&["checkpoint .: expected a file"]);
    assert_eq!(dir.bytes("c"), before, "the checkpoint is as it was");
}

#[test]
fn what_may_change_changes() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 20 --checkpoint c -q")).exits(0);
    // The same values are no contradiction.
    dir.run(&format!("train {TINY} --resume c --seed 0 --learning-rate 1e-3 --steps 25 -q")).exits(0);
    let flags = "--steps 30 --learning-rate 0.5 --override --log-every 2 --iters-per-submit 3 --checkpoint d --json -q";
    let ran = dir.run(&format!("train --resume c {flags}"));
    let json = ran.exits(0).json();
    assert_eq!((&json["steps"], &json["iters_per_submit"]), (&30.into(), &3.into()), "figures of {ran}");
    assert_eq!(dir.run("train --resume c --json -q").exits(0).json()["steps"], 25, "c stayed where it was");
    let done = dir.run("train --resume d --json -q");
    let again = done.exits(0).json();
    assert_eq!((&again["verified_steps"], &again["final_loss"]), (&0.into(), &json["final_loss"]), "done: {done}");
}

#[test]
fn checkpoint_flags_name_what_is_possible() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("folder")).expect("a folder can be made");
    for (flags, texts) in [
        ("--checkpoint folder", ["--checkpoint folder", "expected a file, found a folder"]),
        ("--checkpoint absent/c", ["--checkpoint absent/c", "no folder absent; make it first"]),
        ("--checkpoint-every 5", ["--checkpoint-every", "add --checkpoint FILE"]),
        ("--keep 5", ["--keep", "add --checkpoint FILE"]),
        ("--checkpoint c --keep 0", ["--keep", "from 1 to"]),
        ("--checkpoint c --checkpoint-every 0", ["--checkpoint-every", "of 1 or more"]),
        ("--override", ["--override", "--resume"]),
        ("--on-divergence hope", ["--on-divergence", "stop, continue"]),
    ] {
        let ran = dir.run(&format!("train {TINY} {flags}"));
        ran.exits(2).says(&texts);
    }
    dir.write("t.csv", "a,y\n1,2\n2,3\n3,4\n4,6\n");
    let best = "--data t.csv --target y --validation 0.5 --checkpoint-best folder";
    dir.run(&format!("train {TINY} {best}")).exits(2).says(&["--checkpoint-best folder: expected a file"]);
    assert_eq!(dir.names(), ["folder", "t.csv"], "nothing is left behind");
}

#[test]
fn the_table_must_be_the_same_but_may_move() {
    let dir = Dir::new();
    let table = "a,b,y\n1,2,3\n1,5,4\n0,1,7\n";
    dir.write("t.csv", table).write("moved.csv", table).write("more.csv", "a,b,y\n1,2,3\n1,5,4\n0,1,7\n9,9,9\n");
    dir.write("other.csv", "a,b,y\n1,2,3\n1,5,4\n0,2,7\n").write("renamed.csv", &table.replace('a', "c"));
    dir.run(&format!("train {TINY} --data t.csv --target y --steps 20 --checkpoint c -q")).exits(0);
    dir.run("train --resume c --data moved.csv --target y --steps 30 -q").exits(0);
    let refused = "not the table of the checkpoint";
    for (name, why) in
        [("more", "4 rows, and 3"), ("other", "numbers are others"), ("renamed", "columns, categories or numbers")]
    {
        let ran = dir.run(&format!("train --resume c --data {name}.csv --target y --steps 40"));
        ran.exits(1).says(&[&format!("--data {name}.csv"), refused, why]);
    }
    dir.run("train --resume c --data t.csv --target b").exits(2).says(&["--target b contradicts", "which has y"]);
    dir.run("train --resume c --inputs 2").exits(2).says(&["--inputs 2 contradicts", "the table moved.csv"]);
    std::fs::remove_file(dir.path("moved.csv")).expect("it is there");
    dir.run("train --resume c --steps 40").exits(1).says(&["--data moved.csv: "]);
}

#[test]
fn categories_and_classes_must_have_the_same_names() {
    let dir = Dir::new();
    let table = "k,y\np,1\nq,2\np,3\nr,4\n";
    dir.write("t.csv", table).write("u.csv", &table.replace('q', "s"));
    dir.run(&format!("train {TINY} --data t.csv --target y --categorical embedding --steps 20 --checkpoint e -q"))
        .exits(0);
    dir.run(&format!("train {TINY} --data t.csv --target k --loss softmax_cross_entropy --steps 20 --checkpoint c -q"))
        .exits(0);
    for checkpoint in ["e", "c"] {
        dir.run(&format!("train --resume {checkpoint} --steps 90 -q")).exits(0);
        let ran = dir.run(&format!("train --resume {checkpoint} --data u.csv --steps 99"));
        ran.exits(1).says(&["--data u.csv", "not the table of the checkpoint", "categories"]);
    }
}

#[test]
fn the_settings_of_a_table_are_those_of_the_checkpoint() {
    let dir = Dir::new();
    dir.write("t.csv", "a,k,w,y\n1,p,1,3\n2,q,1,5\n,p,2,7\n4,q,1,9\n5,p,1,1\n");
    let flags = "--data t.csv --target y --exclude w --validation 0.4 --missing mean";
    dir.run(&format!("train {TINY} {flags} --steps 40 --checkpoint whole -q")).exits(0);
    dir.run(&format!("train {TINY} {flags} --steps 20 --checkpoint parts -q")).exits(0);
    for (flag, was) in [
        ("--exclude a", "w"),
        ("--features a", "none"),
        ("--weight-column w", "none"),
        ("--validation 0.2", "0.4"),
        ("--missing drop", "mean"),
        ("--no-standardize", "false"),
    ] {
        let ran = dir.run(&format!("train --resume parts --data t.csv {flag}"));
        let name = flag.split(' ').next().unwrap_or_default();
        ran.exits(2).says(&[name, "contradicts the checkpoint", &format!("which has {was}")]);
    }
    dir.run("train --resume parts --image t.png").exits(2).says(&["--image", "which has the table t.csv"]);
    dir.run("train --resume parts --steps 40 -q").exits(0);
    assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "checkpoint");
    let schema = fori::checkpoint::Checkpoint::read(&dir.path("whole")).expect("a checkpoint").schema;
    let schema = schema.expect("that of the table");
    assert_eq!(schema.input_names(), ["a", "k=p", "k=q"], "inputs");
}

#[test]
fn an_image_is_learned_further() {
    let dir = Dir::new();
    let image = crate::common::path("data/formats/tiny.png");
    let flags = format!("--image {} --validation 0.3", image.display());
    dir.run(&format!("train {TINY} {flags} --steps 40 --checkpoint whole -q")).exits(0);
    dir.run(&format!("train {TINY} {flags} --steps 20 --checkpoint parts -q")).exits(0);
    dir.run("train --resume parts --steps 40 -q").exits(0);
    assert_eq!(dir.bytes("parts"), dir.bytes("whole"), "checkpoint");
    dir.write("not.png", "no image");
    dir.run("train --resume parts --image not.png").exits(1).says(&["not.png", "expected a PNG or JPEG image"]);
    dir.run(&format!("train {TINY} --image not.bmp")).exits(1).says(&["--image not.bmp", "a PNG or JPEG file"]);
    dir.write("not.bmp", "BM\u{0}")
        .run(&format!("train {TINY} --image not.bmp"))
        .exits(1)
        .says(&["a PNG or JPEG image"]);
    std::fs::copy(&image, dir.path("photo")).expect("a file can be copied");
    dir.run(&format!("train {TINY} --image photo --steps 2")).exits(0);
    dir.run("data photo").exits(0).prints(&["6 rows, 5 columns"]);
    dir.run("train --resume parts --image absent.png").exits(1).says(&["--image absent.png", "a PNG or JPEG file"]);
}

#[test]
fn a_metrics_file_is_continued_from_the_step_of_the_checkpoint() {
    let dir = Dir::new();
    let steps = |name: &str| -> Vec<String> {
        let text = dir.read(name);
        let step = |row: &str| row.trim_start_matches("{\"step\":").split(',').next().map(String::from);
        text.lines().filter_map(step).filter(|step| step != "step").collect()
    };
    for name in ["m.csv", "m.jsonl"] {
        let flags = format!("train {TINY} --log-every 1 --metrics {name} -q");
        dir.run(&format!("{flags} --steps 10 --checkpoint c --checkpoint-every 5 --keep 2")).exits(0);
        dir.run(&format!("train --resume c.5 --steps 12 --checkpoint d --log-every 1 --metrics {name} -q")).exits(0);
        assert_eq!(steps(name), (1..=12).map(|s| s.to_string()).collect::<Vec<_>>(), "steps of {name}");
        // A killed run leaves its rows beside the file, the last of them perhaps cut.
        let partial = format!("{name}.partial");
        std::fs::rename(dir.path(name), dir.path(&partial)).expect("it is there");
        let cut = dir.read(&partial).trim_end().to_owned();
        dir.write(&partial, &cut).write(name, "of an older run");
        dir.run(&format!("train --resume d --steps 13 --log-every 1 --metrics {name} -q")).exits(0);
        let want: Vec<_> = (1..=13).filter(|s| *s != 12).map(|s| s.to_string()).collect();
        assert_eq!(steps(name), want, "steps of {name} without the row that was cut");
    }
    dir.write("other.csv", "a,b\n1,2\n");
    dir.run("train --resume d --steps 14 --metrics other.csv")
        .exits(2)
        .says(&["--metrics other.csv", "columns step,loss"]);
    assert_eq!(dir.read("other.csv"), "a,b\n1,2\n", "it is left alone");
}
