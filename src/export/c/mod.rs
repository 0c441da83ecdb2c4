//! One header in C99 that needs nothing but `math.h`: from the numbers of the table to answers.

mod functions;

use std::fmt::Write as _;

use super::scaling::{InputScaling, OutputScaling};
use super::{Options, literal, literals};
use crate::data::schema::Targets;
use crate::error::{Error, Result};
use crate::network::{Dense, Embedder, Encoder, Network, Part, Stage, Waves};
use crate::spec::{Activation, FREQUENCIES};
use functions::{activation_function, dense_function, layer_norm_function, wave_function};

/// The text of the header.
pub(super) fn write(network: &Network, options: &Options) -> Result<String> {
    let name = identifier(&options.name)?;
    let slots: Vec<_> = network.slots().into_iter().map(|slot| slot.name).collect();
    let mut text = head(network, name);
    text += &names(&format!("{name}_input_name"), &slots);
    text += &names(&format!("{name}_output_name"), &network.output_names());
    for (input, categories) in network.schema.embedded() {
        text += &names(&format!("{name}_input_{input}_category"), categories);
    }
    text += &dense_function(name);
    if network.stages.iter().any(|stage| matches!(stage, Stage::Encoding(_))) {
        text += &wave_function(name);
    }
    if network.stages.iter().any(|stage| matches!(stage, Stage::LayerNorm { .. })) {
        text += &layer_norm_function(name);
    }
    let used = |activation: &&Activation| network.stages.contains(&Stage::Activation(**activation));
    for activation in Activation::ALL.iter().filter(used) {
        text += &activation_function(name, *activation);
    }
    text += &predict_function(network, name)?;
    text += "\n#endif\n";
    Ok(text)
}

/// What it is, and the widths.
fn head(network: &Network, name: &str) -> String {
    let upper = name.to_uppercase();
    let answers = match network.schema.targets {
        Targets::Numbers { .. } => "numbers in the units of the table",
        Targets::Labels { .. } => "the probability of 1 for each label",
        Targets::Classes { .. } => "the probability of each class",
    };
    format!(
        "/* A trained network, written by fori {version}. C99 or C++; needs nothing but math.h.\n\
         \x20*\n\
         \x20* {name}_predict(in, out): in has {upper}_INPUTS numbers in the units of the table, in the order of\n\
         \x20* {name}_input_name(i); out becomes {upper}_OUTPUTS numbers, in the order of {name}_output_name(i):\n\
         \x20* {answers}. It may be called from several threads.\n\
         {categories}\
         \x20*/\n\
         #ifndef FORI_{upper}_H\n#define FORI_{upper}_H\n\n#include <math.h>\n\n\
         #define {upper}_INPUTS {}\n#define {upper}_OUTPUTS {}\n\n",
        network.inputs(),
        network.outputs(),
        version = env!("CARGO_PKG_VERSION"),
        categories = network.schema.embedded().next().map_or(String::new(), |(input, _)| format!(
            " * A column of texts is the index of its category: of input {input} that of {name}_input_{input}_category(index).\n"
        )),
    )
}

/// The name, if functions can begin with it.
fn identifier(name: &str) -> Result<&str> {
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if valid && name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok(name);
    }
    Err(Error::Usage(format!(
        "--name {name:?} is not possible: expected a letter, then letters, digits and underscores"
    )))
}

/// A string literal, of whatever bytes.
fn string(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.bytes().map(byte).collect::<String>())
}

/// A function that gives names.
fn names(function: &str, names: &[String]) -> String {
    let list: Vec<_> = names.iter().map(|name| string(name)).collect();
    format!(
        "static inline const char *{function}(int i) {{\n    static const char *const names[] = {{\n        {}\n    }};\n    \
         return names[i];\n}}\n\n",
        list.join(",\n        ")
    )
}

/// The function in the making: its constants, its body, and where the row is.
struct Function<'a> {
    name: &'a str,
    constants: String,
    body: String,
    /// The array that has the row.
    from: &'static str,
    /// The other array.
    to: &'static str,
    width: usize,
    layers: usize,
}

impl Function<'_> {
    fn constant(&mut self, name: &str, values: &[f32]) {
        let _ = write!(self.constants, "    static const float {name}[] = {{\n    {}\n    }};\n", literals(values));
    }

    /// From `in` to the standardized inputs in `a`.
    fn standardize(&mut self, scaling: Option<InputScaling>, upper: &str) {
        let mut value = String::from("in[i]");
        if let Some(scaling) = scaling {
            self.constant("mean", &scaling.mean);
            self.constant("std", &scaling.std);
            self.constant("shift", &scaling.shift);
            if scaling.fills() {
                let (fill, fills): (Vec<f32>, Vec<f32>) =
                    scaling.fill.iter().map(|f| if f.is_nan() { (0.0, 0.0) } else { (*f, 1.0) }).unzip();
                self.constant("fill", &fill);
                self.constant("fills", &fills);
                value = "(fills[i] > 0.0f && isnan(in[i]) ? fill[i] : in[i])".into();
            }
            value = format!("({value} - mean[i]) / std[i] - shift[i]");
        }
        self.body += &format!("    for (int i = 0; i < {upper}_INPUTS; i++) {{\n        a[i] = {value};\n    }}\n");
    }

    /// A loop over the row.
    fn each(&mut self, body: &str) {
        self.body += &format!("    for (int i = 0; i < {}; i++) {{\n        {body}\n    }}\n", self.width);
    }

    /// The row is now in the other array.
    fn exchange(&mut self, width: usize) {
        (self.from, self.to, self.width) = (self.to, self.from, width);
    }

    fn stage(&mut self, stage: &Stage) {
        let (name, from, to, width) = (self.name, self.from, self.to, self.width);
        match stage {
            Stage::Dense(Dense { inputs, outputs, kernel, bias }) => {
                let layer = self.layers;
                self.constant(&format!("kernel_{layer}"), kernel);
                self.constant(&format!("bias_{layer}"), bias);
                self.body +=
                    &format!("    {name}_dense({from}, {inputs}, kernel_{layer}, bias_{layer}, {outputs}, {to});\n");
                self.exchange(*outputs);
                self.layers += 1;
            }
            Stage::Activation(Activation::Identity) => {}
            Stage::Activation(activation) => self.each(&format!("{from}[i] = {name}_{activation}({from}[i]);")),
            Stage::Encoding(encoder) => self.encode(encoder),
            Stage::Embedding(embedder) => self.embed(embedder),
            Stage::LayerNorm { scale, bias } => {
                let layer = self.layers.saturating_sub(1);
                self.constant(&format!("norm_scale_{layer}"), scale);
                self.constant(&format!("norm_bias_{layer}"), bias);
                self.body +=
                    &format!("    {name}_layer_norm({from}, {width}, norm_scale_{layer}, norm_bias_{layer});\n");
            }
            Stage::Fork => self.each(&format!("kept[i] = {from}[i];")),
            Stage::Join => self.each(&format!("{from}[i] += kept[i];")),
        }
    }

    fn encode(&mut self, encoder: &Encoder) {
        let (name, from, to) = (self.name, self.from, self.to);
        let (inputs, kept) = (encoder.inputs(), encoder.kept());
        if kept > 0 {
            self.each(&format!("{to}[i] = {from}[i];"));
        }
        let text = match encoder.waves() {
            Waves::Fourier { features, frequencies } => {
                self.constant(FREQUENCIES, &frequencies);
                format!(
                    "    for (int k = 0; k < {features}; k++) {{\n        float turns = 0.0f;\n        \
                     for (int i = 0; i < {inputs}; i++) {{\n            \
                     turns += {from}[i] * {FREQUENCIES}[i * {features} + k];\n        }}\n        \
                     {name}_wave(turns, &{to}[{kept} + k], &{to}[{} + k]);\n    }}\n",
                    kept + features
                )
            }
            Waves::Octaves(octaves) => format!(
                "    for (int k = 0; k < {octaves}; k++) {{\n        for (int i = 0; i < {inputs}; i++) {{\n            \
                 float *wave = &{to}[{kept} + 2 * k * {inputs} + i];\n            \
                 {name}_wave(ldexpf({from}[i], k - 1), wave, wave + {inputs});\n        }}\n    }}\n"
            ),
        };
        self.body += &text;
        self.exchange(encoder.outputs());
    }

    /// Rows of tables in the place of indices. Those are kept inside the table, whatever the caller gives.
    fn embed(&mut self, embedder: &Embedder) {
        let (from, to) = (self.from, self.to);
        let mut place = 0;
        for part in embedder.parts() {
            let (index, value) = match &part {
                Part::Numbers(inputs) => (String::new(), format!("{from}[{} + i]", inputs.start)),
                Part::Row { number, embedding, table } => {
                    self.constant(&format!("embedding_{number}"), table);
                    let (last, input) =
                        (literal(count(embedding.categories - 1)), format!("{from}[{}]", embedding.column));
                    let index = format!(
                        "int row_{number} = {input} >= {last} ? {} : {input} > 0.0f ? (int){input} : 0;",
                        embedding.categories - 1
                    );
                    (format!("    {index}\n"), format!("embedding_{number}[row_{number} * {} + i]", embedding.width))
                }
            };
            self.body += &index;
            self.width = part.width();
            self.each(&format!("{to}[{place} + i] = {value};"));
            place += part.width();
        }
        self.exchange(place);
    }
}

/// A count as a number; exact, since there are far fewer than 2^24 categories.
#[expect(clippy::cast_precision_loss, reason = "a count of categories is far below 2^24")]
fn count(count: usize) -> f32 {
    count as f32
}

fn predict_function(network: &Network, name: &str) -> Result<String> {
    let upper = name.to_uppercase();
    let (constants, body, width) = (String::new(), String::new(), network.inputs());
    let mut function = Function { name, constants, body, from: "a", to: "b", width, layers: 0 };
    function.standardize(InputScaling::of(network)?, &upper);
    network.stages.iter().for_each(|stage| function.stage(stage));
    let scaling = OutputScaling::of(network)?;
    if let Some(scaling) = &scaling {
        function.constant("target_mean", &scaling.mean);
        function.constant("target_std", &scaling.std);
    }
    let Function { constants, mut body, from, .. } = function;
    body += &answers(&network.schema.targets, from, &upper, scaling.is_some());
    let widest = network.widest();
    let kept = if network.stages.contains(&Stage::Fork) { format!(", kept[{widest}]") } else { String::new() };
    Ok(format!(
        "static inline void {name}_predict(const float *in, float *out) {{\n{constants}    \
         float a[{widest}], b[{widest}]{kept};\n{body}}}\n"
    ))
}

/// From the last row to the answers.
fn answers(targets: &Targets, from: &str, upper: &str, scaled: bool) -> String {
    let each = |body: &str| format!("    for (int i = 0; i < {upper}_OUTPUTS; i++) {{\n        {body}\n    }}\n");
    match targets {
        Targets::Numbers { .. } if scaled => each(&format!("out[i] = {from}[i] * target_std[i] + target_mean[i];")),
        Targets::Numbers { .. } => each(&format!("out[i] = {from}[i];")),
        Targets::Labels { .. } => each(&format!("out[i] = {} / (1.0f + expf(-{from}[i]));", literal(1.0))),
        Targets::Classes { .. } => {
            let largest = format!("    float largest = {from}[0], sum = 0.0f;\n");
            let find = each(&format!("largest = {from}[i] > largest ? {from}[i] : largest;"));
            let powers = each(&format!("sum += out[i] = expf({from}[i] - largest);"));
            largest + &find + &powers + &each("out[i] /= sum;")
        }
    }
}
