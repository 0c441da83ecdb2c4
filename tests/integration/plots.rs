//! `fori plot` and `fori train --plot`.

use resvg::tiny_skia::Pixmap;

use crate::cli::{Dir, TINY};

/// A run with as many rows as steps.
fn trained(dir: &Dir, name: &str, flags: &str) {
    dir.run(&format!("train {TINY} --steps 60 --log-every 1 --metrics {name} {flags}")).exits(0);
}

/// The texts of an SVG.
pub(crate) fn texts(dir: &Dir, name: &str) -> Vec<String> {
    let svg = dir.read(name);
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "an SVG: {svg}");
    let text = |part: &str| part.split_once('>').expect("a tag").1.trim().to_owned();
    svg.split("</text>")
        .filter(|part| part.contains("<text"))
        .map(|part| text(&part[part.find("<text").unwrap_or(0)..]))
        .collect()
}

/// The pixels of a picture that are neither white nor gray.
fn colored(dir: &Dir, name: &str) -> usize {
    let map = Pixmap::decode_png(&dir.bytes(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(map.width() == 1920 && map.height() > 1000, "{name} has {} by {} pixels", map.width(), map.height());
    map.pixels().iter().filter(|p| p.red() != p.green() || p.green() != p.blue()).count()
}

#[test]
fn runs_are_drawn_as_svg_and_png() {
    let dir = Dir::new();
    trained(&dir, "a.csv", "--seed 1");
    trained(&dir, "b.jsonl", "--seed 2");
    dir.run("plot a.csv b.jsonl --out runs.svg --smooth 0.5 --title Two&runs").exits(0);
    let texts = texts(&dir, "runs.svg");
    for want in ["a.csv", "b.jsonl", "Two&amp;runs", "step", "loss, logarithmic", "10"] {
        assert!(texts.iter().any(|text| text == want), "{want} in {texts:?}");
    }
    dir.run("plot a.csv b.jsonl --out runs.png --x time --linear").exits(0);
    assert!(colored(&dir, "runs.png") > 2000, "colored pixels");
    let mut names = dir.names();
    names.retain(|name| !["a.csv", "b.jsonl", "runs.svg", "runs.png"].contains(&name.as_str()));
    assert!(names.is_empty(), "left behind: {names:?}");
}

#[test]
fn an_ensemble_is_a_band_or_lines() {
    let dir = Dir::new();
    trained(&dir, "m.csv", "--ensemble 5");
    dir.run("plot m.csv --out band.svg").exits(0);
    let svg = dir.read("band.svg");
    assert!(svg.contains("m.csv: median of 5 models, quartiles, range"), "the legend of {svg}");
    assert_eq!(svg.matches("<polygon").count(), 2, "two bands: {svg}");
    dir.run("plot m.csv --each --out lines.svg").exits(0);
    assert!(dir.read("lines.svg").contains("m.csv, model 4"), "a line for each model");
    trained(&dir, "many.csv", "--ensemble 21");
    dir.run("plot many.csv --each --out lines.svg").exits(2).says(&["21 lines cannot be told apart", "--each"]);
    assert!(dir.read("lines.svg").contains("m.csv, model 4"), "the older picture stays");
}

#[test]
fn validation_is_beside_training() {
    let dir = Dir::new();
    dir.write("m.csv", "step,loss,validation_loss\n1,3,\n2,2,2.5\n3,1,\n4,0.5,0.75\n");
    dir.run("plot m.csv --out v.svg").exits(0);
    assert!(dir.read("v.svg").contains("m.csv, validation"), "the legend");
    dir.write("n.csv", "step,accuracy\n1,0.5\n2,0.75\n");
    dir.run("plot n.csv --column accuracy --linear --out n.png").exits(0);
    assert!(colored(&dir, "n.png") > 1000, "colored pixels");
}

#[test]
fn training_draws_its_losses_at_the_end() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 30 --plot loss.svg")).exits(0);
    assert!(texts(&dir, "loss.svg").contains(&"[2, 4, 1], mse with adam".into()), "the title");
    assert_eq!(dir.names(), ["loss.svg"], "no other file");
    dir.run(&format!("train {TINY} --steps 30 --ensemble 3 --plot loss.png --metrics m.csv")).exits(0);
    assert!(colored(&dir, "loss.png") > 1000, "colored pixels");
    let diverging = format!("train {TINY} --steps 30 --learning-rate 1e30 --plot d.svg");
    dir.run(&diverging).exits(3);
    assert!(dir.read("d.svg").contains("(diverged at step"), "the legend of a run that diverged");
    dir.run(&format!("train {TINY} --steps 3 --plot d.jpg")).exits(2).says(&["--plot", ".svg or .png"]);
    dir.run(&format!("train {TINY} --steps 3 --plot none/d.svg")).exits(2).says(&["none/d.svg"]);
}

#[cfg(unix)]
#[test]
fn a_stream_cannot_be_drawn() {
    let dir = Dir::new();
    dir.run(&format!("train {TINY} --steps 3 --plot d.svg --metrics /dev/null"))
        .exits(2)
        .says(&["cannot be read again"]);
}

#[test]
fn what_cannot_be_drawn_is_said_with_file_and_line() {
    let dir = Dir::new();
    dir.write("good.csv", "step,loss\n1,2\n2,1\n");
    dir.write("bad.csv", "step,loss\n1,2\n2,one\n").write("short.csv", "step,loss\n1\n2,3\n");
    dir.write("empty.csv", "").write("head.csv", "step,loss\n").write("other.csv", "a,b\n1,2\n");
    dir.write("nan.csv", "step,loss\n1,NaN\n2,inf\n")
        .write("bad.jsonl", "{\"step\":1,\"loss\":1}\n{\"step\":\n{\"step\":2,\"loss\":1}\n");
    let many = "good.csv ".repeat(21);
    for (args, code, want) in [
        ("bad.csv --out x.svg", 1, "bad.csv, line 3: the loss \"one\" is no number"),
        ("short.csv --out x.svg", 1, "short.csv, line 2: expected 2 fields, found 1"),
        ("bad.jsonl --out x.svg", 1, "bad.jsonl, line 2: expected a JSON object"),
        ("empty.csv --out x.svg", 1, "empty.csv is empty"),
        ("head.csv --out x.svg", 1, "head.csv has no rows"),
        ("other.csv --out x.svg", 1, "other.csv, line 1: expected a header with a column step"),
        ("nan.csv --out x.svg", 1, "nan.csv: no loss is finite"),
        ("missing.csv --out x.svg", 1, "missing.csv"),
        (". --out x.svg", 1, "error: .: "),
        ("good.csv --column accuracy --out x.svg", 1, "good.csv has no column accuracy"),
        ("good.csv --x time --out x.svg", 1, "elapsed_s"),
        ("good.csv --out x.jpg", 2, ".svg or .png"),
        ("good.csv --smooth 1 --out x.svg", 2, "from 0 to less than 1"),
        ("good.csv --x week --out x.svg", 2, "step, time"),
        ("good.csv", 2, "--out"),
        (&format!("{many} --out x.svg"), 2, "21 lines cannot be told apart"),
    ] {
        dir.run(&format!("plot {args}")).exits(code).says(&[want]);
        assert!(!dir.path("x.svg").exists(), "no picture after plot {args}");
    }
    dir.write("zero.csv", "step,loss\n1,2\n2,0\n3,-1\n");
    dir.run("plot zero.csv --out z.svg").exits(0).says(&["2 values of 0 or less"]);
}
