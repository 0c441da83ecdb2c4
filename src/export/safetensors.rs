//! The weights in safetensors, as they are. The metadata says how they are used.

use std::collections::HashMap;

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{Options, failed};
use crate::error::{Error, Result};
use crate::network::{Naming, Network, Stage, Waves, tensors, torch_modules};

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
        ("stages".into(), json(serde_json::to_string(&stages(network)))?),
    ]);
    metadata.extend(match options.naming {
        Naming::Flax => vec![("format".into(), "flax".into())],
        Naming::Pytorch => {
            vec![
                ("format".into(), "pt".into()),
                ("sequential".into(), json(serde_json::to_string(&modules(network)?))?),
            ]
        }
    });
    safetensors::serialize(views, Some(metadata)).map_err(|e| failed("safetensors", e))
}

/// The modules of `torch.nn.Sequential`.
fn modules(network: &Network) -> Result<Vec<String>> {
    torch_modules(network).ok_or_else(|| {
        Error::Usage(
            "--naming pytorch names the modules of a torch.nn.Sequential, which has none for --residual and --encoding: \
             use --naming flax, whose metadata lists the stages"
                .into(),
        )
    })
}

/// The stages in order: `dense`, `layer_norm`, names of activations, `fork` (keep the row), `join` (add the row that was kept), and
/// `fourier 64` or `frequency 6`, with `include_input` after it where the inputs are kept, and `embedding 0 3` with the columns whose
/// indices a row of each table replaces.
pub(super) fn stages(network: &Network) -> Vec<String> {
    let stage = |stage: &Stage| match stage {
        Stage::Dense(_) => "dense".into(),
        Stage::Activation(activation) => activation.to_string(),
        Stage::Encoding(encoder) => {
            let waves = match encoder.waves() {
                Waves::Fourier { features, .. } => format!("fourier {features}"),
                Waves::Octaves(octaves) => format!("frequency {octaves}"),
            };
            if encoder.kept() > 0 { waves + " include_input" } else { waves }
        }
        Stage::Embedding(embedder) => {
            let columns: Vec<_> = embedder.tables().iter().map(|(embedding, _)| embedding.column.to_string()).collect();
            format!("embedding {}", columns.join(" "))
        }
        Stage::LayerNorm { .. } => "layer_norm".into(),
        Stage::Fork => "fork".into(),
        Stage::Join => "join".into(),
    };
    network.stages.iter().map(stage).collect()
}
