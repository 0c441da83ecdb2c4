//! Predictions: of the right columns, in the units of the table, in every form.

use fori::checkpoint::Checkpoint;
use fori::network::Network;
use fori::read_frame;

use crate::cli::Dir;
use crate::common::assert_close;

const TABLE: &str = "a,b,kind,y\n1,2,x,30\n1,5,z,40\n0,1,x,70\n2,2,x,50\n3,1,z,10\n";

/// A folder with a table and a checkpoint `c`.
fn trained(flags: &str) -> Dir {
    let dir = Dir::new();
    dir.write("t.csv", TABLE);
    let train = "train --executor cpu --hidden 4 --batch-size 4 --steps 50 --checkpoint c -q --data t.csv";
    dir.run(&format!("{train} {flags}")).exits(0);
    dir
}

/// The predictions of a table as CSV, header and rows.
fn predicted(dir: &Dir, table: &str, flags: &str) -> (String, Vec<Vec<String>>) {
    let ran = dir.run(&format!("predict c --data {table} {flags}"));
    let mut lines = ran.exits(0).stdout.lines();
    let header = lines.next().expect("a header").to_owned();
    (header, lines.map(|line| line.split(',').map(String::from).collect()).collect())
}

fn numbers(rows: &[Vec<String>]) -> Vec<f64> {
    rows.iter().flatten().map(|field| field.parse().unwrap_or_else(|e| panic!("{field}: {e}"))).collect()
}

#[test]
fn rows_are_predicted_in_their_order_and_in_the_units_of_the_table() {
    let dir = trained("--target y");
    let (header, rows) = predicted(&dir, "t.csv", "");
    assert_eq!((header.as_str(), rows.len()), ("y", 5), "header and rows");
    let network = Network::of(&Checkpoint::read(&dir.path("c")).expect("a checkpoint"), 0).expect("a network");
    // Means 1.4 and 2.2, and the deviations of the population.
    let scaled = |v: f64, mean: f64, square: f64| (v - mean) / (square - mean * mean).sqrt();
    let mut want = Vec::new();
    for (a, b, x) in [(1.0, 2.0, 1.0), (1.0, 5.0, 0.0), (0.0, 1.0, 1.0), (2.0, 2.0, 1.0), (3.0, 1.0, 0.0)] {
        #[expect(clippy::cast_possible_truncation, reason = "a network reads f32")]
        let row = [scaled(a, 1.4, 3.0), scaled(b, 2.2, 7.0), x, 1.0 - x].map(|v| v as f32);
        want.push(network.forward(&row)[0] * 20.0 + 40.0);
    }
    assert_close("predictions", &numbers(&rows), &want, 1e-6, 0.0);
}

#[test]
fn columns_are_found_by_name_and_others_ignored() {
    let dir = trained("--target y");
    let (_, want) = predicted(&dir, "t.csv", "");
    dir.write("other.csv", "note,kind,b,a\nhi,x,2,1\n,z,5,1\nho,x,1,0\nhu,x,2,2\nha,z,1,3\n");
    assert_eq!(predicted(&dir, "other.csv", "").1, want, "other order, no target, one more");
    dir.write("bad.csv", "kind,b,a,y\nx,2,1,\nz,5,1,red\nx,1,0,1\nx,2,2,3\nz,1,3,4\n");
    assert_eq!(predicted(&dir, "bad.csv", "").1, want, "the target is not looked at");
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let dir = trained("--target y");
    dir.write("lacks.csv", "a,b,kinds\n1,2,x\n")
        .write("text.csv", "a,b,kind\n1,two,x\n")
        .write("new.csv", "a,b,kind\n1,2,w\n");
    let names = dir.names();
    for (flags, code, texts) in [
        ("--data lacks.csv --out p.csv", 1, &["lacks.csv", "\"kind\"", "did you mean \"kinds\"?"][..]),
        ("--data text.csv --out p.csv", 1, &["text.csv, line 2", "\"b\"", "\"two\""]),
        ("--data new.csv --out p.csv", 1, &["new.csv, line 2", "\"kind\"", "\"w\"", "\"x\", \"z\""]),
        ("--data absent.csv --out p.csv", 1, &["--data absent.csv"]),
        ("--data t.csv --out p.txt", 2, &["--out p.txt", ".csv or .npy"]),
        ("--data t.csv --out t.csv", 2, &["--out t.csv", "which is read"]),
        ("--data t.csv --out absent/p.csv", 2, &["--out absent/p.csv", "no folder"]),
        ("--data t.csv --model 1", 2, &["--model 1", "one model, 0"]),
        ("--data t.csv --model 0 --ensemble mean", 2, &["--model", "--ensemble"]),
        ("--data t.csv --ensemble median", 2, &["--ensemble", "mean"]),
        ("--out p.csv", 2, &["--data"]),
    ] {
        let ran = dir.run(&format!("predict c {flags}"));
        ran.exits(code).says(&["error: "]).says(texts);
        assert_eq!(ran.stdout, "", "stdout of {ran}");
    }
    dir.run("predict t.csv --data t.csv").exits(1).says(&["checkpoint t.csv: "]);
    assert_eq!(dir.names(), names, "nothing is written");
}

#[test]
fn files_have_what_stdout_has() {
    let dir = trained("--target y,b");
    let (header, rows) = predicted(&dir, "t.csv", "");
    assert_eq!(header, "y,b", "header");
    dir.write("p.csv", "older");
    dir.run("predict c --data t.csv --out p.csv").exits(0).says(&["wrote predictions of 5 rows", "p.csv"]);
    let lines: Vec<_> = rows.iter().map(|row| row.join(",") + "\n").collect();
    assert_eq!(dir.read("p.csv"), format!("y,b\n{}", lines.concat()), "the file");
    dir.run("predict c --data t.csv --out p.npy").exits(0);
    let bytes = dir.bytes("p.npy");
    let head = String::from_utf8_lossy(&bytes[..128]);
    assert!(head.contains("'<f8'") && head.contains("'shape': (5,2,)"), "header {head}");
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f64>(&bytes[128..]), numbers(&rows), "the array");
}

#[test]
fn several_models_predict_their_mean_and_deviation() {
    let dir = trained("--target y --ensemble 3");
    let (header, rows) = predicted(&dir, "t.csv", "--ensemble mean");
    assert_eq!(header, "y,std(y)", "header");
    let models: Vec<_> = (0..3).map(|m| numbers(&predicted(&dir, "t.csv", &format!("--model {m}")).1)).collect();
    let mut want = Vec::new();
    for row in 0..5 {
        let values: Vec<_> = models.iter().map(|model| model[row]).collect();
        let mean = values.iter().sum::<f64>() / 3.0;
        want.extend([mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 3.0).sqrt()]);
    }
    assert_close("mean and deviation", &numbers(&rows), &want, 1e-12, 0.0);
    dir.run("predict c --data t.csv --ensemble mean --out p.npy").exits(0);
    assert!(String::from_utf8_lossy(&dir.bytes("p.npy")[..128]).contains("(5,2,)"), "answers and deviations");
}

#[test]
fn labels_have_names_and_a_probability() {
    let dir = trained("--target kind --loss binary_cross_entropy");
    let (header, rows) = predicted(&dir, "t.csv", "");
    assert_eq!(header, "kind,probability", "header");
    for row in &rows {
        let probability: f64 = row[1].parse().expect("a number");
        assert_eq!(row[0], if probability >= 0.5 { "z" } else { "x" }, "class of {row:?}");
        assert!((0.0..=1.0).contains(&probability), "probability of {row:?}");
    }
}

#[test]
fn a_network_without_a_table_reads_numbered_columns() {
    let dir = Dir::new();
    dir.run("train --executor cpu --hidden 4 --steps 20 --checkpoint c -q").exits(0);
    dir.write("t.csv", "x1,x0\n0.5,-1\n0,0\n");
    let (header, rows) = predicted(&dir, "t.csv", "");
    let network = Network::of(&Checkpoint::read(&dir.path("c")).expect("a checkpoint"), 0).expect("a network");
    let want = [network.forward(&[-1.0, 0.5])[0], network.forward(&[0.0, 0.0])[0]];
    assert_eq!((header.as_str(), numbers(&rows)), ("y0", want.to_vec()), "predictions");
}

/// The flags of networks that together have every kind of stage.
const LAYERS: [&str; 6] = [
    "--layer-norm",
    "--residual",
    "--encoding fourier --fourier-features 5",
    "--encoding frequency --frequencies 3 --include-input --layer-norm --residual --dropout 0.2",
    "--categorical embedding --residual",
    "--activation sin --w0 30 --init siren",
];

#[test]
fn networks_with_other_layers_predict_what_training_measured() {
    let dir = Dir::new();
    dir.write("t.csv", TABLE);
    for layers in LAYERS {
        let train =
            "train --executor cpu --hidden 6,6,6 --batch-size 4 --steps 60 --checkpoint c -q --json --data t.csv";
        let json = dir.run(&format!("{train} --target y {layers}")).exits(0).json();
        let measured = json["train_loss"].as_f64().expect("a loss");
        let predictions = numbers(&predicted(&dir, "t.csv", "").1);
        let squares = predictions.iter().zip([30.0, 40.0, 70.0, 50.0, 10.0]).map(|(p, y)| ((p - y) / 20.0_f64).powi(2));
        let loss = squares.sum::<f64>() / 5.0;
        assert_close(&format!("loss with {layers}"), &[loss], &[measured], 1e-5, 0.0);
        let json = dir.run("evaluate c --data t.csv --json").exits(0).json();
        let evaluated = json["metrics"]["loss"].as_f64().expect("a loss");
        assert_close(&format!("evaluation with {layers}"), &[evaluated], &[measured], 1e-13, 0.0);
        dir.run("inspect c").exits(0).prints(&["network          "]);
    }
}

#[test]
fn rows_at_once_have_the_outputs_that_each_has_alone() {
    let dir = Dir::new();
    dir.write("t.csv", TABLE);
    for layers in LAYERS {
        let train = "train --executor cpu --hidden 6,6,6 --batch-size 4 --steps 9 --checkpoint c -q --data t.csv";
        dir.run(&format!("{train} --target y,b {layers}")).exits(0);
        let network = Network::of(&Checkpoint::read(&dir.path("c")).expect("a checkpoint"), 0).expect("a network");
        let frame = read_frame(&dir.path("t.csv"), None).expect("a table");
        let rows = network.schema.apply_inputs(&frame).expect("inputs").features;
        let each: Vec<_> = rows.chunks_exact(network.inputs()).flat_map(|row| network.forward(row)).collect();
        assert_eq!(each.len(), 10, "outputs with {layers}");
        assert_eq!(network.forward(&rows), each, "outputs with {layers}");
    }
}

#[test]
fn evaluation_tells_the_metrics_of_the_table() {
    let dir = trained("--target y");
    let predictions = numbers(&predicted(&dir, "t.csv", "").1);
    let errors: Vec<_> =
        predictions.iter().zip([30.0, 40.0, 70.0, 50.0, 10.0]).map(|(p, y): (&f64, f64)| p - y).collect();
    let (squares, sizes) = (errors.iter().map(|e| e * e).sum::<f64>(), errors.iter().map(|e| e.abs()).sum::<f64>());
    let json = dir.run("evaluate c --data t.csv --json").exits(0).json();
    let metric = |name: &str| json["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {json}"));
    let got = ["loss", "mae", "rmse", "r2"].map(metric);
    let want = [squares / 5.0 / 400.0, sizes / 5.0, (squares / 5.0).sqrt(), 1.0 - squares / 2000.0];
    assert_close("metrics", &got, &want, 1e-5, 1e-6);
    dir.run("evaluate c --data t.csv").exits(0).prints(&["5 rows of t.csv", "mae", "rmse", "r2"]);
    dir.write("lacks.csv", "a,b,kind\n1,2,x\n");
    dir.run("evaluate c --data lacks.csv").exits(1).says(&["lacks.csv", "target \"y\"", "fori predict"]);
}

#[test]
fn evaluation_of_classes_counts_which_were_taken_for_which() {
    for flags in
        ["--loss binary_cross_entropy", "--loss softmax_cross_entropy", "--loss softmax_cross_entropy --ensemble 2"]
    {
        let dir = trained(&format!("--target kind {flags}"));
        let which = if flags.ends_with('2') { "--ensemble mean" } else { "" };
        let (_, rows) = predicted(&dir, "t.csv", which);
        let mut counts = [[0, 0], [0, 0]];
        for (row, actual) in rows.iter().zip([0, 1, 0, 0, 1]) {
            counts[actual][usize::from(row[0] == "z")] += 1;
        }
        let json = dir.run(&format!("evaluate c --data t.csv --json {which}")).exits(0).json();
        assert_eq!(json["confusion"][0]["classes"], serde_json::json!(["x", "z"]), "classes of {flags}");
        assert_eq!(json["confusion"][0]["counts"], serde_json::json!(counts), "counts of {flags}: {json}");
        let right = f64::from(counts[0][0] + counts[1][1]) / 5.0;
        assert_eq!(json["metrics"]["accuracy"], right, "accuracy of {flags}: {json}");
        dir.run(&format!("evaluate c --data t.csv {which}")).exits(0).prints(&["accuracy", "kind: rows by class"]);
    }
}
