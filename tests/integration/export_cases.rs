//! Networks to be exported: one for each activation and each kind of target, with standardized, filled and one-hot inputs, and
//! trained ones, whose answers are those of `fori predict`.

use std::path::Path;
use std::sync::OnceLock;

use fori::checkpoint::Checkpoint;
use fori::data::schema::{Encoding, InputColumn, LabelColumn, NumberColumn, Schema, Targets};
use fori::export::{Format, Options, export};
use fori::network::{Dense, Naming, Network, Stage};
use fori::rng::Key;
use fori::spec::Activation;

use crate::cli::Dir;
use crate::common::{assert_within, f64s, path};

const ROWS: usize = 70;

fn dense(key: Key, inputs: usize, outputs: usize) -> Stage {
    let normals = |key: Key, count: usize, scale: f32| (0..).map(|i| scale * key.normal(i)).take(count).collect();
    let kernel = normals(key.fold_in(0), inputs * outputs, 0.6);
    Stage::Dense(Dense { inputs, outputs, kernel, bias: normals(key.fold_in(1), outputs, 0.3) })
}

/// Six inputs: a column of years, whose mean is far from 0; a small one with a fill; one as it is; three of one column.
fn inputs() -> Vec<InputColumn> {
    let number =
        |name: &str, mean, std, fill| InputColumn { name: name.into(), encoding: Encoding::Number { mean, std, fill } };
    let colors = ["red", "gr\u{fc}n", "*/ \"??=\\\n// "].map(String::from).to_vec();
    vec![
        number("year", 2_000.123_456_7, 0.037, None),
        number("a \"b\"\n", -1.7e-5, 2.3e-6, Some(-1.5e-5)),
        number("c", 0.0, 1.0, None),
        InputColumn { name: "color".into(), encoding: Encoding::OneHot { categories: colors } },
    ]
}

/// Targets of three outputs.
fn targets(kind: usize) -> Targets {
    let names = ["p", "q", "r"].map(String::from);
    let number = |(name, (mean, std)): (&String, _)| NumberColumn { name: name.clone(), mean, std };
    match kind {
        0 => Targets::Numbers {
            columns: names.iter().zip([(152.1, 77.3), (0.0, 1.0), (-1e-6, 3e-7)]).map(number).collect(),
        },
        1 => Targets::Labels { columns: names.map(|name| LabelColumn { name, classes: None }).to_vec() },
        _ => Targets::Classes { name: "kind".into(), classes: names.to_vec() },
    }
}

/// A name and a network for each activation; the kinds of targets take turns.
pub fn networks() -> Vec<(String, Network)> {
    let network = |(number, &activation): (usize, &Activation)| {
        let key = Key::from_seed(number as u64);
        let schema = Schema { inputs: inputs(), targets: targets(number % 3), weight: None };
        let stages = vec![
            dense(key.fold_in(2), 6, 9),
            Stage::Activation(activation),
            dense(key.fold_in(3), 9, 5),
            Stage::Activation(activation),
            dense(key.fold_in(4), 5, 3),
        ];
        (format!("net_{activation}"), Network { schema, stages })
    };
    let mut all: Vec<_> = Activation::ALL.iter().enumerate().map(network).collect();
    // A linear model without a table.
    let plain =
        |name: &str| InputColumn { name: name.into(), encoding: Encoding::Number { mean: 0.0, std: 1.0, fill: None } };
    let columns = vec![NumberColumn { name: "y0".into(), mean: 0.0, std: 1.0 }];
    let schema = Schema { inputs: vec![plain("x0"), plain("x1")], targets: Targets::Numbers { columns }, weight: None };
    all.push(("linear".into(), Network { schema, stages: vec![dense(Key::from_seed(99), 2, 1)] }));
    all
}

/// Rows in the units of a table; every seventh lacks its second number where something stands for it.
#[expect(clippy::cast_possible_truncation, reason = "exported networks read 32-bit floats")]
fn rows(network: &Network) -> Vec<f32> {
    let key = Key::from_seed(5);
    let slots = network.slots();
    let mut rows = Vec::new();
    for row in 0..ROWS {
        for (i, slot) in slots.iter().enumerate() {
            let normal = f64::from(key.normal(u32::try_from(slots.len() * row + i).expect("few numbers")));
            let missing = slot.fill.is_some() && row % 7 == 0;
            let hot = f64::from(u8::from((i + row) % 3 == 0));
            let value = if slot.name.contains('=') { hot } else { slot.mean + normal * slot.std };
            rows.push(if missing { f32::NAN } else { value as f32 });
        }
    }
    rows
}

/// What the network itself answers, standardized in 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "training rounds standardized numbers to f32")]
fn want(network: &Network, rows: &[f32]) -> Vec<f64> {
    let slots = network.slots();
    let standardize = |row: &[f32]| {
        let number = |(x, slot): (&f32, &fori::network::Slot)| {
            let x = if x.is_nan() { slot.fill.expect("only those with a fill are missing") } else { f64::from(*x) };
            ((x - slot.mean) / slot.std) as f32
        };
        row.iter().zip(&slots).map(number).collect::<Vec<_>>()
    };
    rows.chunks_exact(slots.len()).flat_map(|row| network.answers(&network.forward(&standardize(row)))).collect()
}

pub fn options(name: &str, naming: Naming) -> Options {
    Options { naming, name: name.into(), step: 7 }
}

pub fn exported(name: &str, network: &Network, format: Format) -> Vec<u8> {
    let exported = export(network, format, &options(name, Naming::Flax));
    exported.unwrap_or_else(|e| panic!("{name} as {format}: {e}")).bytes
}

/// A network with rows to read and the answers that it must give.
pub struct Case {
    pub name: String,
    pub network: Network,
    /// In the units of the table.
    pub rows: Vec<f32>,
    pub want: Vec<f64>,
}

impl Case {
    /// Fails unless each column is within 1e-5 of its largest number.
    pub fn check(&self, got: &[f32]) {
        let width = self.network.outputs();
        for column in 0..width {
            let of = |values: &[f64]| values.iter().copied().skip(column).step_by(width).collect::<Vec<_>>();
            assert_within(&format!("{}, output {column}", self.name), &of(&f64s(got)), &of(&self.want), 1e-5);
        }
    }

    pub fn exported(&self, format: Format) -> Vec<u8> {
        exported(&self.name, &self.network, format)
    }
}

/// The numbers of a CSV file, the columns whose names `kept` accepts; of a text its index in those of `categories` that have it.
#[expect(clippy::cast_precision_loss, reason = "there are few categories")]
fn numbers(text: &str, kept: impl Fn(&str) -> bool, categories: &[&[String]]) -> Vec<f64> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns: Vec<_> = reader.headers().expect("a header").iter().map(kept).collect();
    let index = |field: &str| categories.iter().find_map(|all| all.iter().position(|category| category == field));
    let number = |field: &str| field.parse().unwrap_or_else(|_| index(field).expect("a number or a category") as f64);
    let rows = reader.records().map(|row| row.expect("a row"));
    rows.flat_map(|row| row.iter().zip(&columns).filter(|(_, kept)| **kept).map(|(f, _)| number(f)).collect::<Vec<_>>())
        .collect()
}

/// A network that is trained on a table of the repository, and what `fori predict` answers. The columns of the answers are
/// those that `answer` accepts.
fn trained(name: &str, table: &str, target: &str, flags: &str, answer: impl Fn(&str) -> bool) -> Case {
    trained_on(name, &path("data").join(format!("{table}.csv")), target, flags, answer)
}

/// As [`trained`], on the table of a file.
#[expect(clippy::cast_possible_truncation, reason = "exported networks read 32-bit floats")]
fn trained_on(name: &str, data: &Path, target: &str, flags: &str, answer: impl Fn(&str) -> bool) -> Case {
    let dir = Dir::new();
    let data = data.to_str().expect("a path that is text");
    let args = format!("train --target {target} {flags} --executor cpu --steps 400 --checkpoint c -q --data");
    let args: Vec<_> = args.split_whitespace().chain([data]).collect();
    dir.run_with(&args).exits(0);
    dir.run_with(&["predict", "c", "--out", "p.csv", "--data", data]).exits(0);
    let checkpoint = Checkpoint::read(&dir.path("c")).expect("a checkpoint");
    let text = std::fs::read_to_string(data).expect("the table is in the repository");
    let network = Network::of(&checkpoint, 0).expect("a network");
    let categories = |column: &InputColumn| match &column.encoding {
        Encoding::Index { categories, .. } => categories.clone(),
        _ => Vec::new(),
    };
    let categories: Vec<_> = network.schema.inputs.iter().map(categories).collect();
    let categories: Vec<_> = categories.iter().map(Vec::as_slice).collect();
    let rows = numbers(&text, |name| name != target, &categories).into_iter().map(|x| x as f32).collect();
    let want = numbers(&dir.read("p.csv"), answer, &[]);
    Case { name: name.into(), network, rows, want }
}

/// One whose table has texts in four columns of six, each of other categories than the others.
fn embedded() -> Case {
    let dir = Dir::new();
    let row = |i: usize| {
        format!("a{},{},b{},{},\"c \"\"?*/\n{}\",{},d{}\n", i % 5, i % 7, i * i % 3, (i / 4) % 9, i % 2, i % 11, i % 6)
    };
    dir.write("t.csv", &format!("a,x,b,y,c,z,d\n{}", (0..66).map(row).collect::<String>()));
    let flags = "--categorical embedding --embedding-width 5 --hidden 9,6 --layer-norm";
    trained_on("embedding", &dir.path("t.csv"), "y", flags, |_| true)
}

/// All cases.
pub fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| {
        let case = |(name, network): (String, Network)| {
            let rows = rows(&network);
            let want = want(&network, &rows);
            Case { name, network, rows, want }
        };
        let mut cases: Vec<_> = networks().into_iter().map(case).collect();
        let number = |name, flags| trained(name, "diabetes", "progression", flags, |_| true);
        cases.push(number("wide", ""));
        cases.push(number("residual", "--hidden 7,7,5 --residual"));
        cases.push(number("frequency", "--hidden 6 --encoding frequency --frequencies 3"));
        let label = |name, flags| trained(name, "breast_cancer", TUMOR, flags, |name| name == "probability");
        cases.push(label("label", "--loss binary_cross_entropy --activation tanh"));
        cases.push(label("norm", "--loss binary_cross_entropy --hidden 9,6 --layer-norm --activation sin --w0 2"));
        let class = |name, flags| trained(name, "iris", "species", flags, |name| name.starts_with("p("));
        cases.push(class("class", "--loss softmax_cross_entropy --hidden 9,5"));
        let all = "--hidden 9,9 --layer-norm --residual --encoding fourier --fourier-features 5 --include-input";
        cases.push(embedded());
        cases.push(class("all", &format!("--loss softmax_cross_entropy {all}")));
        cases
    })
}

/// The column of the label in its table.
const TUMOR: &str = "benign";

pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}
