//! The weights in safetensors, as they are. The metadata says how they are used.

use std::collections::HashMap;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{Options, failed};
use crate::error::Result;
use crate::network::{Naming, Network, tensors, torch_modules};

/// The bytes of the file.
pub(super) fn write(network: &Network, options: &Options) -> Result<Vec<u8>> {
    let tensors = tensors(network, options.naming);
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.values.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let views = tensors.iter().zip(&bytes).map(|(tensor, bytes)| {
        Ok((
            &tensor.name,
            TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).map_err(|e| failed("safetensors", e))?,
        ))
    });
    let views: Vec<_> = views.collect::<Result<_>>()?;
    let json = |value: serde_json::Result<String>| value.map_err(|e| failed("safetensors", e));
    let mut metadata = HashMap::from([
        ("producer".into(), format!("fori {}", env!("CARGO_PKG_VERSION"))),
        ("fori_step".into(), options.step.to_string()),
        ("schema".into(), json(serde_json::to_string(&network.schema))?),
    ]);
    metadata.extend(match options.naming {
        Naming::Flax => {
            [("format".into(), "flax".into()), ("stages".into(), json(serde_json::to_string(&stages(network)))?)]
        }
        Naming::Pytorch => [
            ("format".into(), "pt".into()),
            ("sequential".into(), json(serde_json::to_string(&torch_modules(network)))?),
        ],
    });
    safetensors::serialize(views, Some(metadata)).map_err(|e| failed("safetensors", e))
}

/// The stages by name.
pub(super) fn stages(network: &Network) -> Vec<String> {
    use crate::network::Stage;
    let stage = |stage: &Stage| match stage {
        Stage::Dense(_) => "dense".into(),
        Stage::Activation(activation) => activation.to_string(),
        Stage::Encoding(_) => "encoding".into(),
        Stage::LayerNorm { .. } => "layer_norm".into(),
        Stage::Fork => "fork".into(),
        Stage::Join => "join".into(),
    };
    network.stages.iter().map(stage).collect()
}
