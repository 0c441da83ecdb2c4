//! Exported weights: bit for bit those of the network, by the names of Flax and of PyTorch, with all that tells what they are.

use fori::data::schema::Schema;
use fori::export::{Format, export};
use fori::network::{Naming, Network, Stage, Tensor, Waves};
use safetensors::SafeTensors;
use serde_json::Value;

use crate::export_cases::{Case, cases, exported, floats, networks, options};
use crate::peers::peers;

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
