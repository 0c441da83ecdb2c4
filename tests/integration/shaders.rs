//! The WGSL module of each plan of a table, by naga, without a device.

use std::fs;
use std::path::Path;

use fori::plan::{OpKind, Products, Sampling, Source};
use fori::shader::{Shader, Walk};
use naga::{AddressSpace, Expression, Literal, Module, TypeInner};

use crate::common::files;
use crate::modules::{WALKS, describe, for_each, plans};

/// The numbers of a constant expression, in order.
fn numbers(module: &Module, expression: naga::Handle<Expression>) -> Vec<u32> {
    match &module.global_expressions[expression] {
        Expression::Literal(Literal::U32(value)) => vec![*value],
        Expression::Literal(Literal::Bool(value)) => vec![u32::from(*value)],
        Expression::Literal(Literal::F32(value)) => vec![value.to_bits()],
        Expression::Constant(constant) => numbers(module, module.constants[*constant].init),
        Expression::Compose { components, .. } => components.iter().flat_map(|&c| numbers(module, c)).collect(),
        other => panic!("a constant of an unexpected form: {other:?}"),
    }
}

/// The numbers of a `const` of the module.
fn constant(module: &Module, name: &str) -> Vec<u32> {
    let found = module.constants.iter().find(|(_, c)| c.name.as_deref() == Some(name));
    let (_, constant) = found.unwrap_or_else(|| panic!("the module has no const {name}"));
    numbers(module, constant.init)
}

#[test]
fn the_prelude_has_the_numbers_of_the_plan() {
    for_each(|plan, walk, module, _| {
        let place = describe(plan, walk);
        let mut want = vec![
            ("MODELS", plan.step.models),
            ("BATCH", plan.step.batch_size),
            ("ROWS", plan.rows()),
            ("LANES", plan.step.products.lanes()),
            ("LAYER_COUNT", plan.layers.len()),
            ("OPTIMIZER_SLOTS", plan.step.optimizer.state_names().len()),
            ("CLIP_VALUE", usize::from(plan.step.clip_value)),
            ("DECAY_BIAS", usize::from(plan.step.decay_bias)),
            ("TARGET", plan.tensor("y").expect("every plan has targets").offset),
            ("TARGET_COLUMNS", plan.tensor("y").expect("every plan has targets").columns),
            ("TARGET_VECTORS", plan.tensor("y").expect("every plan has targets").stride),
            ("LOSS_TERMS", plan.step.loss.terms(plan.step.model.outputs())),
            ("WEIGHTED", usize::from(plan.step.weighted)),
        ];
        let sizes: Vec<_> = plan.sizes.iter().map(|(arena, n)| (format!("{arena}_SIZE").to_uppercase(), n)).collect();
        // No kernel of a fused update asks for the size of the gradients unless they are answers, and none for that of a table.
        let fused = plan.step.is_fused();
        let answers = matches!(plan.step.source, Source::Sequence { .. });
        let linreg = plan.step.source == Source::Linreg;
        let used = |name: &str| (name != "GRADS_SIZE" || answers || !fused) && (name != "DATA_SIZE" || linreg);
        want.extend(sizes.iter().map(|(name, n)| (name.as_str(), *n)).filter(|(name, _)| used(name)));
        if fused {
            want.push(("KEEP_GRADIENTS", usize::from(plan.step.keep_gradients)));
        } else {
            let tiles = plan.ops.iter().find(|op| op.kind == OpKind::Update).map_or(0, |op| op.tiles);
            want.extend([("CLIP_NORM", usize::from(plan.step.clip_norm)), ("PARAMETER_TILES", tiles)]);
            let parameters = plan.tensors.iter().filter(|tensor| tensor.is_parameter()).count();
            want.extend([("ACCUMULATE", plan.step.accumulate as usize), ("PARAMETER_COUNT", parameters)]);
            let offset = |name| plan.tensor(name).map_or(0, |t| t.offset);
            want.extend([("NORM_PARTS", offset("norm_parts")), ("NORM", offset("norm"))]);
        }
        let tensors = match plan.step.source {
            Source::Linreg => vec![("TRUE_WEIGHTS", "true_weights"), ("TRUE_BIAS", "true_bias")],
            Source::Table { rows } | Source::Sequence { rows } => {
                want.push(("TABLE_ROWS", rows));
                if plan.step.sampling == Sampling::Shuffle && !answers {
                    want.push(("BATCHES", plan.step.batches()));
                }
                let mut tensors = vec![("FEATURES", "features"), ("TARGETS", "targets")];
                tensors.extend(answers.then_some(("ANSWERS", "answers")));
                tensors
            }
        };
        want.extend(tensors.iter().map(|(name, tensor)| (*name, plan.tensor(tensor).expect("a source").offset)));
        for (name, value) in want {
            let value = u32::try_from(value).expect("plans are indexed with 32 bits");
            assert_eq!(constant(module, name), [value], "{name} in {place}");
        }
    });
}

/// The fields of `Layer` in `shaders/shared/arenas.wgsl`, in the order in which the prelude lists their values.
const LAYER: [&str; 19] = [
    "inputs",
    "outputs",
    "input_vectors",
    "output_vectors",
    "kernel",
    "bias",
    "input",
    "output",
    "delta",
    "delta_before",
    "is_last",
    "forward_tiles",
    "backward_tiles",
    "update_tiles",
    "update_row_tiles",
    "update_flipped",
    "index",
    "skip",
    "skip_before",
];

#[test]
fn the_prelude_has_the_layers_of_the_plan() {
    for_each(|plan, walk, module, _| {
        let values = constant(module, "LAYERS");
        assert_eq!(values.len(), LAYER.len() * plan.layers.len(), "{}", describe(plan, walk));
        let tiles = |kind| plan.ops.iter().find(|op| op.kind == kind).map_or(0, |op| op.tiles);
        let trains = !matches!(plan.step.source, Source::Sequence { .. });
        let mut updates = 0;
        for (layer, (l, got)) in plan.layers.iter().zip(values.chunks_exact(LAYER.len())).enumerate() {
            let got: Vec<_> = got.iter().map(|&v| v as usize).collect();
            let widths = [l.inputs, l.outputs, l.input_vectors(), l.output_vectors()];
            assert_eq!(got[..4], widths, "widths of layer {layer} in {}", describe(plan, walk));
            let places = [l.kernel, l.bias, l.input, l.output, l.delta];
            assert_eq!(got[4..9], places, "places of layer {layer} in {}", describe(plan, walk));
            assert_eq!(got[11], tiles(OpKind::DenseForward { layer }), "forward tiles of layer {layer}");
            if (layer > 0 || !plan.tables.is_empty()) && trains {
                assert_eq!(got[12], tiles(OpKind::DenseBackward { layer }), "backward tiles of layer {layer}");
            }
            assert!(got[13].is_multiple_of(got[14]), "update tiles of layer {layer} are whole rows");
            assert_eq!(got[16..18], [layer, l.skip], "index and skip of layer {layer}");
            let before = if layer > 0 { plan.layers[layer - 1].skip } else { 0 };
            assert_eq!(got[18], before, "skip of the layer before {layer}");
            updates += got[13];
        }
        assert!(!trains || updates == tiles(OpKind::DenseUpdate), "update tiles in {}", describe(plan, walk));
    });
}

/// Asserts the names of a struct of 32-bit words, which lie side by side.
fn assert_words(module: &Module, name: &str, fields: &[&str], size: u32) {
    let found = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name));
    let Some((_, naga::Type { inner: TypeInner::Struct { members, span }, .. })) = found else {
        panic!("the module has no struct {name}");
    };
    let got: Vec<_> = members.iter().map(|m| (m.name.as_deref().unwrap_or_default(), m.offset)).collect();
    let want: Vec<_> = fields.iter().copied().zip((0..).step_by(4)).collect();
    assert_eq!(got, want, "fields and offsets of {name}");
    assert_eq!(*span, size, "size of {name}");
    let words = members.iter().all(|m| module.types[m.ty].inner == TypeInner::Scalar(naga::Scalar::U32));
    assert!(words, "a field of {name} is not a u32");
}

/// A tensor begins where the plan has it, has the rows that are used, and takes the tiles that hold them.
#[test]
fn the_prelude_has_the_parameters_of_the_plan() {
    for_each(|plan, walk, module, _| {
        if plan.step.is_fused() {
            return;
        }
        let values = constant(module, "PARAMETERS");
        let tile = 16 * plan.step.products.lanes();
        let mut first_tile = 0;
        for got in values.chunks_exact(4) {
            let got: Vec<_> = got.iter().map(|&v| v as usize).collect();
            let mut parameters = plan.tensors.iter().filter(|tensor| tensor.is_parameter());
            let t = parameters.find(|t| t.offset == got[0]).expect("a parameter begins there");
            let spared = usize::from(!t.name.ends_with("kernel") && !t.name.ends_with("embedding"));
            let want = [t.offset, t.rows * t.stride, first_tile, spared];
            assert_eq!(got, want, "{} in {}", t.name, describe(plan, walk));
            first_tile += (t.rows * t.stride).div_ceil(tile);
        }
        assert_words(module, "Parameter", &["offset", "vectors", "first_tile", "is_bias"], 16);
    });
}

#[test]
fn structs_have_the_layout_that_the_host_writes() {
    for_each(|_, _, module, _| {
        assert_words(module, "Layer", &LAYER, 76);
        assert_words(module, "Chunk", &["first_step", "steps", "one", "reserved"], 16);
    });
}

/// The bindings of `shaders/shared/arenas.wgsl` in order; the last one is the uniform.
const BINDINGS: [&str; 9] =
    ["params", "optimizer", "grads", "activations", "data", "table", "state", "history", "chunk"];

#[test]
fn modules_bind_the_arenas_and_nothing_else() {
    for_each(|plan, walk, module, _| {
        let place = describe(plan, walk);
        let mut bound: Vec<_> = module.global_variables.iter().filter(|(_, v)| v.binding.is_some()).collect();
        bound.sort_by_key(|(_, v)| v.binding.map(|b| (b.group, b.binding)));
        let got: Vec<_> = bound.iter().map(|(_, v)| (v.name.as_deref().unwrap_or_default(), v.binding)).collect();
        let at = |(binding, name): (u32, &'static str)| (name, Some(naga::ResourceBinding { group: 0, binding }));
        let want: Vec<_> = (0..).zip(BINDINGS).map(at).collect();
        assert_eq!(got, want, "bindings of {place}");
        for (_, variable) in bound {
            let name = variable.name.as_deref().unwrap_or_default();
            let fits = match variable.space {
                AddressSpace::Storage { access } => {
                    let read_only = !access.contains(naga::StorageAccess::STORE);
                    name != "chunk" && read_only == ["data", "table"].contains(&name)
                }
                AddressSpace::Uniform => name == "chunk",
                _ => false,
            };
            assert!(fits, "{name} is bound as {:?} in {place}", variable.space);
        }
    });
}

/// Those of a device may be larger: it is asked whether these kernels fit.
const BEYOND_THE_DEFAULT_LIMITS: [Products; 2] = [Products::Tiled { side: 32 }, Products::Deep { side: 16 }];

#[test]
fn modules_fit_the_default_limits() {
    for_each(|plan, walk, module, _| {
        let place = describe(plan, walk);
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).expect("the module is valid");
        let shared = module.global_variables.iter().filter(|(_, v)| v.space == AddressSpace::WorkGroup);
        let bytes: u32 = shared.map(|(_, v)| layouter[v.ty].size).sum();
        let products = plan.step.products;
        let beyond = BEYOND_THE_DEFAULT_LIMITS.contains(&products);
        assert!(bytes <= 16_384 || beyond, "{bytes} bytes of workgroup memory in {place}");
        assert_eq!(bytes as usize, products.workgroup_bytes(), "bytes of workgroup memory in {place}");
        let storage = |space| matches!(space, AddressSpace::Storage { .. });
        let buffers = module.global_variables.iter().filter(|(_, v)| storage(v.space)).count();
        assert!(buffers <= 8, "{buffers} storage buffers in {place}");
        for entry in &module.entry_points {
            let lanes: u32 = entry.workgroup_size.iter().product();
            assert!(lanes <= 256 || beyond, "{lanes} invocations of {} in {place}", entry.name);
            assert_eq!(lanes as usize, products.lanes(), "invocations of {} in {place}", entry.name);
        }
    });
}

#[test]
fn every_op_has_its_entry_point() {
    for_each(|plan, walk, module, _| {
        let got: Vec<_> = module.entry_points.iter().map(|e| e.name.clone()).collect();
        let want = match walk {
            Walk::Recorded => plan.ops.iter().map(|op| format!("{}_op", op.kind)).collect(),
            Walk::Persistent => vec!["persistent".to_owned()],
        };
        assert_eq!(got, want, "entry points of {}", describe(plan, walk));
    });
}

#[test]
fn every_shader_file_is_in_some_module() {
    let texts: Vec<_> = plans().iter().flat_map(|plan| WALKS.map(|walk| Shader::of(plan, walk).text)).collect();
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders"));
    assert!(files.len() > 15, "{} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("shaders are text");
        assert!(texts.iter().any(|module| module.contains(&text)), "{} is in no module", file.display());
    }
}

/// Faults: the text that is replaced, by what of the same length, and the file that has it.
const FAULTS: [(&str, &str, &str); 3] = [
    ("s.x += 1u;", "s.x += 1u:", "advance.wgsl"),
    ("f32(rows * LOSS_TERMS)", "f32(rows * LOST_TERMS)", "loss.wgsl"),
    ("state[model] = vec4<u32>(s.x, next, s.w)", "data[model] = vec4<f32>(0.0, 0.0, 0.0, 1)", "advance.wgsl"),
];

#[test]
fn a_fault_is_reported_by_file_and_line() {
    for (right, wrong, file) in FAULTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders").join(file);
        let text = fs::read_to_string(path).expect("the file is in the repository");
        let line = 1 + text.lines().position(|l| l.contains(right)).expect("the file has the text");
        let mut shader = Shader::of(&plans()[0], Walk::Recorded);
        shader.text = shader.text.replacen(right, wrong, 1);
        let error = shader.validate().expect_err("the module is broken").to_string();
        assert!(error.contains(&format!("{file}:{line}: ")), "{wrong}: expected {file}:{line} in `{error}`");
    }
}
