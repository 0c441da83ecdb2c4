//! Everything as JSON.

use serde_json::{Value, json};

use super::{Options, failed};
use crate::error::Result;
use crate::network::{Embedder, Encoder, Network, Stage, Waves};
use crate::spec::{Embedding, NORM_EPS};

/// The text, with a row of a kernel per line of input.
pub(super) fn write(network: &Network, options: &Options) -> Result<Vec<u8>> {
    let stage = |stage: &Stage| match stage {
        Stage::Dense(dense) => {
            let rows: Vec<&[f32]> = dense.kernel.chunks_exact(dense.outputs).collect();
            json!({ "kind": "dense", "inputs": dense.inputs, "outputs": dense.outputs, "kernel": rows, "bias": dense.bias })
        }
        Stage::Encoding(encoder) => encoding(encoder),
        Stage::Embedding(embedder) => embedding(embedder),
        Stage::LayerNorm { scale, bias } => {
            json!({ "kind": "layer_norm", "epsilon": NORM_EPS, "scale": scale, "bias": bias })
        }
        Stage::Fork => json!({ "kind": "fork" }),
        Stage::Join => json!({ "kind": "join" }),
        Stage::Activation(activation) => json!({ "kind": "activation", "name": activation.name() }),
    };
    let value = json!({
        "format": "fori network",
        "fori_version": env!("CARGO_PKG_VERSION"),
        "step": options.step,
        "input_names": network.slots().into_iter().map(|slot| slot.name).collect::<Vec<_>>(),
        "output_names": network.output_names(),
        "schema": network.schema,
        "stages": network.stages.iter().map(stage).collect::<Vec<Value>>(),
    });
    let mut text = serde_json::to_vec(&value).map_err(|e| failed("json", e))?;
    text.push(b'\n');
    Ok(text)
}

/// An encoding, with a row of the frequencies per input.
fn encoding(encoder: &Encoder) -> Value {
    let include_input = encoder.kept() > 0;
    match encoder.waves() {
        Waves::Fourier { features, frequencies } => {
            let rows: Vec<&[f32]> = frequencies.chunks_exact(features).collect();
            json!({ "kind": "encoding", "name": "fourier", "include_input": include_input, "frequencies": rows })
        }
        Waves::Octaves(octaves) => {
            json!({ "kind": "encoding", "name": "frequency", "include_input": include_input, "octaves": octaves })
        }
    }
}

/// Tables, with a row per category, and the column whose index a row replaces.
fn embedding(embedder: &Embedder) -> Value {
    let table = |(embedding, table): &(Embedding, Vec<f32>)| {
        let rows: Vec<&[f32]> = table.chunks_exact(embedding.width).collect();
        json!({ "column": embedding.column, "embedding": rows })
    };
    json!({ "kind": "embedding", "tables": embedder.tables().iter().map(table).collect::<Vec<_>>() })
}
