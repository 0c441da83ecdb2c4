//! Compares the arenas of an adapter with the f64 oracle, op by op.

use crate::arenas::Arenas;
use crate::cpu::Cpu;
use crate::plan::{Arena, OpKind, Plan};
use crate::spec::Hyperparameters;

/// How far the results of one kind of op are from those of the oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviation {
    /// The function of the op, as in `shaders/`.
    pub op: &'static str,
    /// The tensor that is farthest off.
    pub worst: String,
    /// The largest difference in it, as a share of its largest value; infinite where a result is no number.
    pub relative: f64,
}

/// Checks each op of one step by itself: the oracle gets what the adapter computed before that op, so that a fault shows
/// only in the op that has it. `before` and `after` are the arenas around the step, `losses` those of the models.
pub fn one_step(
    plan: &Plan,
    hyper: &[Hyperparameters],
    before: &Arenas<f64>,
    after: &Arenas<f32>,
    losses: &[f32],
) -> Vec<Deviation> {
    let mut found: Vec<Deviation> = Vec::new();
    let mut arenas = before.clone();
    for op in &plan.ops {
        let mut oracle = Cpu::new(plan.clone(), hyper.to_vec(), arenas);
        let wanted: Vec<_> = (0..plan.step.models).filter_map(|model| oracle.run_op(model, op.kind)).collect();
        let results = results(plan, op.kind);
        let mut add = |worst: &str, relative| merge(&mut found, op.kind.function(), worst, relative);
        for &name in &results {
            add(name, tensor(plan, name, after, oracle.arenas()));
        }
        if op.kind == OpKind::Loss {
            add("loss", relative(losses, &wanted));
        }
        if op.kind == OpKind::Advance {
            add("state", if after.state == oracle.arenas().state { 0.0 } else { f64::INFINITY });
        }
        arenas = oracle.arenas().clone();
        adopt(plan, &results, after, &mut arenas);
    }
    found
}

/// How far the arenas are from those of the oracle as a whole: the tensor that is farthest off, and by how much.
pub fn whole(plan: &Plan, got: &Arenas<f32>, wanted: &Arenas<f64>) -> Deviation {
    let mut found = Vec::new();
    for t in &plan.tensors {
        merge(&mut found, "train", &t.name, tensor(plan, &t.name, got, wanted));
    }
    if got.state != wanted.state {
        merge(&mut found, "train", "state", f64::INFINITY);
    }
    found.pop().unwrap_or(Deviation { op: "train", worst: String::new(), relative: 0.0 })
}

/// Keeps the worst deviation of each op.
fn merge(found: &mut Vec<Deviation>, op: &'static str, worst: &str, relative: f64) {
    match found.iter_mut().find(|d| d.op == op) {
        Some(before) if before.relative >= relative => {}
        Some(before) => (before.worst, before.relative) = (worst.into(), relative),
        None => found.push(Deviation { op, worst: worst.into(), relative }),
    }
}

/// The tensors that an op leaves behind at the end of a step. The slopes of a forward pass are deltas by then.
fn results(plan: &Plan, op: OpKind) -> Vec<&str> {
    let one_of = |names: &[String]| {
        let fits = |t: &&crate::plan::Tensor| names.contains(&t.name);
        plan.tensors.iter().filter(fits).map(|t| t.name.as_str()).collect()
    };
    match op {
        OpKind::Sample => one_of(&["x".into(), "y".into()]),
        OpKind::Encode => one_of(&["encoded".into()]),
        OpKind::DenseForward { layer } if plan.layers[layer].norm.is_some() => Vec::new(),
        OpKind::DenseForward { layer } => one_of(&[format!("h{}", layer + 1)]),
        OpKind::LayerNormForward { layer } => {
            one_of(&["h", "normalized", "inverse"].map(|name| format!("{name}{}", layer + 1)))
        }
        OpKind::Loss => one_of(&[format!("delta{}", plan.layers.len())]),
        OpKind::DenseBackward { layer: 0 } => one_of(&["encoded_delta".into()]),
        OpKind::DenseBackward { layer } if plan.layers[layer - 1].norm.is_some() => {
            one_of(&[format!("norm_delta{layer}")])
        }
        OpKind::DenseBackward { layer } => one_of(&[format!("delta{layer}")]),
        OpKind::LayerNormBackward { layer } => one_of(&[format!("delta{}", layer + 1)]),
        OpKind::DenseUpdate => updated(plan, "layers."),
        OpKind::LayerNormUpdate => updated(plan, "norms."),
        OpKind::EmbeddingUpdate => updated(plan, "embeddings."),
        OpKind::NormParts | OpKind::Norm => one_of(&[op.to_string()]),
        OpKind::Update => {
            let updated = [Arena::Params, Arena::Optimizer];
            plan.tensors.iter().filter(|t| updated.contains(&t.arena)).map(|t| t.name.as_str()).collect()
        }
        OpKind::Answer => one_of(&["answers".into()]),
        OpKind::Advance => Vec::new(),
    }
}

/// Parameters of one kind with their gradients and what the optimizer keeps of them.
fn updated<'a>(plan: &'a Plan, kind: &str) -> Vec<&'a str> {
    let arenas = [Arena::Params, Arena::Optimizer, Arena::Grads];
    let fits = |t: &&crate::plan::Tensor| arenas.contains(&t.arena) && t.name.contains(kind);
    plan.tensors.iter().filter(fits).map(|t| t.name.as_str()).collect()
}

/// Gives the oracle the adapter's results, those that are numbers.
fn adopt(plan: &Plan, names: &[&str], from: &Arenas<f32>, to: &mut Arenas<f64>) {
    for &name in names {
        for model in 0..plan.step.models {
            let values = from.get(plan, model, name);
            if values.iter().all(|v| v.is_finite()) {
                to.set(plan, model, name, &values);
            }
        }
    }
}

/// The deviation of a named tensor of all models.
fn tensor(plan: &Plan, name: &str, got: &Arenas<f32>, wanted: &Arenas<f64>) -> f64 {
    let models = 0..plan.step.models;
    let one = |model| relative(&got.get(plan, model, name), &wanted.get(plan, model, name));
    models.map(one).fold(0.0, f64::max)
}

/// The largest difference as a share of the largest wanted value; infinite where a number is missing or none.
fn relative(got: &[f32], wanted: &[f64]) -> f64 {
    let numbers = got.iter().all(|v| v.is_finite()) && wanted.iter().all(|v| v.is_finite());
    if got.len() != wanted.len() || !numbers {
        return f64::INFINITY;
    }
    let largest = wanted.iter().fold(0.0_f64, |a, w| a.max(w.abs()));
    let difference = got.iter().zip(wanted).fold(0.0_f64, |a, (&g, w)| a.max((f64::from(g) - w).abs()));
    if difference == 0.0 { 0.0 } else { difference / largest }
}
