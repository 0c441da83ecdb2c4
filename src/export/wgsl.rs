//! A compute shader: `predict` answers for the rows of a storage buffer. Needs no feature and no other binding than the rows,
//! the answers and the weights. The weights are beside the module, as drivers compile thousands of constants for minutes.

use std::fmt::Write as _;

use super::scaling::{InputScaling, OutputScaling};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::network::{Dense, Embedder, Encoder, Network, Part, Stage, Waves};
use crate::spec::NORM_EPS;

const NUMERICS: &str = include_str!("../../shaders/shared/numerics.wgsl");
const ACTIVATIONS: &str = include_str!("../../shaders/shared/activations.wgsl");

/// Columns of a vector.
const LANES: usize = 4;

/// The text of the module, and the bytes that `weights` is to be filled with.
pub(super) fn write(network: &Network) -> Result<(String, Vec<u8>)> {
    let mut module = Module::default();
    module.standardize(InputScaling::of(network)?, network.inputs());
    network.stages.iter().for_each(|stage| module.stage(stage));
    if let Some(scaling) = OutputScaling::of(network)? {
        module.weights("TARGET_MEAN", &scaling.mean, network.outputs(), 0.0);
        module.weights("TARGET_STD", &scaling.std, network.outputs(), 0.0);
        module.each(&format!("{}[j] * weights[TARGET_STD + j] + weights[TARGET_MEAN + j]", module.from));
    }
    module.answers(&network.schema.targets);
    let Module { offsets, weights, body, .. } = module;
    let kept = if network.stages.contains(&Stage::Fork) { "    var kept: Row;\n" } else { "" };
    let text = format!(
        "{}\n@group(0) @binding(0) var<storage, read> input: array<f32>;\n\
         @group(0) @binding(1) var<storage, read_write> output: array<f32>;\n\
         @group(0) @binding(2) var<storage, read> weights: array<vec4<f32>>;\n\n\
         const INPUTS = {}u;\nconst OUTPUTS = {}u;\nalias Row = array<vec4<f32>, {}>;\n\n\
         // Where they begin in `weights`.\n{offsets}\n\
         @compute @workgroup_size(64)\nfn predict(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let row = id.x;\n    if row >= arrayLength(&output) / OUTPUTS {{\n        return;\n    }}\n    \
         var a: Row;\n    var b: Row;\n{kept}{body}}}\n\n{NUMERICS}\n{ACTIVATIONS}",
        head(network, weights.len()),
        network.inputs(),
        network.outputs(),
        network.widest().div_ceil(LANES),
    );
    Ok((text, weights.iter().flat_map(|weight| weight.to_le_bytes()).collect()))
}

/// What it is, as comments.
fn head(network: &Network, weights: usize) -> String {
    let answers = match network.schema.targets {
        Targets::Numbers { .. } => "numbers in the units of the table",
        Targets::Labels { .. } => "the probability of 1 for each label",
        Targets::Classes { .. } => "the probability of each class",
    };
    let mut text = format!(
        "// A trained network, written by fori {}.\n//\n\
         // input: rows of {} numbers in the units of the table. output: rows of {} answers: {answers}.\n\
         // weights: the {} bytes of the file beside this one, NAME.weights.bin, as they are.\n\
         // Dispatch `predict` with ceil(rows / 64) workgroups; the rows are counted from the size of `output`.\n//\n",
        env!("CARGO_PKG_VERSION"),
        network.inputs(),
        network.outputs(),
        4 * weights,
    );
    // Quoted, so that no name ends its comment.
    for (i, slot) in network.slots().iter().enumerate() {
        let _ = writeln!(text, "// input {i}: {:?}", slot.name);
    }
    for (i, categories) in network.schema.embedded() {
        let _ = writeln!(text, "// input {i} is the index, from 0, of its category in {categories:?}");
    }
    for (i, name) in network.output_names().iter().enumerate() {
        let _ = writeln!(text, "// output {i}: {name:?}");
    }
    text
}

/// The module in the making: its weights, the body of `predict`, and where the row is.
struct Module {
    /// A constant with the place of each tensor.
    offsets: String,
    weights: Vec<f32>,
    body: String,
    /// The variable that has the row.
    from: &'static str,
    /// The other variable.
    to: &'static str,
    width: usize,
    layers: usize,
}

impl Default for Module {
    fn default() -> Self {
        let (offsets, body, weights) = (String::new(), String::new(), Vec::new());
        Self { offsets, weights, body, from: "a", to: "b", width: 0, layers: 0 }
    }
}

impl Module {
    /// Adds a tensor of rows of `columns` numbers, each filled up to whole vectors.
    fn weights(&mut self, name: &str, values: &[f32], columns: usize, with: f32) {
        let _ = writeln!(self.offsets, "const {name} = {}u;", self.weights.len() / LANES);
        let padding = columns.next_multiple_of(LANES) - columns;
        for row in values.chunks_exact(columns) {
            self.weights.extend(row.iter().copied().chain(std::iter::repeat_n(with, padding)));
        }
    }

    /// A loop that replaces each vector of the row.
    fn each(&mut self, value: &str) {
        let (vectors, row) = (self.width.div_ceil(LANES), self.from);
        self.body += &format!("    for (var j = 0u; j < {vectors}u; j++) {{\n        {row}[j] = {value};\n    }}\n");
    }

    /// A loop over the numbers of the row.
    fn numbers(&mut self, body: &str) {
        self.body += &format!("    for (var i = 0u; i < {}u; i++) {{\n        {body}\n    }}\n", self.width);
    }

    /// The row is now in the other variable.
    fn exchange(&mut self, width: usize) {
        (self.from, self.to, self.width) = (self.to, self.from, width);
    }

    /// From `input` to the standardized inputs in `a`.
    fn standardize(&mut self, scaling: Option<InputScaling>, width: usize) {
        self.width = width;
        self.body += "    for (var i = 0u; i < INPUTS; i++) {\n        var x = input[row * INPUTS + i];\n";
        if let Some(scaling) = scaling {
            self.weights("MEAN", &scaling.mean, width, 0.0);
            self.weights("STD", &scaling.std, width, 1.0);
            self.weights("SHIFT", &scaling.shift, width, 0.0);
            let of = |name: &str| format!("weights[{name} + i / 4u][i % 4u]");
            if scaling.fills() {
                let (fill, fills): (Vec<_>, Vec<_>) =
                    scaling.fill.iter().map(|f| if f.is_nan() { (0.0, 0.0) } else { (*f, 1.0) }).unzip();
                self.weights("FILL", &fill, width, 0.0);
                self.weights("FILLS", &fills, width, 0.0);
                // NaN by its bits: compilers may assume that there is none.
                self.body += &format!(
                    "        let missing = (bitcast<u32>(x) & 0x7FFFFFFFu) > 0x7F800000u;\n        \
                     x = select(x, {}, missing && {} > 0.0);\n",
                    of("FILL"),
                    of("FILLS")
                );
            }
            self.body += &format!("        x = (x - {}) / {} - {};\n", of("MEAN"), of("STD"), of("SHIFT"));
        }
        self.body += "        a[i / 4u][i % 4u] = x;\n    }\n";
    }

    fn stage(&mut self, stage: &Stage) {
        let (from, to) = (self.from, self.to);
        match stage {
            Stage::Dense(Dense { inputs, outputs, kernel, bias }) => {
                let (vectors, layer) = (outputs.div_ceil(LANES), self.layers);
                self.weights(&format!("KERNEL_{layer}"), kernel, *outputs, 0.0);
                self.weights(&format!("BIAS_{layer}"), bias, *outputs, 0.0);
                self.body += &format!(
                    "    for (var j = 0u; j < {vectors}u; j++) {{\n        var z = weights[BIAS_{layer} + j];\n        \
                     for (var i = 0u; i < {inputs}u; i++) {{\n            \
                     z += {from}[i / 4u][i % 4u] * weights[KERNEL_{layer} + i * {vectors}u + j];\n        }}\n        \
                     {to}[j] = z;\n    }}\n"
                );
                self.exchange(*outputs);
                self.layers += 1;
            }
            Stage::Activation(activation) => self.each(&format!("{activation}_activation({from}[j]).value")),
            Stage::Encoding(encoder) => self.encode(encoder),
            Stage::Embedding(embedder) => self.embed(embedder),
            Stage::LayerNorm { scale, bias } => self.normalize(scale, bias),
            Stage::Fork => self.body += &format!("    kept = {from};\n"),
            Stage::Join => self.each(&format!("{from}[j] + kept[j]")),
        }
    }

    fn normalize(&mut self, scale: &[f32], bias: &[f32]) {
        let (from, width, layer) = (self.from, self.width, self.layers.saturating_sub(1));
        self.weights(&format!("NORM_SCALE_{layer}"), scale, width, 0.0);
        self.weights(&format!("NORM_BIAS_{layer}"), bias, width, 0.0);
        self.body += &format!("    var sum_{layer} = 0.0;\n    var squares_{layer} = 0.0;\n");
        self.numbers(&format!("sum_{layer} += {from}[i / 4u][i % 4u];"));
        self.body += &format!("    let center_{layer} = sum_{layer} / {width}.0;\n");
        self.numbers(&format!("let d = {from}[i / 4u][i % 4u] - center_{layer};\n        squares_{layer} += d * d;"));
        self.body += &format!("    let factor_{layer} = 1.0 / sqrt(squares_{layer} / {width}.0 + {NORM_EPS:e});\n");
        self.each(&format!(
            "({from}[j] - center_{layer}) * factor_{layer} * weights[NORM_SCALE_{layer} + j] + weights[NORM_BIAS_{layer} + j]"
        ));
    }

    fn encode(&mut self, encoder: &Encoder) {
        let (from, to) = (self.from, self.to);
        let (inputs, kept) = (encoder.inputs(), encoder.kept());
        if kept > 0 {
            self.body += &format!("    {to} = {from};\n");
        }
        let (count, step, sine, turns) = match encoder.waves() {
            Waves::Fourier { features, frequencies } => {
                self.weights("FREQUENCIES", &frequencies, features, 0.0);
                let turns = format!(
                    "        var turns = 0.0;\n        for (var i = 0u; i < {inputs}u; i++) {{\n            \
                     turns += {from}[i / 4u][i % 4u] * weights[FREQUENCIES + i * {}u + k / 4u][k % 4u];\n        }}\n",
                    features.div_ceil(LANES)
                );
                (features, features, format!("{kept}u + k"), turns)
            }
            Waves::Octaves(octaves) => {
                let turns = format!(
                    "        let octave = k / {inputs}u;\n        let i = k % {inputs}u;\n        \
                     let turns = 0.5 * f32(1u << octave) * {from}[i / 4u][i % 4u];\n"
                );
                (octaves * inputs, inputs, format!("{kept}u + k + octave * {inputs}u"), turns)
            }
        };
        // Whole turns are taken away without rounding, before any product with pi.
        self.body += &format!(
            "    for (var k = 0u; k < {count}u; k++) {{\n{turns}        \
             let wave = sin_activation(vec4<f32>(6.28318531 * (turns - floor(turns + 0.5))));\n        \
             let sine = {sine};\n        let cosine = sine + {step}u;\n        \
             {to}[sine / 4u][sine % 4u] = wave.value.x;\n        \
             {to}[cosine / 4u][cosine % 4u] = wave.slope.x;\n    }}\n"
        );
        self.exchange(encoder.outputs());
    }

    /// Rows of tables in the place of indices. Those are kept inside the table, whatever the caller gives.
    fn embed(&mut self, embedder: &Embedder) {
        let (from, to) = (self.from, self.to);
        let element = |row: &str, at: String| format!("{row}[({at}) / 4u][({at}) % 4u]");
        let mut place = 0;
        for part in embedder.parts() {
            let value = match &part {
                Part::Numbers(inputs) => element(from, format!("{}u + i", inputs.start)),
                Part::Row { number, embedding, table } => {
                    self.weights(&format!("EMBEDDING_{number}"), table, embedding.width, 0.0);
                    let (last, column) = (embedding.categories - 1, embedding.column);
                    self.body += &format!(
                        "    let row_{number} = u32(clamp({from}[{}][{}], 0.0, {last}.0));\n",
                        column / LANES,
                        column % LANES
                    );
                    let vectors = embedding.width.div_ceil(LANES);
                    format!("weights[EMBEDDING_{number} + row_{number} * {vectors}u + i / 4u][i % 4u]")
                }
            };
            self.width = part.width();
            self.numbers(&format!("{} = {value};", element(to, format!("{place}u + i"))));
            place += part.width();
        }
        self.exchange(place);
    }

    /// From the last row to `output`.
    fn answers(&mut self, targets: &Targets) {
        let from = self.from;
        let element = format!("{from}[i / 4u][i % 4u]");
        let mut store = element.clone();
        match targets {
            Targets::Numbers { .. } => {}
            Targets::Labels { .. } => self.each(&format!("sigmoid({from}[j])")),
            Targets::Classes { .. } => {
                self.body += &format!("    var largest = {from}[0][0];\n    var sum = 0.0;\n");
                self.numbers(&format!("largest = max(largest, {element});"));
                self.each(&format!("exponential({from}[j] - largest)"));
                self.numbers(&format!("sum += {element};"));
                store += " / sum";
            }
        }
        self.numbers(&format!("output[row * OUTPUTS + i] = {store};"));
    }
}
