//! The weights of a network by name: as Flax has them, and as PyTorch has them.

use super::{Dense, Network, Stage, Waves};
use crate::spec::{Activation, FREQUENCIES, NORM_EPS};

/// How tensors are named and laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// `layers.0.kernel` of shape `(in, out)` and `layers.0.bias`, dense layers counted from 0, as in a checkpoint;
    /// `norms.0.scale` and `norms.0.bias` of the normalization after them, `embeddings.0.embedding` of shape
    /// `(categories, width)`, and `frequencies` of random Fourier features.
    #[default]
    Flax,
    /// `0.weight` of shape `(out, in)` and `0.bias`, stages counted from 0: the names in the state of
    /// `torch.nn.Sequential(Linear, LayerNorm, activation, Linear, ...)`. The tables of embeddings, which come before these modules,
    /// are `embeddings.0.weight`, as in the state of `torch.nn.ModuleList([Embedding, ...])`.
    Pytorch,
}

crate::spec::named_enum!(Naming, "naming", Flax => "flax", Pytorch => "pytorch");

/// A named tensor, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers.
    pub values: Vec<f32>,
}

/// All weights of a network, stage by stage.
pub fn tensors(network: &Network, naming: Naming) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let mut layers = 0;
    // Those of PyTorch are counted without what is before its modules.
    let mut position = 0;
    for stage in &network.stages {
        let mut add = |name: String, shape: &[usize], values: &[f32]| {
            tensors.push(Tensor { name, shape: shape.to_vec(), values: values.to_vec() });
        };
        match stage {
            Stage::Dense(Dense { inputs, outputs, kernel, bias }) => {
                let name = match naming {
                    Naming::Flax => format!("layers.{layers}"),
                    Naming::Pytorch => position.to_string(),
                };
                match naming {
                    Naming::Flax => add(format!("{name}.kernel"), &[*inputs, *outputs], kernel),
                    Naming::Pytorch => {
                        add(format!("{name}.weight"), &[*outputs, *inputs], &transposed(kernel, *outputs));
                    }
                }
                add(format!("{name}.bias"), &[*outputs], bias);
                layers += 1;
            }
            Stage::LayerNorm { scale, bias } => {
                let (name, part) = match naming {
                    // It follows the product of its layer.
                    Naming::Flax => (format!("norms.{}", usize::saturating_sub(layers, 1)), "scale"),
                    Naming::Pytorch => (position.to_string(), "weight"),
                };
                add(format!("{name}.{part}"), &[scale.len()], scale);
                add(format!("{name}.bias"), &[bias.len()], bias);
            }
            Stage::Encoding(encoder) => {
                if let Waves::Fourier { features, frequencies } = encoder.waves() {
                    add(FREQUENCIES.into(), &[encoder.inputs(), features], &frequencies);
                }
            }
            Stage::Embedding(embedder) => {
                let part = match naming {
                    Naming::Flax => "embedding",
                    Naming::Pytorch => "weight",
                };
                for (i, (embedding, table)) in embedder.tables().iter().enumerate() {
                    add(format!("embeddings.{i}.{part}"), &[embedding.categories, embedding.width], table);
                }
            }
            Stage::Activation(_) | Stage::Fork | Stage::Join => {}
        }
        position += usize::from(!matches!(stage, Stage::Embedding(_)));
    }
    tensors
}

/// A matrix of `columns` columns with rows and columns exchanged.
pub(crate) fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

/// The modules of PyTorch, to be given to `torch.nn.Sequential` in this order, after the embeddings if there are some. `sin` has
/// none there. `None` where the network is no chain of modules: with residual connections or an encoding of the inputs.
pub fn torch_modules(network: &Network) -> Option<Vec<String>> {
    let module = |stage: &Stage| match stage {
        Stage::Dense(dense) => Some(format!("Linear({}, {})", dense.inputs, dense.outputs)),
        Stage::LayerNorm { scale, .. } => Some(format!("LayerNorm({}, eps={NORM_EPS:e})", scale.len())),
        Stage::Activation(activation) => Some(torch_activation(*activation).into()),
        Stage::Encoding(_) | Stage::Embedding(_) | Stage::Fork | Stage::Join => None,
    };
    network.stages.iter().filter(|stage| !matches!(stage, Stage::Embedding(_))).map(module).collect()
}

fn torch_activation(activation: Activation) -> &'static str {
    match activation {
        Activation::Identity => "Identity()",
        Activation::Relu => "ReLU()",
        Activation::LeakyRelu => "LeakyReLU(0.01)",
        Activation::Elu => "ELU()",
        Activation::Selu => "SELU()",
        Activation::Tanh => "Tanh()",
        Activation::Sigmoid => "Sigmoid()",
        Activation::Silu => "SiLU()",
        Activation::Gelu => "GELU(approximate='tanh')",
        Activation::GeluExact => "GELU()",
        Activation::Softplus => "Softplus()",
        Activation::Sin => "Sin()",
    }
}
