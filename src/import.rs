//! Weights of other programs: a safetensors file with the names and layouts of Flax or of PyTorch.

use std::cmp::Ordering;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::arenas::Arenas;
use crate::checkpoint::{Checkpoint, Origin};
use crate::config::{ExecutorChoice, TrainConfig};
use crate::error::{Error, Result};
use crate::network::{Naming, Tensor, transposed};
use crate::outcome::Start;
use crate::spec::Model;
use crate::trainer::plan_of;
use crate::validation::Kept;

/// Reads the weights of a network: all tensors of [`Model::parameters`] and [`Model::constants`], by their names there.
///
/// Kernels are the tensors of two axes whose name ends with `kernel` (Flax, shape `(in, out)`) or `weight` (PyTorch, shape
/// `(out, in)`); without a naming, the one that occurs is taken. Their order is that of their names, where numbers are
/// compared as numbers: `0, 2, 10` and `fc1, fc2`. The bias of a layer has the same name but for its last part. Layer
/// normalization is found likewise, as tensors of one axis whose name ends with `scale` (Flax) or `weight` (PyTorch), and tables of
/// embeddings as those of two axes whose name ends with `embedding` (Flax), or with `weight` where there is no bias (PyTorch). Where
/// there are tensors of just the names of [`Naming::Flax`], others are not looked at.
///
/// # Errors
/// [`Error::Data`] when the file cannot be read, or does not have the layers of `model`; the text lists what it has.
pub fn read(path: &Path, naming: Option<Naming>, model: &Model) -> Result<Vec<Tensor>> {
    let refuse = |text: String| Error::Data(format!("{}: {text}", path.display()));
    if path.exists() && !path.is_file() {
        return Err(refuse("expected a safetensors file, found something else".into()));
    }
    let bytes = std::fs::read(path).map_err(|e| refuse(e.to_string()))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|e| refuse(format!("expected a safetensors file, as safetensors.numpy.save_file writes it: {e}")))?;
    weights(&file, naming, model).map_err(refuse)
}

/// A checkpoint before the first step, of which every model has the weights of a file.
///
/// # Errors
/// As [`read`] and [`plan_of`].
pub fn checkpoint(config: &TrainConfig, path: &Path, naming: Option<Naming>) -> Result<Checkpoint> {
    let members = config.members()?;
    let (tables, plan) = plan_of(config, members.len())?;
    let seeds: Vec<_> = members.iter().map(|member| member.seed).collect();
    let mut arenas = Arenas::initial(&plan, &seeds, tables.as_ref().map(|tables| &tables.train), 0.0)?;
    for Tensor { name, values, .. } in read(path, naming, &plan.step.model)? {
        (0..members.len()).for_each(|model| arenas.set(&plan, model, &name, &values));
    }
    let origin = Origin::new(config, tables.as_ref(), ExecutorChoice::Auto.name(), None);
    Ok(Checkpoint::capture(&origin, &plan, &arenas, &Start::fresh(members.len()).losses, Kept::default()))
}

fn weights(file: &SafeTensors<'_>, naming: Option<Naming>, model: &Model) -> Result<Vec<Tensor>, String> {
    let naming = naming.map_or_else(|| found_naming(file), Ok)?;
    let named = |name: String, shape: Vec<usize>, values| Tensor { name, shape, values };
    let mut tensors = Vec::new();
    let (kernels, tables) = kernels_and_tables(file, naming, model);
    expect_count(file, model.embeddings.len(), "embeddings", tables.len(), table_names(naming))?;
    expect_count(
        file,
        model.layers().len(),
        "dense layers",
        kernels.len(),
        &format!("two axes named ...{}", last_part(naming)),
    )?;
    for (layer, (name, (inputs, outputs))) in kernels.iter().zip(model.layers()).enumerate() {
        let values = kernel(file, naming, name, [inputs, outputs])?;
        tensors.push(named(format!("layers.{layer}.kernel"), vec![inputs, outputs], values));
        let values = tensor(file, &sibling(name, last_part(naming)), &[outputs])?;
        tensors.push(named(format!("layers.{layer}.bias"), vec![outputs], values));
    }
    let part = if naming == Naming::Pytorch { "weight" } else { "scale" };
    let (scales, layers) =
        (found(file, "norms", part, 1), (0..model.layers().len()).filter(|&layer| model.has_norm(layer)));
    let what = "layers with --layer-norm";
    expect_count(file, layers.clone().count(), what, scales.len(), &format!("one axis named ...{part}"))?;
    for (name, layer) in scales.iter().zip(layers) {
        let shape = vec![model.widths[layer + 1]];
        for (name, part) in [(name.clone(), "scale"), (sibling(name, part), "bias")] {
            tensors.push(named(format!("norms.{layer}.{part}"), shape.clone(), tensor(file, &name, &shape)?));
        }
    }
    for (i, (name, e)) in tables.iter().zip(&model.embeddings).enumerate() {
        let shape = vec![e.categories, e.width];
        let values = tensor(file, name, &shape)?;
        tensors.push(named(format!("embeddings.{i}.embedding"), shape, values));
    }
    for (name, shape) in model.constants() {
        let values = tensor(file, &name, &shape)?;
        tensors.push(named(name, shape, values));
    }
    Ok(tensors)
}

/// The names of the kernels, and of the tables of embeddings.
fn kernels_and_tables(file: &SafeTensors<'_>, naming: Naming, model: &Model) -> (Vec<String>, Vec<String>) {
    let kernels = found(file, "layers", last_part(naming), 2);
    match naming {
        Naming::Flax => (kernels, found(file, "embeddings", "embedding", 2)),
        // Both are called `weight`, and only dense layers have a bias.
        Naming::Pytorch if !model.embeddings.is_empty() => {
            kernels.into_iter().partition(|name| file.tensor(&sibling(name, last_part(naming))).is_ok())
        }
        Naming::Pytorch => (kernels, Vec::new()),
    }
}

/// What tables of embeddings are called, for an error.
fn table_names(naming: Naming) -> &'static str {
    match naming {
        Naming::Flax => "two axes named ...embedding",
        Naming::Pytorch => "two axes named ...weight without a bias",
    }
}

fn expect_count(file: &SafeTensors<'_>, has: usize, what: &str, found: usize, tensors: &str) -> Result<(), String> {
    if found == has {
        return Ok(());
    }
    Err(format!("the network has {has} {what}, and the file has {found} tensors of {tensors}: {}", listed(file)))
}

/// What the name of a kernel ends with.
fn last_part(naming: Naming) -> &'static str {
    match naming {
        Naming::Flax => "kernel",
        Naming::Pytorch => "weight",
    }
}

/// The name without its last part and the separator before it, if that is `part`.
fn prefix<'a>(name: &'a str, part: &str) -> Option<&'a str> {
    let prefix = name.strip_suffix(part)?;
    if prefix.is_empty() { Some("") } else { prefix.strip_suffix(['.', '/', '_']) }
}

fn is_named(file: &SafeTensors<'_>, name: &str, part: &str, axes: usize) -> bool {
    prefix(name, part).is_some() && file.tensor(name).is_ok_and(|tensor| tensor.shape().len() == axes)
}

fn found_naming(file: &SafeTensors<'_>) -> Result<Naming, String> {
    let found =
        Naming::ALL.iter().find(|naming| file.names().iter().any(|name| is_named(file, name, last_part(**naming), 2)));
    found.copied().ok_or_else(|| {
        format!(
            "it has no tensor of two axes whose name ends with kernel (Flax) or weight (PyTorch); it has {}",
            listed(file)
        )
    })
}

/// The names of the tensors of a number of axes that end with `part`, first layer first: the checkpoint's own where it has them,
/// as `layers.0.kernel`.
fn found(file: &SafeTensors<'_>, own: &str, part: &str, axes: usize) -> Vec<String> {
    let own = (0..).map(|layer| format!("{own}.{layer}.{part}"));
    let own: Vec<_> = own.take_while(|name| file.tensor(name).is_ok()).collect();
    if !own.is_empty() {
        return own;
    }
    let mut names: Vec<_> =
        file.names().into_iter().filter(|name| is_named(file, name, part, axes)).map(ToString::to_string).collect();
    names.sort_by(|a, b| by_numbers(a, b));
    names
}

/// The name of the bias beside a tensor whose name ends with `part`.
fn sibling(name: &str, part: &str) -> String {
    format!("{}bias", &name[..name.len() - part.len()])
}

/// The order of names in which runs of digits are numbers.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let parts = |text: &str| {
        let split = |a: char, b: char| a.is_ascii_digit() != b.is_ascii_digit();
        let mut parts = vec![String::new()];
        for c in text.chars() {
            let cut = parts.last().and_then(|part| part.chars().last()).is_some_and(|last| split(last, c));
            if cut {
                parts.push(String::new());
            }
            parts.iter_mut().last().into_iter().for_each(|part| part.push(c));
        }
        parts
    };
    let (a, b) = (parts(a), parts(b));
    let compare = |a: &String, b: &String| match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.cmp(&b),
        _ => a.cmp(b),
    };
    let differing = a.iter().zip(&b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// The kernel of a layer, of shape `(inputs, outputs)`.
fn kernel(
    file: &SafeTensors<'_>,
    naming: Naming,
    name: &str,
    [inputs, outputs]: [usize; 2],
) -> Result<Vec<f32>, String> {
    match naming {
        Naming::Flax => tensor(file, name, &[inputs, outputs]),
        Naming::Pytorch => Ok(transposed(&tensor(file, name, &[outputs, inputs])?, inputs)),
    }
}

/// The finite numbers of a tensor of a shape.
fn tensor(file: &SafeTensors<'_>, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
    let tensor = file.tensor(name).map_err(|_| format!("it lacks the tensor {name}; it has {}", listed(file)))?;
    if tensor.shape() != shape {
        let flipped = tensor.shape().iter().rev().eq(shape);
        let hint = if flipped && shape.len() == 2 { "; is its --naming the other one?" } else { "" };
        return Err(format!(
            "its tensor {name} has the shape {:?}, and the network asks for {shape:?}{hint}",
            tensor.shape()
        ));
    }
    let values = numbers(&tensor).ok_or_else(|| {
        format!(
            "its tensor {name} is of {:?}: expected F32, F64 or BF16; convert it before it is saved",
            tensor.dtype()
        )
    })?;
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("its tensor {name} has the number {value}: expected finite ones")),
        None => Ok(values),
    }
}

/// The numbers of a tensor, rounded to `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
fn numbers(tensor: &TensorView<'_>) -> Option<Vec<f32>> {
    let bytes = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => Some(bytemuck::pod_collect_to_vec(bytes)),
        Dtype::F64 => Some(bytemuck::pod_collect_to_vec::<u8, f64>(bytes).into_iter().map(|v| v as f32).collect()),
        Dtype::BF16 => {
            let widen = |v: u16| f32::from_bits(u32::from(v) << 16);
            Some(bytemuck::pod_collect_to_vec::<u8, u16>(bytes).into_iter().map(widen).collect())
        }
        _ => None,
    }
}

/// The first tensors with their shapes, for an error.
fn listed(file: &SafeTensors<'_>) -> String {
    let mut names = file.names();
    names.sort_by(|a, b| by_numbers(a, b));
    let shown = |name: &&str| {
        let shape = file.tensor(name).map_or_else(|_| Vec::new(), |tensor| tensor.shape().to_vec());
        format!("{} {shape:?}", name.chars().take(60).flat_map(char::escape_debug).collect::<String>())
    };
    let first: Vec<_> = names.iter().take(12).map(shown).collect();
    let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
    if first.is_empty() { "no tensor".into() } else { first.join(", ") + &more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_compared_as_numbers() {
        for (small, large) in
            [("0.weight", "2.weight"), ("2.weight", "10.weight"), ("fc1.w", "fc2.w"), ("a", "a1"), ("a", "b")]
        {
            assert_eq!(by_numbers(small, large), Ordering::Less, "{small} before {large}");
            assert_eq!(by_numbers(large, small), Ordering::Greater, "{large} after {small}");
        }
    }

    #[test]
    fn the_last_part_of_a_name_is_cut_with_its_separator() {
        for (name, want) in [
            ("layers.0.kernel", Some("layers.0")),
            ("params/Dense_0/kernel", Some("params/Dense_0")),
            ("kernel", Some("")),
            ("layers.0.bias", None),
            ("subkernel", None),
        ] {
            assert_eq!(prefix(name, "kernel"), want, "prefix of {name}");
        }
    }
}
