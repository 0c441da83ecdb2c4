//! One header in C99 that needs nothing but `math.h`: from the numbers of the table to answers.

use std::fmt::Write as _;

use super::scaling::{InputScaling, OutputScaling};
use super::{Options, literal, literals};
use crate::data::schema::Targets;
use crate::error::{Error, Result};
use crate::network::{Dense, Network, Stage};
use crate::spec::Activation;

/// The text of the header.
pub(super) fn write(network: &Network, options: &Options) -> Result<String> {
    let name = identifier(&options.name)?;
    let slots: Vec<_> = network.slots().into_iter().map(|slot| slot.name).collect();
    let mut text = head(network, name);
    text += &names(&format!("{name}_input_name"), &slots);
    text += &names(&format!("{name}_output_name"), &network.output_names());
    text += &dense_function(name);
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
         \x20*/\n\
         #ifndef FORI_{upper}_H\n#define FORI_{upper}_H\n\n#include <math.h>\n\n\
         #define {upper}_INPUTS {}\n#define {upper}_OUTPUTS {}\n\n",
        network.inputs(),
        network.outputs(),
        version = env!("CARGO_PKG_VERSION"),
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

fn dense_function(name: &str) -> String {
    format!(
        "/* z = x kernel + bias; the kernel has a row for each input. */\n\
         static inline void {name}_dense(const float *x, int inputs, const float *kernel, const float *bias, int outputs,\n\
         \x20                        float *z) {{\n\
         \x20   for (int j = 0; j < outputs; j++) {{\n        z[j] = bias[j];\n    }}\n\
         \x20   for (int i = 0; i < inputs; i++) {{\n\
         \x20       for (int j = 0; j < outputs; j++) {{\n            z[j] += x[i] * kernel[i * outputs + j];\n        }}\n\
         \x20   }}\n}}\n\n"
    )
}

/// The function of one number.
fn activation_function(name: &str, activation: Activation) -> String {
    let body = match activation {
        Activation::Identity => return String::new(),
        Activation::Relu => "z < 0.0f ? 0.0f : z",
        Activation::LeakyRelu => "z < 0.0f ? 0.01f * z : z",
        Activation::Elu => "z > 0.0f ? z : expm1f(z)",
        Activation::Selu => "1.05070099f * (z > 0.0f ? z : 1.67326324f * expm1f(z))",
        Activation::Tanh => "tanhf(z)",
        Activation::Sigmoid => "1.0f / (1.0f + expf(-z))",
        Activation::Silu => "z / (1.0f + expf(-z))",
        Activation::Gelu => "z / (1.0f + expf(-1.5957691216f * z * (1.0f + 0.044715f * z * z)))",
        Activation::GeluExact => "0.5f * z * erfcf(-0.70710678f * z)",
        Activation::Softplus => "(z < 0.0f ? 0.0f : z) + log1pf(expf(-fabsf(z)))",
        Activation::Sin => "sinf(z)",
    };
    format!("static inline float {name}_{activation}(float z) {{\n    return {body};\n}}\n\n")
}

/// The function in the making.
#[derive(Default)]
struct Function {
    constants: String,
    body: String,
}

impl Function {
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

    /// From `a` to the outputs; returns the array that has them.
    fn stages(&mut self, network: &Network, name: &str) -> &'static str {
        let (mut from, mut to, mut width, mut layer) = ("a", "b", network.inputs(), 0);
        for stage in &network.stages {
            match stage {
                Stage::Dense(Dense { inputs, outputs, kernel, bias }) => {
                    self.constant(&format!("kernel_{layer}"), kernel);
                    self.constant(&format!("bias_{layer}"), bias);
                    self.body += &format!(
                        "    {name}_dense({from}, {inputs}, kernel_{layer}, bias_{layer}, {outputs}, {to});\n"
                    );
                    (from, to) = (to, from);
                    (width, layer) = (*outputs, layer + 1);
                }
                Stage::Activation(Activation::Identity)
                | Stage::Encoding(_)
                | Stage::LayerNorm { .. }
                | Stage::Fork
                | Stage::Join => {}
                Stage::Activation(activation) => {
                    self.body += &format!(
                        "    for (int i = 0; i < {width}; i++) {{\n        {from}[i] = {name}_{activation}({from}[i]);\n    }}\n"
                    );
                }
            }
        }
        from
    }
}

fn predict_function(network: &Network, name: &str) -> Result<String> {
    let upper = name.to_uppercase();
    let mut function = Function::default();
    function.standardize(InputScaling::of(network)?, &upper);
    let from = function.stages(network, name);
    let scaling = OutputScaling::of(network)?;
    if let Some(scaling) = &scaling {
        function.constant("target_mean", &scaling.mean);
        function.constant("target_std", &scaling.std);
    }
    function.body += &answers(&network.schema.targets, from, &upper, scaling.is_some());
    let (Function { constants, body }, widest) = (function, network.widest());
    Ok(format!(
        "static inline void {name}_predict(const float *in, float *out) {{\n{constants}    float a[{widest}], b[{widest}];\n\
         {body}}}\n"
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
