//! `fori plot` of checkpoints: pictures of what was learned.

use std::fmt::Write as _;

use fori::read_frame;
use resvg::tiny_skia::Pixmap;

use crate::cli::Dir;
use crate::common::path;
use crate::plots::texts;
use crate::svg::check_inside;

/// A run without an adapter, whose checkpoint is `run.safetensors`.
fn trained(dir: &Dir, flags: &str) {
    dir.run(&format!("train --executor cpu --checkpoint run.safetensors {flags}")).exits(0);
}

fn data(name: &str) -> String {
    path("data").join(name).display().to_string()
}

/// Fails where a part of an SVG is outside of it; returns its texts.
fn inside(dir: &Dir, name: &str) -> Vec<String> {
    check_inside(&dir.read(name), name);
    texts(dir, name)
}

/// The different colors of an SVG's rectangles.
fn fills(dir: &Dir, name: &str) -> usize {
    let svg = dir.read(name);
    let rects = svg.lines().filter(|line| line.starts_with("<rect"));
    let fills = rects.filter_map(|line| line.split_once("fill=\"")?.1.split('"').next());
    fills.collect::<std::collections::HashSet<_>>().len()
}

#[test]
fn classes_over_two_inputs_are_a_map_and_a_matrix() {
    let dir = Dir::new();
    let iris = data("iris.csv");
    let flags = format!("--data {iris} --features petal_length,petal_width --target species");
    trained(&dir, &format!("{flags} --loss softmax_cross_entropy --validation 0.25 --steps 400"));
    dir.run("plot run.safetensors --out map.svg").exits(0).says(&["the model", "150 rows of"]);
    let found = inside(&dir, "map.svg");
    for want in ["petal_length", "petal_width", "setosa", "versicolor", "virginica"] {
        assert!(found.iter().any(|text| text == want), "{want} in {found:?}");
    }
    assert_eq!(fills(&dir, "map.svg"), 4, "an area for each class, and white");
    assert!(dir.read("map.svg").matches("<polygon").count() >= 150, "a point for each row");

    dir.run("plot run.safetensors --kind confusion --out c.svg").exits(0).says(&["38 validation rows"]);
    let found = inside(&dir, "c.svg");
    assert!(found.iter().any(|text| text.starts_with("38 validation rows")), "{found:?}");
    // Of other rows the counts are those of `fori evaluate`.
    dir.run(&format!("plot run.safetensors --data {iris} --kind confusion --out all.svg")).exits(0).says(&["150 rows"]);
    let evaluation = dir.run(&format!("evaluate run.safetensors --data {iris} --json")).json();
    let counts = evaluation["confusion"][0]["counts"].as_array().expect("a matrix");
    let want: Vec<_> = counts.iter().flat_map(|row| row.as_array().expect("a row")).map(ToString::to_string).collect();
    let found = inside(&dir, "all.svg");
    let cells: Vec<_> = found.iter().skip_while(|text| *text != "true species").skip(1).collect();
    let got: Vec<_> = cells.into_iter().filter(|text| text.parse::<usize>().is_ok()).cloned().collect();
    assert_eq!(got, want, "counts of the matrix in {found:?}");
    dir.run("plot run.safetensors --kind confusion --out c.png").exits(0);
    Pixmap::decode_png(&dir.bytes("c.png")).expect("a PNG");
}

#[test]
fn many_classes_are_a_matrix_that_can_be_read() {
    let dir = Dir::new();
    let digits = data("digits.csv");
    trained(&dir, &format!("--data {digits} --target digit --loss softmax_cross_entropy --validation 0.2 --steps 200"));
    dir.run("plot run.safetensors --out c.svg --title Digits").exits(0).says(&["validation rows"]);
    let found = inside(&dir, "c.svg");
    assert!(found.contains(&"Digits".into()) && found.iter().any(|text| text.ends_with('%')), "{found:?}");
    // More than have room for numbers.
    let mut table = String::from("x,name\n");
    for i in 0..90 {
        writeln!(table, "{i},a rather long name of class {}", i % 30).expect("a string grows");
    }
    dir.write("many.csv", &table);
    trained(&dir, "--data many.csv --target name --loss softmax_cross_entropy --steps 5");
    dir.run("plot run.safetensors --kind curve --out many.svg").exits(2).says(&["expected confusion"]);
    dir.run("plot run.safetensors --out many.svg").exits(0).says(&["90 training rows"]);
    let found = inside(&dir, "many.svg");
    assert!(!found.iter().any(|text| text.ends_with('%')), "colors alone: {found:?}");
}

#[test]
fn one_input_is_a_curve_in_the_units_of_the_table() {
    let dir = Dir::new();
    let row = |i: i32| (f64::from(i) / 10.0, 100.0 + 50.0 * (f64::from(i) / 10.0).sin());
    let rows: String = (-30..=30).map(row).map(|(x, y)| format!("{x},{y},{}\n", -y)).collect();
    dir.write("sine.csv", &format!("time,height,depth\n{rows}"));
    trained(&dir, "--data sine.csv --target height,depth --steps 300 --ensemble 3");
    dir.run("plot run.safetensors --out curve.svg").exits(0).says(&["model", "of 3", "61 rows of sine.csv"]);
    let found = inside(&dir, "curve.svg");
    for want in ["time", "height", "depth", "100", "−100"] {
        assert!(found.iter().any(|text| text == want), "{want} in {found:?}");
    }
    assert_eq!(dir.read("curve.svg").matches("<circle").count(), 122, "a point for each row and target");
    dir.run("plot run.safetensors --ensemble mean --out band.svg").exits(0).says(&["the mean of 3 of 3 models"]);
    let bands = dir.read("band.svg").matches("<polygon").count();
    assert_eq!(bands, 2, "a band for each target");
    inside(&dir, "band.svg");
    dir.run("plot run.safetensors --kind map --out no.svg").exits(2).says(&["expected curve or scatter"]);
    // A table without the targets has no points.
    dir.write("new.csv", "time\n-1\n0\n4\n");
    dir.run("plot run.safetensors --data new.csv --out new.svg").exits(0);
    assert_eq!(dir.read("new.svg").matches("<circle").count(), 0, "points without targets");
    dir.run("plot run.safetensors --data new.csv --kind scatter --out no.svg")
        .exits(1)
        .says(&["height, depth", "it lacks the target"]);
    assert!(!dir.path("no.svg").exists(), "no picture after an error");
}

#[test]
fn numbers_are_colors_or_points_beside_the_diagonal() {
    let dir = Dir::new();
    trained(&dir, "--steps 200");
    dir.run("plot run.safetensors --out linreg.svg").exits(0).says(&["without rows"]);
    assert!(fills(&dir, "linreg.svg") > 30, "a scale of colors");
    inside(&dir, "linreg.svg");
    dir.run("plot run.safetensors --kind scatter --out no.svg").exits(1).says(&["--data", "no table of its own"]);
    let diabetes = data("diabetes.csv");
    trained(&dir, &format!("--data {diabetes} --target progression --hidden 16 --validation 0.25 --steps 300"));
    dir.run(&format!("plot run.safetensors --data {diabetes} --out s.svg")).exits(0).says(&["442 rows"]);
    let evaluation = dir.run(&format!("evaluate run.safetensors --data {diabetes} --json")).json();
    let r2 = format!("r2 {:.3}", evaluation["metrics"]["r2"].as_f64().expect("a number"));
    let found = inside(&dir, "s.svg");
    assert!(found.iter().any(|text| text.ends_with(&r2)), "{r2} in {found:?}");
    assert_eq!(dir.read("s.svg").matches("<circle").count(), 442, "a point for each row");
    dir.run("plot run.safetensors --out v.svg").exits(0).says(&["111 validation rows"]);
}

#[test]
fn an_image_is_beside_what_was_learned() {
    let dir = Dir::new();
    let image = path("../examples/image.png").display().to_string();
    trained(&dir, &format!("--image {image} --hidden 16 --steps 200"));
    let ran = dir.run("plot run.safetensors --out learned.png");
    ran.exits(0).says(&["PSNR"]);
    let original = read_frame(image.as_ref(), None).expect("an image");
    let map = Pixmap::decode_png(&dir.bytes("learned.png")).expect("a PNG");
    let width = (map.width() - 8) / 2;
    let corner = map.pixel(0, 0).expect("a pixel");
    let first = original.column("r").and_then(|column| column.text(0)).expect("red of the first pixel");
    let red: f64 = first.parse().expect("a number");
    assert!((f64::from(corner.red()) / 255.0 - red).abs() < 1e-9, "the original is at the left");
    let white = map.pixel(width + 3, 5).expect("a pixel");
    assert_eq!((white.red(), white.green(), white.blue()), (255, 255, 255), "a gap");
    // What is at the right is what `fori predict` says, at the last pixel.
    let ran = dir.run(&format!("predict run.safetensors --data {image}"));
    let last = ran.stdout.lines().last().expect("a row").split(',').next().expect("red");
    let red = last.parse::<f64>().expect("a number").clamp(0.0, 1.0);
    let corner = map.pixel(map.width() - 1, map.height() - 1).expect("a pixel");
    assert!((f64::from(corner.red()) - red * 255.0).abs() <= 0.5, "{} is not {red}", corner.red());
    dir.run("plot run.safetensors --out learned.svg").exits(2).says(&["ends in .png"]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = Dir::new();
    dir.write("m.csv", "step,loss\n1,2\n2,1\n").write("t.csv", "a,y\n1,2\n2,3\n3,5\n");
    trained(&dir, "--data t.csv --target y --steps 5 --hidden 4");
    dir.write("damaged.safetensors", "nothing of the kind");
    for (args, code, want) in [
        ("m.csv --kind curve --out x.svg", 2, "--kind is for a checkpoint, and m.csv is none"),
        ("m.csv --data t.csv --out x.svg", 2, "--data is for a checkpoint"),
        ("run.safetensors --log-x --out x.svg", 2, "--log-x is for metrics files"),
        ("run.safetensors m.csv --out x.svg", 2, "drawn alone"),
        ("run.safetensors --kind confusion --out x.svg", 2, "expected curve or scatter"),
        ("run.safetensors --kind pie --out x.svg", 2, "confusion"),
        ("run.safetensors --model 7 --out x.svg", 2, "one model"),
        ("run.safetensors --data m.csv --out x.svg", 1, "the model reads a column \"a\""),
        ("run.safetensors --data none.csv --out x.svg", 1, "none.csv"),
        ("run.safetensors --labels t.csv --out x.svg", 2, "--data"),
        ("damaged.safetensors --out x.svg", 1, "damaged.safetensors"),
        ("none.safetensors --out x.svg", 1, "none.safetensors"),
        ("none --data t.csv --out x.svg", 1, "none"),
    ] {
        dir.run(&format!("plot {args}")).exits(code).says(&[want]);
        assert!(!dir.path("x.svg").exists(), "no picture after plot {args}");
    }
    dir.write("t.csv", "a,y\n1,2\n2,3\n3,6\n");
    dir.run("plot run.safetensors --out x.svg").exits(1).says(&["t.csv is not as it was", "--data"]);
    std::fs::remove_file(dir.path("t.csv")).expect("the table is there");
    dir.run("plot run.safetensors --out x.svg").exits(1).says(&["t.csv", "--data"]);
}
