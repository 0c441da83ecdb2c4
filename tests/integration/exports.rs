//! Exported networks answer what the network answers: one network for each activation and each kind of target, with
//! standardized, filled and one-hot inputs, and trained ones, whose answers are those of `fori predict`.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use fori::checkpoint::Checkpoint;
use fori::data::schema::{Encoding, InputColumn, LabelColumn, NumberColumn, Schema, Targets};
use fori::export::{Exported, Format, Options, export};
use fori::network::{Dense, Naming, Network, Stage, Tensor, Waves};
use fori::rng::Key;
use fori::spec::Activation;
use safetensors::SafeTensors;
use serde_json::Value;

use crate::adapter::run_module;
use crate::cli::Dir;
use crate::common::{assert_within, device, f64s, path};
use crate::peers::peers;

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
fn networks() -> Vec<(String, Network)> {
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

fn options(name: &str, naming: Naming) -> Options {
    Options { naming, name: name.into(), step: 7 }
}

fn exported(name: &str, network: &Network, format: Format) -> Vec<u8> {
    let exported = export(network, format, &options(name, Naming::Flax));
    exported.unwrap_or_else(|e| panic!("{name} as {format}: {e}")).bytes
}

/// A network with rows to read and the answers that it must give.
struct Case {
    name: String,
    network: Network,
    /// In the units of the table.
    rows: Vec<f32>,
    want: Vec<f64>,
}

impl Case {
    /// Fails unless each column is within 1e-5 of its largest number.
    fn check(&self, got: &[f32]) {
        let width = self.network.outputs();
        for column in 0..width {
            let of = |values: &[f64]| values.iter().copied().skip(column).step_by(width).collect::<Vec<_>>();
            assert_within(&format!("{}, output {column}", self.name), &of(&f64s(got)), &of(&self.want), 1e-5);
        }
    }

    fn exported(&self, format: Format) -> Vec<u8> {
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
fn cases() -> &'static [Case] {
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

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}

#[test]
fn onnxruntime_predicts_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = |name: &str, end: &str| folder.path().join(format!("{name}.{end}"));
    for case in cases() {
        std::fs::write(file(&case.name, "onnx"), case.exported(Format::Onnx)).expect("a file can be written");
        let bytes = bytemuck::cast_slice::<f32, u8>(&case.rows);
        std::fs::write(file(&case.name, "input"), bytes).expect("a file can be written");
    }
    if peers("run_onnx.py", folder.path()).is_none() {
        return;
    }
    for case in cases() {
        let Case { name, network, .. } = case;
        let output = if matches!(network.schema.targets, Targets::Numbers { .. }) { "output" } else { "probabilities" };
        case.check(&floats(&std::fs::read(file(name, output)).expect("an output of the model")));
        let names = std::fs::read_to_string(file(name, "names")).expect("the metadata");
        let (inputs, outputs) = names.split_once('\n').expect("two lines");
        let listed = |text: &str| serde_json::from_str::<Vec<String>>(text).expect("a list of names");
        assert_eq!(listed(outputs), network.output_names(), "outputs of {name}");
        let slots: Vec<_> = network.slots().into_iter().map(|slot| slot.name).collect();
        assert_eq!(listed(inputs), slots, "inputs of {name}");
    }
}

/// A program that reads the rows of all networks and writes their answers.
#[cfg(unix)]
fn c_program() -> String {
    let mut text = String::from("#include <stdio.h>\n#include <string.h>\n");
    let mut main = String::from("int main(void) {\n");
    for Case { name, network, rows, .. } in cases() {
        let (upper, count) = (name.to_uppercase(), rows.len() / network.inputs());
        text += &format!("#include \"{name}.h\"\n");
        main += &format!(
            "    for (int row = 0; row < {count}; row++) {{\n        float in[{upper}_INPUTS], out[{upper}_OUTPUTS];\n        \
             if (fread(in, sizeof in, 1, stdin) != 1) return 1;\n        {name}_predict(in, out);\n        \
             fwrite(out, sizeof out, 1, stdout);\n    }}\n"
        );
    }
    main += "    for (int i = 0; i < NET_RELU_INPUTS; i++) fprintf(stderr, \"%s|\", net_relu_input_name(i));\n";
    main += "    for (int i = 0; i < NET_RELU_OUTPUTS; i++) fprintf(stderr, \"%s|\", net_relu_output_name(i));\n";
    text + &main + "    return 0;\n}\n"
}

#[cfg(unix)]
#[test]
fn a_c_compiler_makes_the_same_predictions_of_the_header() {
    use std::io::Write as _;
    use std::process::Stdio;

    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut input = Vec::new();
    for case in cases() {
        let header = folder.path().join(format!("{}.h", case.name));
        std::fs::write(header, case.exported(Format::C)).expect("a file can be written");
        input.extend(bytemuck::cast_slice::<f32, u8>(&case.rows));
    }
    std::fs::write(folder.path().join("main.c"), c_program()).expect("a file can be written");
    let flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "main.c", "-o", "main", "-lm"];
    let compiled = Command::new("cc").args(flags).current_dir(folder.path()).output().expect("a C compiler is there");
    assert!(compiled.status.success(), "cc: {}", String::from_utf8_lossy(&compiled.stderr));
    let mut command = Command::new(folder.path().join("main"));
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("no panic").expect("the program reads its input");
    assert!(output.status.success(), "the program read all rows");
    let mut got = floats(&output.stdout).into_iter();
    for case in cases() {
        case.check(&got.by_ref().take(case.want.len()).collect::<Vec<_>>());
    }
    let said = String::from_utf8(output.stderr).expect("names are UTF-8");
    let (_, network) = networks().into_iter().find(|(name, _)| name == "net_relu").expect("a network with relu");
    let names = network.slots().into_iter().map(|slot| slot.name).chain(network.output_names());
    assert_eq!(said, names.map(|name| name + "|").collect::<String>(), "names in the header");
}

#[test]
fn a_shader_makes_the_same_predictions() {
    let device = device();
    for case in cases() {
        let Exported { bytes, weights } =
            export(&case.network, Format::Wgsl, &options("n", Naming::Flax)).unwrap_or_else(|e| panic!("{e}"));
        let text = String::from_utf8(bytes).expect("WGSL is text");
        let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)));
        let (flags, capabilities) = (naga::valid::ValidationFlags::all(), naga::valid::Capabilities::default());
        let valid = naga::valid::Validator::new(flags, capabilities).validate(&module);
        valid.unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
        let Some(device) = &device else { continue };
        let weights: Vec<u32> = bytemuck::pod_collect_to_vec(&weights.expect("the weights are beside the module"));
        let words: Vec<u32> = case.rows.iter().map(|x| x.to_bits()).collect();
        let groups = u32::try_from(case.rows.len() / case.network.inputs()).expect("few rows").div_ceil(64);
        let got = run_module(device, &text, "predict", &[&words, &weights], case.want.len(), groups);
        case.check(&got.into_iter().map(f32::from_bits).collect::<Vec<_>>());
    }
}

/// The network with the weights of `kernel(layer)`, of shape `(inputs, outputs)`, and `bias(layer)`.
fn rebuilt(network: &Network, kernel: impl Fn(usize) -> Vec<f32>, bias: impl Fn(usize) -> Vec<f32>) -> Network {
    let mut copy = network.clone();
    let dense = copy.stages.iter_mut().filter_map(|stage| match stage {
        Stage::Dense(dense) => Some(dense),
        _ => None,
    });
    for (layer, dense) in dense.enumerate() {
        (dense.kernel, dense.bias) = (kernel(layer), bias(layer));
    }
    copy
}

/// The tensors of a file, and its metadata.
fn safetensors(bytes: &[u8]) -> (Vec<Tensor>, std::collections::HashMap<String, String>) {
    let (_, header) = SafeTensors::read_metadata(bytes).expect("a header");
    let file = SafeTensors::deserialize(bytes).expect("a safetensors file");
    let tensor = |(name, view): (String, safetensors::tensor::TensorView<'_>)| Tensor {
        name,
        shape: view.shape().to_vec(),
        values: floats(view.data()),
    };
    (file.tensors().into_iter().map(tensor).collect(), header.metadata().clone().expect("metadata"))
}

fn tensor<'a>(tensors: &'a [Tensor], name: &str) -> &'a Tensor {
    tensors.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no {name} among {tensors:?}"))
}

#[test]
fn safetensors_have_the_weights_in_the_layout_of_flax_and_of_pytorch() {
    for (name, network) in networks() {
        let (flax, metadata) = safetensors(&exported(&name, &network, Format::Safetensors));
        let of = |layer: usize, what: &str| tensor(&flax, &format!("layers.{layer}.{what}")).values.clone();
        let back = rebuilt(&network, |layer| of(layer, "kernel"), |layer| of(layer, "bias"));
        assert_eq!(back, network, "Flax weights of {name}");
        let schema: Schema = serde_json::from_str(&metadata["schema"]).expect("a schema");
        assert_eq!(schema, network.schema, "schema of {name}");

        let bytes =
            export(&network, Format::Safetensors, &options(&name, Naming::Pytorch)).expect("it is written").bytes;
        let (torch, metadata) = safetensors(&bytes);
        let modules: Vec<String> = serde_json::from_str(&metadata["sequential"]).expect("a list");
        assert_eq!(modules.len(), network.stages.len(), "modules of {name}: {modules:?}");
        let transposed = |layer: usize| {
            let weight = tensor(&torch, &format!("{}.weight", 2 * layer));
            let (outputs, inputs) = (weight.shape[0], weight.shape[1]);
            assert_eq!(modules[2 * layer], format!("Linear({inputs}, {outputs})"), "module of layer {layer}");
            let at = |i: usize, o: usize| weight.values[o * inputs + i];
            (0..inputs).flat_map(|i| (0..outputs).map(move |o| at(i, o))).collect()
        };
        let bias = |layer: usize| tensor(&torch, &format!("{}.bias", 2 * layer)).values.clone();
        assert_eq!(rebuilt(&network, transposed, bias), network, "PyTorch weights of {name}");
    }
}

#[test]
fn json_has_everything() {
    for (name, network) in networks() {
        let json: Value = serde_json::from_slice(&exported(&name, &network, Format::Json)).expect("JSON");
        let dense: Vec<_> =
            json["stages"].as_array().expect("stages").iter().filter(|s| s["kind"] == "dense").cloned().collect();
        let list = |value: &Value| serde_json::from_value::<Vec<f32>>(value.clone()).expect("numbers");
        let rows = |value: &Value| value.as_array().expect("rows").iter().flat_map(list).collect();
        let back = rebuilt(&network, |layer| rows(&dense[layer]["kernel"]), |layer| list(&dense[layer]["bias"]));
        assert_eq!(back, network, "weights of {name}");
        let schema: Schema = serde_json::from_value(json["schema"].clone()).expect("a schema");
        assert_eq!(schema, network.schema, "schema of {name}");
        assert_eq!(json["step"], 7, "step of {name}");
    }
}

/// The case with every kind of stage.
fn everything() -> &'static Case {
    cases().iter().find(|case| case.name == "all").expect("it is among the cases")
}

#[test]
fn every_stage_is_listed_with_its_tensors() {
    let Case { network, .. } = everything();
    let stages = ["fourier 5 include_input", "dense", "layer_norm", "gelu", "fork", "dense", "layer_norm", "gelu"];
    let stages: Vec<_> = stages.into_iter().chain(["join", "dense"]).collect();
    let (tensors, metadata) = safetensors(&exported("all", network, Format::Safetensors));
    assert_eq!(serde_json::from_str::<Vec<String>>(&metadata["stages"]).expect("a list"), stages, "stages");
    let json: Value = serde_json::from_slice(&exported("all", network, Format::Json)).expect("JSON");
    let list = |value: &Value| serde_json::from_value::<Vec<f32>>(value.clone()).expect("numbers");
    let mut layers = 0;
    for (stage, json) in network.stages.iter().zip(json["stages"].as_array().expect("a list")) {
        match stage {
            Stage::Encoding(encoder) => {
                let Waves::Fourier { features: 5, frequencies } = encoder.waves() else { panic!("{encoder:?}") };
                let tensor = tensor(&tensors, "frequencies");
                assert_eq!((&tensor.shape, &tensor.values), (&vec![4, 5], &frequencies), "frequencies as a tensor");
                let rows: Vec<f32> = json["frequencies"].as_array().expect("rows").iter().flat_map(list).collect();
                assert_eq!(rows, frequencies, "frequencies as JSON");
                assert_eq!((&json["name"], &json["include_input"]), (&"fourier".into(), &true.into()), "the encoding");
            }
            Stage::Dense(dense) => {
                let name = format!("layers.{layers}.kernel");
                assert_eq!(tensor(&tensors, &name).shape, [dense.inputs, dense.outputs], "{name}");
                layers += 1;
            }
            Stage::LayerNorm { scale, bias } => {
                for (part, want) in [("scale", scale), ("bias", bias)] {
                    let name = format!("norms.{}.{part}", layers - 1);
                    assert_eq!(&tensor(&tensors, &name).values, want, "{name} as a tensor");
                    assert_eq!(&list(&json[part]), want, "{name} as JSON");
                }
                assert_eq!(json["epsilon"], 1e-6, "epsilon");
            }
            Stage::Activation(activation) => assert_eq!(json["name"], activation.name(), "the activation"),
            Stage::Embedding(embedder) => panic!("an encoding excludes it: {embedder:?}"),
            Stage::Fork => assert_eq!(json["kind"], "fork", "where the row is kept"),
            Stage::Join => assert_eq!(json["kind"], "join", "where it is added"),
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("all.npz");
    std::fs::write(&file, exported("all", network, Format::Npz)).expect("a file can be written");
    let Some(printed) = peers("read_npz.py", &file) else { return };
    let arrays: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(list(&arrays["norms.1.scale"][2]), tensor(&tensors, "norms.1.scale").values, "a scale in NumPy");
    assert_eq!(arrays["stages"][2], serde_json::json!(stages), "stages in NumPy");
}

#[test]
fn layer_normalization_has_the_names_and_modules_of_pytorch() {
    let case = cases().iter().find(|case| case.name == "norm").expect("it is among the cases");
    let options = options("norm", Naming::Pytorch);
    let (tensors, metadata) =
        safetensors(&export(&case.network, Format::Safetensors, &options).expect("it is written").bytes);
    let modules: Vec<String> = serde_json::from_str(&metadata["sequential"]).expect("a list");
    assert_eq!(modules[..3], ["Linear(30, 9)", "LayerNorm(9, eps=1e-6)", "Sin()"], "modules");
    let Stage::LayerNorm { scale, bias } = &case.network.stages[4] else { panic!("{:?}", case.network.stages[4]) };
    assert_eq!(&tensor(&tensors, "4.weight").values, scale, "the scale of the second");
    assert_eq!(&tensor(&tensors, "4.bias").values, bias, "the bias of the second");
    let network = &everything().network;
    let error = export(network, Format::Safetensors, &options).expect_err("it is no chain");
    assert!(error.to_string().contains("--naming flax"), "{error}");
}

#[test]
fn embeddings_have_the_names_of_flax_and_of_pytorch() {
    let Case { network, .. } = cases().iter().find(|case| case.name == "embedding").expect("it is among the cases");
    let Stage::Embedding(embedder) = &network.stages[0] else { panic!("{:?}", network.stages[0]) };
    let json: Value = serde_json::from_slice(&exported("embedding", network, Format::Json)).expect("JSON");
    assert_eq!(json["stages"][0]["kind"], "embedding", "the first stage");
    for (naming, part) in [(Naming::Flax, "embedding"), (Naming::Pytorch, "weight")] {
        let exported = export(network, Format::Safetensors, &options("embedding", naming)).expect("it is written");
        let (tensors, metadata) = safetensors(&exported.bytes);
        let stages: Vec<String> = serde_json::from_str(&metadata["stages"]).expect("a list");
        assert_eq!(stages[..3], ["embedding 0 2 3 5", "dense", "layer_norm"], "stages");
        for (i, (embedding, table)) in embedder.tables().iter().enumerate() {
            let tensor = tensor(&tensors, &format!("embeddings.{i}.{part}"));
            assert_eq!((&tensor.shape[..], &tensor.values), (&[embedding.categories, 5][..], table), "{}", tensor.name);
            let rows = json["stages"][0]["tables"][i]["embedding"].as_array().expect("rows").clone();
            let rows: Vec<Vec<f32>> = rows.into_iter().map(|row| serde_json::from_value(row).expect("a row")).collect();
            assert_eq!(&rows.concat(), table, "table {i} as JSON");
        }
        if naming == Naming::Pytorch {
            let modules: Vec<String> = serde_json::from_str(&metadata["sequential"]).expect("a list");
            assert_eq!(modules[..2], ["Linear(22, 9)", "LayerNorm(9, eps=1e-6)"], "modules after the embeddings");
            assert_eq!(tensor(&tensors, "0.weight").shape, [9, 22], "the kernel of the first module");
        }
    }
}

#[test]
fn numpy_reads_the_arrays() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("n.npz");
    for (name, network) in networks().into_iter().step_by(4) {
        std::fs::write(&file, exported(&name, &network, Format::Npz)).expect("a file can be written");
        let Some(printed) = peers("read_npz.py", &file) else { return };
        let arrays: Value = serde_json::from_str(&printed).expect("JSON");
        let values = |name: &str| arrays[name][2].clone();
        let list = |value: &Value| serde_json::from_value::<Vec<f32>>(value.clone()).expect("numbers");
        let kernel = |layer: usize| {
            let rows = values(&format!("layers.{layer}.kernel"));
            rows.as_array().expect("rows").iter().flat_map(list).collect()
        };
        let back = rebuilt(&network, kernel, |layer| list(&values(&format!("layers.{layer}.bias"))));
        assert_eq!(back, network, "weights of {name}");
        let slots = network.slots();
        let means: Vec<f64> = serde_json::from_value(values("input_mean")).expect("numbers");
        assert_eq!(means, slots.iter().map(|slot| slot.mean).collect::<Vec<_>>(), "means of {name}");
        let names: Vec<String> = serde_json::from_value(values("input_names")).expect("texts");
        assert_eq!(names, slots.into_iter().map(|slot| slot.name).collect::<Vec<_>>(), "inputs of {name}");
        let schema: Schema = serde_json::from_str(values("schema").as_str().expect("a text")).expect("a schema");
        assert_eq!(schema, network.schema, "schema of {name}");
    }
}

#[test]
fn what_32_bit_floats_cannot_hold_is_refused() {
    let (_, mut network) = networks().swap_remove(0);
    let targets = Targets::Numbers { columns: vec![NumberColumn { name: "wide".into(), mean: 1e300, std: 1.0 }] };
    network.schema.targets = targets;
    for format in [Format::Onnx, Format::C, Format::Wgsl] {
        let error = export(&network, format, &options("n", Naming::Flax)).expect_err("it cannot be computed");
        assert!(error.to_string().contains("wide"), "{format}: {error}");
    }
    let (_, network) = networks().swap_remove(0);
    for name in ["", "3d", "a-b", "_x", "a b", "grün"] {
        let error = export(&network, Format::C, &options(name, Naming::Flax)).expect_err("it is no name");
        assert!(error.to_string().contains("--name"), "{name:?}: {error}");
    }
}
