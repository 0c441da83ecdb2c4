//! ONNX, opset 17: `input` of shape `(N, inputs)` in the units of the table; `output` of shape `(N, outputs)`, numbers in the
//! units of the table or logits; and for labels and classes `probabilities` of the same shape. The names of the columns are in
//! the metadata.

use prost::Message as _;

use super::protobuf::{
    Attribute, FLOAT, Graph, INT64, IR_VERSION, Model, Node, OPSET, OperatorSet, Property, Tensor, ValueInfo,
};
use super::scaling::{InputScaling, OutputScaling};
use super::{Options, failed};
use crate::data::schema::Targets;
use crate::error::Result;
use crate::network::{Embedder, Encoder, Network, Part, Stage, Waves, narrow};
use crate::spec::{Activation, FREQUENCIES, NORM_EPS};

/// The bytes of the model.
pub(super) fn write(network: &Network, options: &Options) -> Result<Vec<u8>> {
    let mut graph = Builder::default();
    let outputs = graph.network(network)?;
    let rows = |name| ValueInfo::rows(name, FLOAT, network.outputs());
    let model = Model {
        ir_version: IR_VERSION,
        producer_name: "fori".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(Graph {
            node: graph.nodes,
            name: options.name.clone(),
            initializer: graph.constants,
            input: vec![ValueInfo::rows("input", FLOAT, network.inputs())],
            output: outputs.into_iter().map(rows).collect(),
        }),
        opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        metadata_props: properties(network, options)?,
    };
    Ok(model.encode_to_vec())
}

/// The metadata: texts, lists as JSON.
fn properties(network: &Network, options: &Options) -> Result<Vec<Property>> {
    let json = |text: serde_json::Result<String>| text.map_err(|e| failed("onnx", e));
    let inputs: Vec<_> = network.slots().into_iter().map(|slot| slot.name).collect();
    let properties = [
        ("fori_step", options.step.to_string()),
        ("input_names", json(serde_json::to_string(&inputs))?),
        ("output_names", json(serde_json::to_string(&network.output_names()))?),
        ("schema", json(serde_json::to_string(&network.schema))?),
    ];
    Ok(properties.map(|(key, value)| Property { key: key.into(), value }).into())
}

/// A graph in the making: every node has one output, named after it.
#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    constants: Vec<Tensor>,
}

impl Builder {
    /// Adds everything from the input to the outputs, and returns the names of those.
    fn network(&mut self, network: &Network) -> Result<Vec<&'static str>> {
        let mut value = String::from("input");
        if let Some(scaling) = InputScaling::of(network)? {
            value = self.standardize(value, &scaling);
        }
        let mut kept = String::new();
        for stage in &network.stages {
            if *stage == Stage::Fork {
                kept.clone_from(&value);
            } else {
                value = self.stage(stage, value, &kept);
            }
        }
        if let Some(scaling) = OutputScaling::of(network)? {
            let std = self.constant("target_std", &[scaling.std.len()], &scaling.std);
            let mean = self.constant("target_mean", &[scaling.mean.len()], &scaling.mean);
            value = self.op("Mul", &[&value, &std]);
            value = self.op("Add", &[&value, &mean]);
        }
        self.node("output", "Identity", &[&value]);
        let probabilities = match network.schema.targets {
            Targets::Numbers { .. } => return Ok(vec!["output"]),
            Targets::Labels { .. } => "Sigmoid",
            // Its default axis is the last.
            Targets::Classes { .. } => "Softmax",
        };
        self.node("probabilities", probabilities, &[&value]);
        Ok(vec!["output", "probabilities"])
    }

    /// Adds a stage. `kept` is what the last fork kept.
    fn stage(&mut self, stage: &Stage, value: String, kept: &str) -> String {
        match stage {
            Stage::Dense(dense) => {
                let kernel = self.constant("kernel", &[dense.inputs, dense.outputs], &dense.kernel);
                let bias = self.constant("bias", &[dense.outputs], &dense.bias);
                self.op("Gemm", &[&value, &kernel, &bias])
            }
            Stage::Activation(activation) => self.activation(*activation, value),
            Stage::Encoding(encoder) => self.encode(encoder, value),
            Stage::Embedding(embedder) => self.embed(embedder, &value),
            Stage::LayerNorm { scale, bias } => {
                let [scale, bias] = [("norm_scale", scale), ("norm_bias", bias)]
                    .map(|(name, values)| self.constant(name, &[values.len()], values));
                // Its default axis is the last.
                let y = self.op("LayerNormalization", &[&value, &scale, &bias]);
                self.attribute(Attribute::float("epsilon", narrow(NORM_EPS)));
                y
            }
            Stage::Fork => value,
            Stage::Join => self.op("Add", &[&value, kept]),
        }
    }

    /// Adds an encoding of rows.
    fn encode(&mut self, encoder: &Encoder, x: String) -> String {
        let turns: Vec<String> = match encoder.waves() {
            Waves::Fourier { features, frequencies } => {
                let frequencies = self.constant(FREQUENCIES, &[encoder.inputs(), features], &frequencies);
                vec![self.op("MatMul", &[&x, &frequencies])]
            }
            Waves::Octaves(octaves) => {
                let factors = std::iter::successors(Some(0.5_f32), |factor| Some(2.0 * factor)).take(octaves);
                let turns = |factor| {
                    let factor = self.scalar(factor);
                    self.op("Mul", &[&x, &factor])
                };
                factors.map(turns).collect()
            }
        };
        let (half, turn) = (self.scalar(0.5), self.scalar(std::f32::consts::TAU));
        let mut parts = if encoder.kept() > 0 { vec![x] } else { Vec::new() };
        for turns in turns {
            // Whole turns are taken away without rounding, before any product with pi.
            let above = self.op("Add", &[&turns, &half]);
            let whole = self.op("Floor", &[&above]);
            let rest = self.op("Sub", &[&turns, &whole]);
            let angle = self.op("Mul", &[&rest, &turn]);
            parts.extend(["Sin", "Cos"].map(|op| self.op(op, &[&angle])));
        }
        self.join(&parts)
    }

    /// Adds rows of tables in the place of indices.
    fn embed(&mut self, embedder: &Embedder, x: &str) -> String {
        let mut parts = Vec::new();
        for part in embedder.parts() {
            parts.push(match part {
                Part::Numbers(inputs) => {
                    let count = inputs.len();
                    self.columns(x, &[count], &inputs.collect::<Vec<_>>())
                }
                Part::Row { embedding, table, .. } => {
                    // Without axes, so that rows of numbers are left.
                    let number = self.columns(x, &[], &[embedding.column]);
                    let index = self.op("Cast", &[&number]);
                    self.attribute(Attribute::int("to", INT64.into()));
                    let table = self.constant("embedding", &[embedding.categories, embedding.width], table);
                    self.op("Gather", &[&table, &index])
                }
            });
        }
        self.join(&parts)
    }

    /// Adds a choice of columns.
    fn columns(&mut self, x: &str, shape: &[usize], columns: &[usize]) -> String {
        let name = format!("columns_{}", self.constants.len());
        self.constants.push(Tensor::integers(name.clone(), shape, columns));
        let chosen = self.op("Gather", &[x, &name]);
        self.attribute(Attribute::int("axis", 1));
        chosen
    }

    /// Puts columns side by side.
    fn join(&mut self, parts: &[String]) -> String {
        let joined = self.op("Concat", &parts.iter().map(String::as_str).collect::<Vec<_>>());
        self.attribute(Attribute::int("axis", 1));
        joined
    }

    /// Gives the last node an attribute.
    fn attribute(&mut self, attribute: Attribute) {
        if let Some(node) = self.nodes.last_mut() {
            node.attribute.push(attribute);
        }
    }

    /// Adds a node, and returns the name of its output.
    fn op(&mut self, op: &str, inputs: &[&str]) -> String {
        let name = format!("{}_{}", op.to_lowercase(), self.nodes.len());
        self.node(&name, op, inputs);
        name
    }

    /// Adds a node whose output has a name.
    fn node(&mut self, name: &str, op: &str, inputs: &[&str]) {
        self.nodes.push(Node {
            input: inputs.iter().map(ToString::to_string).collect(),
            output: vec![name.into()],
            name: format!("node_{}", self.nodes.len()),
            op_type: op.into(),
            attribute: Vec::new(),
        });
    }

    /// Adds a constant, and returns its name.
    fn constant(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let name = format!("{name}_{}", self.constants.len());
        self.constants.push(Tensor::floats(name.clone(), shape, values));
        name
    }

    fn scalar(&mut self, value: f32) -> String {
        self.constant("scalar", &[], &[value])
    }

    fn standardize(&mut self, mut value: String, scaling: &InputScaling) -> String {
        let width = [scaling.mean.len()];
        if scaling.fills() {
            let fill = self.constant("fill", &width, &scaling.fill);
            let missing = self.op("IsNaN", &[&value]);
            value = self.op("Where", &[&missing, &fill, &value]);
        }
        for (name, op, numbers) in
            [("mean", "Sub", &scaling.mean), ("std", "Div", &scaling.std), ("shift", "Sub", &scaling.shift)]
        {
            let constant = self.constant(name, &width, numbers);
            value = self.op(op, &[&value, &constant]);
        }
        value
    }

    fn activation(&mut self, activation: Activation, z: String) -> String {
        match activation {
            Activation::Identity => z,
            Activation::Relu => self.op("Relu", &[&z]),
            Activation::LeakyRelu => {
                let y = self.op("LeakyRelu", &[&z]);
                self.attribute(Attribute::float("alpha", 0.01));
                y
            }
            Activation::Elu => self.op("Elu", &[&z]),
            Activation::Selu => self.op("Selu", &[&z]),
            Activation::Tanh => self.op("Tanh", &[&z]),
            Activation::Sigmoid => self.op("Sigmoid", &[&z]),
            Activation::Silu => {
                let s = self.op("Sigmoid", &[&z]);
                self.op("Mul", &[&z, &s])
            }
            Activation::Gelu => self.gelu(&z),
            Activation::GeluExact => {
                // z (1 + erf(z / sqrt(2))) / 2
                let (scale, one, half) =
                    (self.scalar(std::f32::consts::FRAC_1_SQRT_2), self.scalar(1.0), self.scalar(0.5));
                let scaled = self.op("Mul", &[&z, &scale]);
                let erf = self.op("Erf", &[&scaled]);
                let twice = self.op("Add", &[&erf, &one]);
                let share = self.op("Mul", &[&twice, &half]);
                self.op("Mul", &[&z, &share])
            }
            Activation::Softplus => self.op("Softplus", &[&z]),
            Activation::Sin => self.op("Sin", &[&z]),
        }
    }

    /// `z sigmoid(2 sqrt(2/pi) z (1 + 0.044715 z^2))`, the tanh form: opset 17 has no Gelu.
    fn gelu(&mut self, z: &str) -> String {
        let (cube, one, scale) = (self.scalar(0.044_715), self.scalar(1.0), self.scalar(1.595_769));
        let square = self.op("Mul", &[z, z]);
        let small = self.op("Mul", &[&square, &cube]);
        let sum = self.op("Add", &[&small, &one]);
        let product = self.op("Mul", &[&sum, z]);
        let scaled = self.op("Mul", &[&product, &scale]);
        let s = self.op("Sigmoid", &[&scaled]);
        self.op("Mul", &[z, &s])
    }
}
