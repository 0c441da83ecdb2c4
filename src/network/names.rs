//! The weights of a network by name: as Flax has them, and as PyTorch has them.

use super::{Network, Stage};
use crate::spec::{Activation, NORM_EPS};

/// How tensors are named and laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Naming {
    /// `layers.0.kernel` of shape `(in, out)` and `layers.0.bias`, dense layers counted from 0, as in a checkpoint.
    #[default]
    Flax,
    /// `0.weight` of shape `(out, in)` and `0.bias`, stages counted from 0: the names in the state of
    /// `torch.nn.Sequential(Linear, activation, Linear, ...)`.
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

/// All weights of a network, layer by layer.
pub fn tensors(network: &Network, naming: Naming) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let mut layers = 0;
    for (position, stage) in network.stages.iter().enumerate() {
        let Stage::Dense(dense) = stage else { continue };
        let (name, kernel, shape, values) = match naming {
            Naming::Flax => (format!("layers.{layers}"), "kernel", [dense.inputs, dense.outputs], dense.kernel.clone()),
            Naming::Pytorch => {
                let values = transposed(&dense.kernel, dense.outputs);
                (position.to_string(), "weight", [dense.outputs, dense.inputs], values)
            }
        };
        tensors.push(Tensor { name: format!("{name}.{kernel}"), shape: shape.to_vec(), values });
        let bias = dense.bias.clone();
        tensors.push(Tensor { name: format!("{name}.bias"), shape: vec![dense.outputs], values: bias });
        layers += 1;
    }
    tensors
}

/// A matrix of `columns` columns with rows and columns exchanged.
pub(crate) fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

/// The modules of PyTorch, to be given to `torch.nn.Sequential` in this order. `sin` has none there.
pub fn torch_modules(network: &Network) -> Vec<String> {
    let module = |stage: &Stage| match stage {
        Stage::Dense(dense) => format!("Linear({}, {})", dense.inputs, dense.outputs),
        Stage::LayerNorm { scale, .. } => format!("LayerNorm({}, eps={NORM_EPS:e})", scale.len()),
        // PyTorch has no modules for these.
        Stage::Encoding(_) | Stage::Fork | Stage::Join => "Identity()".into(),
        Stage::Activation(activation) => match activation {
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
        .into(),
    };
    network.stages.iter().map(module).collect()
}
