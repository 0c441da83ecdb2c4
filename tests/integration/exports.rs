//! Exported networks answer what the network answers, in every program that can run them.

use std::process::Command;

use fori::data::schema::{NumberColumn, Targets};
use fori::export::{Exported, Format, export};
use fori::network::Naming;

use crate::adapter::run_module;
use crate::common::device;
use crate::export_cases::{Case, cases, floats, networks, options};
use crate::peers::peers;

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
