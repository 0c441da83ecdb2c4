//! What a module knows of its plan: constants, tables of layers, and the functions that the plan has chosen.

use std::fmt::Write as _;

use crate::plan::{Arena, EmbeddingTable, OpKind, Plan, Products, Sampling, Source};
use crate::plan::{
    TILE_VECTORS, activation_of, embedding_update_tiles, forward_tiles, layer_norm_update_tiles, update_flipped,
    update_tiles, w0_of,
};
use crate::rng::permutation_bits;
use crate::spec::{FREQUENCIES, InputEncoding, NORM_EPS};

/// The first binding after those of `shaders/shared/arenas.wgsl`.
const FIRST_FREE_BINDING: usize = 9;

/// The constants of a plan and the functions that it chose.
pub(super) fn prelude(plan: &Plan) -> String {
    let step = &plan.step;
    let mut text = String::new();
    let last = &plan.layers[plan.layers.len() - 1];
    let y = plan.tensor("y").map_or(0, |t| t.offset);
    let rows = forward_tiles(step, last.inputs, last.outputs).rows;
    let sample_tiles = plan.ops.iter().find(|op| op.kind == OpKind::Sample).map_or(1, |op| op.tiles);
    let mut constants = vec![
        ("MODELS", step.models),
        ("BATCH", step.batch_size),
        ("ROWS", plan.rows()),
        ("ROW_TILES", rows),
        ("SAMPLE_TILES", sample_tiles),
        ("LANES", step.products.lanes()),
        ("LAYER_COUNT", plan.layers.len()),
        ("TARGET", y),
        ("X", plan.tensor("x").map_or(0, |t| t.offset)),
        ("X_COLUMNS", step.model.inputs()),
        ("X_VECTORS", step.model.inputs().div_ceil(4)),
        ("TARGET_COLUMNS", step.target_columns()),
        ("TARGET_VECTORS", step.target_columns().div_ceil(4)),
        ("LOSS_TERMS", step.loss.terms(last.outputs)),
        ("OPTIMIZER_SLOTS", step.optimizer.state_names().len()),
        ("PARAMS_SIZE", plan.sizes.of(Arena::Params)),
        ("OPTIMIZER_SIZE", plan.sizes.of(Arena::Optimizer)),
        ("ACTIVATIONS_SIZE", plan.sizes.of(Arena::Activations)),
    ];
    if let (Products::Tiled { side } | Products::Deep { side }, Some(depth)) = (step.products, step.products.depth()) {
        constants.extend([("SIDE", side), ("DEPTH", depth)]);
    }
    constants.extend(source_constants(plan));
    for (name, value) in constants {
        let _ = writeln!(text, "const {name}: u32 = {value}u;");
    }
    text.push_str(&choices(plan));
    text.push_str(&after_gradients(plan));
    let _ = writeln!(text, "const KEEP: f32 = {:?};", step.model.options.keep());
    let _ = writeln!(text, "const RESIDUAL: bool = {};", step.model.options.residual);
    let _ = writeln!(text, "const LAYER_NORM: bool = {};", step.model.options.layer_norm);
    text.push_str(&layers(plan));
    text.push_str(&norms(plan));
    text.push_str(&encoding(plan));
    text.push_str(&embeddings(plan));
    text.push_str(&rules(plan));
    text.push_str(&data_access(plan));
    text
}

/// The bindings of a table past its first, and how a vector of it is found among them.
fn data_access(plan: &Plan) -> String {
    if plan.step.source == Source::Linreg {
        return String::new();
    }
    let (size, mut text, mut cases) = (plan.data_binding, String::new(), String::new());
    for part in 1..plan.data_bindings() {
        let (name, binding, before) = (format!("data{part}"), FIRST_FREE_BINDING - 1 + part, (part - 1) * size);
        let _ = writeln!(text, "@group(0) @binding({binding}) var<storage, read> {name}: array<vec4<f32>>;");
        let place = if part == 1 { "data[at]".into() } else { format!("data{}[at - {before}u]", part - 1) };
        let _ = writeln!(cases, "    if (at < {}u) {{\n        return {place};\n    }}", part * size);
    }
    let last = plan.data_bindings() - 1;
    let place = if last == 0 { "data[at]".into() } else { format!("data{last}[at - {}u]", last * size) };
    let _ = write!(text, "\nfn data_at(at: u32) -> vec4<f32> {{\n{cases}    return {place};\n}}\n");
    text
}

/// Constants of what follows the gradients.
fn after_gradients(plan: &Plan) -> String {
    let step = &plan.step;
    if step.is_fused() {
        return format!("const KEEP_GRADIENTS: bool = {};\n", step.keep_gradients);
    }
    let offset = |name| plan.tensor(name).map_or(0, |t| t.offset);
    let parameters = plan.parameters();
    let mut text = format!("const CLIP_NORM: bool = {};\n", step.clip_norm);
    for (name, value) in [
        ("ACCUMULATE", step.accumulate as usize),
        ("GRADS_SIZE", plan.sizes.of(Arena::Grads)),
        ("NORM_PARTS", offset("norm_parts")),
        ("NORM", offset("norm")),
        ("TILE_VECTORS", TILE_VECTORS),
        ("PARAMETER_TILES", plan.parameter_tiles()),
        ("PARAMETER_COUNT", parameters.len()),
    ] {
        let _ = writeln!(text, "const {name}: u32 = {value}u;");
    }
    let _ = writeln!(text, "const PARAMETERS = array<Parameter, {}>(", parameters.len());
    for p in parameters {
        let (vectors, is_bias) = (p.vectors, u32::from(p.is_bias));
        let _ = writeln!(text, "    Parameter({}u, {vectors}u, {}u, {is_bias}u),", p.offset, p.first_tile);
    }
    text.push_str(");\n");
    text
}

/// The functions that the plan has chosen.
fn rules(plan: &Plan) -> String {
    let (step, mut text) = (&plan.step, String::new());
    let activation = activation_of(step, 0);
    let w0 = w0_of(step, 0);
    let activate = if w0 == 1.0 {
        format!("return {activation}_activation(z);")
    } else {
        format!("let h = {activation}_activation({w0:?} * z);\n    return Activated(h.value, {w0:?} * h.slope);")
    };
    let _ = write!(
        text,
        "\nfn activate(z: vec4<f32>) -> Activated {{\n    {activate}\n}}\n\
         \nfn optimizer_rule(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {{\n    return {}(s, g, h);\n}}\n",
        step.optimizer,
    );
    if step.loss.is_elementwise() {
        let _ = write!(
            text,
            "\nfn loss_function(prediction: vec4<f32>, expected: vec4<f32>) -> Lost {{\n    \
             return {}(prediction, expected);\n}}\n",
            step.loss,
        );
    }
    text
}

/// What the plan has chosen of the loss and the update, as constants.
fn choices(plan: &Plan) -> String {
    let (step, mut text) = (&plan.step, String::new());
    for (name, value) in [("CLIP_VALUE", step.clip_value), ("DECAY_BIAS", step.decay_bias), ("WEIGHTED", step.weighted)]
    {
        let _ = writeln!(text, "const {name}: bool = {value};");
    }
    if !step.loss.is_elementwise() {
        #[expect(clippy::cast_precision_loss, reason = "a width")]
        let share = step.label_smoothing / step.model.outputs() as f64;
        let _ = writeln!(text, "const SMOOTHED_SHARE: f32 = {share:?};");
        let _ = writeln!(text, "const CERTAIN_SHARE: f32 = {:?};", 1.0 - step.label_smoothing);
    }
    text
}

/// Constants of the source of the batches.
fn source_constants(plan: &Plan) -> Vec<(&'static str, usize)> {
    let offset = |name| plan.tensor(name).map_or(0, |t| t.offset);
    match plan.step.source {
        Source::Linreg => vec![
            ("DATA_SIZE", plan.sizes.of(Arena::Data)),
            ("TRUE_WEIGHTS", offset("true_weights")),
            ("TRUE_BIAS", offset("true_bias")),
        ],
        Source::Table { rows } | Source::Sequence { rows } => {
            let mut constants =
                vec![("TABLE_ROWS", rows), ("FEATURES", offset("features")), ("TARGETS", offset("targets"))];
            if let Source::Sequence { .. } = plan.step.source {
                constants.extend([("GRADS_SIZE", plan.sizes.of(Arena::Grads)), ("ANSWERS", offset("answers"))]);
            } else if plan.step.sampling == Sampling::Shuffle {
                let (low, high) = permutation_bits(rows);
                constants.extend([("BATCHES", plan.step.batches()), ("LOW_BITS", low as usize)]);
                constants.extend([("LOW_MASK", (1 << low) - 1), ("HIGH_MASK", (1 << high) - 1)]);
            }
            constants
        }
    }
}

/// The table of layers, in the order of the fields of `Layer` in `shared/arenas.wgsl`.
fn layers(plan: &Plan) -> String {
    let count = plan.layers.len();
    let mut text = format!("const LAYERS = array<Layer, {count}>(\n");
    for (i, l) in plan.layers.iter().enumerate() {
        let forward = forward_tiles(&plan.step, l.inputs, l.outputs);
        let backward = forward_tiles(&plan.step, l.outputs, l.inputs);
        let update = update_tiles(&plan.step, l);
        let fields = [
            l.inputs,
            l.outputs,
            l.input_vectors(),
            l.output_vectors(),
            l.kernel,
            l.bias,
            l.input,
            l.output,
            l.delta,
            plan.before(i).slope,
            usize::from(i + 1 == count),
            forward.rows * forward.columns,
            backward.rows * backward.columns,
            update.rows * update.columns,
            update.rows,
            usize::from(update_flipped(&plan.step, l)),
            i,
            l.skip,
            plan.before(i).skip,
        ];
        let fields: Vec<_> = fields.iter().map(|f| format!("{f}u")).collect();
        let _ = writeln!(text, "    Layer({}),", fields.join(", "));
    }
    text.push_str(");\n");
    text
}

/// The constants of the encoding of the inputs; where there is none, what the persistent loop does instead.
fn encoding(plan: &Plan) -> String {
    let options = &plan.step.model.options;
    if options.encoding == InputEncoding::None {
        let absent = if plan.tables.is_empty() { "\nfn after_sample(lane: u32) {}\n" } else { "" };
        return absent.into();
    }
    let inputs = plan.step.model.inputs();
    let tiles = plan.ops.iter().find(|op| op.kind == OpKind::Encode).map_or(0, |op| op.tiles);
    let mut constants = vec![("KEPT_INPUTS", options.kept_inputs(inputs)), ("ENCODE_TILES", tiles)];
    if let Some(t) = plan.tensor(FREQUENCIES) {
        constants.extend([("FREQUENCIES", t.offset), ("FEATURE_COUNT", t.columns), ("FEATURE_VECTORS", t.stride)]);
    }
    constants.iter().map(|(name, value)| format!("const {name}: u32 = {value}u;\n")).collect()
}

/// The table of embeddings, in the order of the fields of `Embedding` in `embedding.wgsl`, and one behind all columns that ends a
/// search; where there are none, what the persistent loop does instead.
fn embeddings(plan: &Plan) -> String {
    let first = usize::from(plan.tables.is_empty());
    let mut text =
        format!("const FIRST_BACKWARD: u32 = {first}u; // the first layer whose kernel is walked backward\n");
    if plan.tables.is_empty() {
        text.push_str("\nfn update_embeddings(lane: u32) {}\n");
        return text;
    }
    let tiles = |kind| plan.ops.iter().find(|op| op.kind == kind).map_or(0, |op| op.tiles);
    let _ = writeln!(text, "const ENCODE_TILES: u32 = {}u;", tiles(OpKind::Encode));
    let _ = writeln!(text, "const EMBEDDING_TILES: u32 = {}u;", tiles(OpKind::EmbeddingUpdate));
    let _ = writeln!(text, "const EMBEDDINGS = array<Embedding, {}>(", plan.tables.len() + 1);
    let (inputs, encoded) = (plan.step.model.inputs(), plan.layers[0].inputs);
    let field = |e: &EmbeddingTable| {
        [
            e.of.column,
            e.first,
            e.of.width,
            e.row_vectors(),
            e.of.categories,
            e.table,
            embedding_update_tiles(&plan.step, e),
        ]
    };
    for fields in plan.tables.iter().map(field).chain([[inputs, encoded, 1, 1, 1, 0, 1]]) {
        let fields: Vec<_> = fields.iter().map(|f| format!("{f}u")).collect();
        let _ = writeln!(text, "    Embedding({}),", fields.join(", "));
    }
    text.push_str(");\n");
    text
}

/// The table of normalizations, in the order of the fields of `Norm` in `layer_norm.wgsl`; where there are none, what the
/// persistent loop does instead.
fn norms(plan: &Plan) -> String {
    let norms: Vec<_> = plan.layers.iter().filter_map(|l| Some((l, l.norm?))).collect();
    if norms.is_empty() {
        let absent =
            ["after_forward(l: Layer, lane: u32)", "after_backward(l: Layer, lane: u32)", "after_update(lane: u32)"];
        return absent.map(|function| format!("\nfn {function} {{}}\n")).concat();
    }
    let tiles = |kind| plan.ops.iter().find(|op| op.kind == kind).map_or(0, |op| op.tiles);
    let mut text = format!("const NORM_EPS: f32 = {NORM_EPS:?};\n");
    let _ = writeln!(text, "const NORM_TILES: u32 = {}u;", tiles(OpKind::LayerNormForward { layer: 0 }));
    let _ = writeln!(text, "const NORM_UPDATE_TILES: u32 = {}u;", tiles(OpKind::LayerNormUpdate));
    let _ = writeln!(text, "const NORMS = array<Norm, {}>(", norms.len());
    for (l, n) in norms {
        let fields = [n.scale, n.bias, n.normalized, n.inverse, n.delta, layer_norm_update_tiles(&plan.step, l)];
        let fields: Vec<_> = fields.iter().map(|f| format!("{f}u")).collect();
        let _ = writeln!(text, "    Norm({}),", fields.join(", "));
    }
    text.push_str(");\n");
    text
}
