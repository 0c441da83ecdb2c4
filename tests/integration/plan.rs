//! What a plan promises: its layout, its ops, and the configs that it refuses.

use fori::config::TrainConfig;
use fori::error::Error;
use fori::plan::{Arena, MAX_BATCH, OpKind, Plan, Products, ROW_ALIGNMENT, Source, Tensor, TrainStep};
use fori::spec::{Activation, Hyperparameters, Loss, Model, Optimizer};

use crate::network::model;

/// Widths, batch size, models and gap.
const TABLE: [(&[usize], usize, usize, usize); 8] = [
    (&[2, 64, 64, 1], 64, 1, 0),
    (&[1, 1], 1, 1, 1),
    (&[3, 5, 1], 17, 3, 2),
    (&[1, 7, 65, 3, 2], 3, 2, 0),
    (&[257, 3], 31, 1, 5),
    (&[4, 2], 65, 7, 0),
    (&[65, 257, 129, 31, 10], 257, 2, 3),
    (&[5, 4, 3, 2, 1, 2, 3], 16, 1, 1),
];

/// Plans of the table for each source, optimizer and choice about the gradients.
fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for (widths, batch_size, models, gap) in TABLE {
        for source in [Source::Linreg, Source::Table { rows: 101 }] {
            for (&optimizer, keep_gradients) in Optimizer::ALL.iter().zip([true, false].into_iter().cycle()) {
                let model = model(widths, Activation::Tanh);
                let step = TrainStep::new(model, Loss::Mse, optimizer, batch_size, source);
                let step = TrainStep { models, gap, keep_gradients, ..step };
                plans.push(Plan::new(step).expect("the plan is possible"));
            }
        }
    }
    plans
}

fn of_arena(plan: &Plan, arena: Arena) -> Vec<&Tensor> {
    let mut tensors: Vec<_> = plan.tensors.iter().filter(|t| t.arena == arena).collect();
    tensors.sort_by_key(|t| t.offset);
    tensors
}

#[test]
fn rows_are_whole_vectors() {
    for plan in plans() {
        assert!(plan.rows().is_multiple_of(ROW_ALIGNMENT), "rows of {:?}", plan.step);
        assert!(plan.rows() >= plan.step.batch_size, "rows of {:?}", plan.step);
        for tensor in &plan.tensors {
            let (name, stride) = (&tensor.name, tensor.stride);
            assert!(4 * stride >= tensor.columns, "{name}: a row of {} does not fit", tensor.columns);
            assert!(4 * stride < tensor.columns + 4, "{name}: a row of {} takes {stride} vectors", tensor.columns);
            let indices: Vec<_> = tensor.indices().collect();
            assert_eq!(indices.len(), tensor.rows * tensor.columns, "{name}: count of numbers");
            assert_eq!(indices.first(), Some(&(4 * tensor.offset)), "{name}: the first number");
            assert!(indices.is_sorted_by(|a, b| a < b), "{name}: row-major order");
        }
    }
}

#[test]
fn tensors_lie_apart_and_inside_their_arena() {
    for plan in plans() {
        let gap = plan.step.gap;
        for arena in Arena::ALL {
            let mut end = 0;
            for tensor in of_arena(&plan, arena) {
                let place = format!("{} of {:?}", tensor.name, plan.step);
                assert!(tensor.offset >= end + gap, "{place}: starts at {}, gap from {end}", tensor.offset);
                end = tensor.offset + tensor.padded_rows * tensor.stride;
            }
            let size = plan.sizes.of(arena);
            assert!(size >= end + if end > 0 { gap } else { 1 }, "{arena} of {:?}: {size} vectors", plan.step);
        }
    }
}

#[test]
fn state_and_gradients_have_the_layout_of_the_parameters() {
    for plan in plans() {
        let size = plan.sizes.of(Arena::Params);
        let slots = plan.step.optimizer.state_names();
        for tensor in of_arena(&plan, Arena::Params) {
            for (slot, state) in slots.iter().enumerate() {
                let name = format!("{state}.{}", tensor.name);
                let copy = plan.tensor(&name).unwrap_or_else(|| panic!("no {name}"));
                assert_eq!(copy.offset, tensor.offset + slot * size, "{name}: offset");
                assert_eq!((copy.rows, copy.columns), (tensor.rows, tensor.columns), "{name}: shape");
            }
            let grads = plan.tensor(&format!("grads.{}", tensor.name));
            assert_eq!(grads.is_some(), plan.step.keep_gradients, "gradient of {}", tensor.name);
            assert!(grads.is_none_or(|g| g.offset == tensor.offset), "gradient of {}: offset", tensor.name);
        }
        assert_eq!(plan.sizes.of(Arena::Optimizer), (slots.len() * size).max(1), "size of the optimizer arena");
    }
}

#[test]
fn layers_are_linked_by_their_tensors() {
    for plan in plans() {
        let offset = |name: String| plan.tensor(&name).unwrap_or_else(|| panic!("no {name}")).offset;
        let widths: Vec<_> = plan.step.model.layers().collect();
        assert_eq!(plan.layers.len(), widths.len(), "layers");
        let mut input = offset("x".into());
        for (i, (layer, (inputs, outputs))) in plan.layers.iter().zip(widths).enumerate() {
            assert_eq!((layer.inputs, layer.outputs), (inputs, outputs), "widths of layer {i}");
            assert_eq!(layer.input, input, "input of layer {i}");
            assert_eq!(layer.output, offset(format!("h{}", i + 1)), "output of layer {i}");
            assert_eq!(layer.delta, offset(format!("delta{}", i + 1)), "delta of layer {i}");
            assert_eq!(layer.kernel, offset(format!("layers.{i}.kernel")), "kernel of layer {i}");
            assert_eq!(layer.bias, offset(format!("layers.{i}.bias")), "bias of layer {i}");
            input = layer.output;
        }
    }
}

#[test]
fn names_of_tensors_are_unique() {
    for plan in plans() {
        let mut names: Vec<_> = plan.tensors.iter().map(|t| t.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "a name stands twice in {names:?}");
    }
}

#[test]
fn ops_are_in_the_order_of_a_step() {
    for plan in plans() {
        let layers = plan.layers.len();
        let mut want = vec![OpKind::Sample];
        want.extend((0..layers).map(|layer| OpKind::DenseForward { layer }));
        want.push(OpKind::Loss);
        want.extend((1..layers).rev().map(|layer| OpKind::DenseBackward { layer }));
        want.extend([OpKind::DenseUpdate, OpKind::Advance]);
        let kinds: Vec<_> = plan.ops.iter().map(|op| op.kind).collect();
        assert_eq!(kinds, want, "ops of {:?}", plan.step.model.widths);
        assert!(kinds.len() <= 3 * layers + 2, "{} dispatches for {layers} layers", kinds.len());
        assert!(plan.ops.iter().all(|op| op.tiles > 0 && op.trips > 0), "an op without work: {:?}", plan.ops);
    }
}

#[test]
fn clipping_by_norm_and_accumulation_have_ops_of_their_own() {
    let tail = |clip_norm, accumulate| {
        let step = TrainStep::new(model(&[3, 65, 2], Activation::Relu), Loss::Mse, Optimizer::Adam, 5, Source::Linreg);
        let plan = Plan::new(TrainStep { clip_norm, accumulate, ..step }).expect("the plan is possible");
        let kinds: Vec<_> = plan.ops.iter().skip(6).map(|op| op.kind).collect();
        (kinds, plan.tensor("norm").is_some(), plan.tensor("acc_grads.layers.1.bias").is_some())
    };
    let (norm, update) = ([OpKind::NormParts, OpKind::Norm], [OpKind::Update, OpKind::Advance]);
    assert_eq!(tail(false, 1), (vec![OpKind::Advance], false, false), "a fused update");
    assert_eq!(tail(true, 1), ([norm, update].concat(), true, false), "the global norm");
    assert_eq!(tail(false, 2), (update.to_vec(), false, true), "accumulation");
    assert_eq!(tail(true, 2), ([norm, update].concat(), true, true), "both");
    let step = TrainStep::new(model(&[2, 1], Activation::Relu), Loss::Mse, Optimizer::Adam, 5, Source::Linreg);
    assert_usage(Plan::new(TrainStep { accumulate: 0, ..step }), "--accumulate 0");
}

#[test]
fn the_default_step_has_nine_dispatches() {
    let (table, plan) = fori::trainer::plan_of(&TrainConfig::default(), 1).expect("the default is possible");
    assert!(table.is_none(), "the default draws its data");
    assert_eq!(plan.ops.len(), 9, "{plan}");
    assert_eq!(plan.sizes.of(Arena::Grads), 1, "gradients are not stored");
    assert_eq!(plan.step.model.parameter_count(), 4417, "parameters");
    // Twice the products of 64 rows; the first layer has no backward product.
    assert_eq!(plan.flops(), 2 * 64 * (2 * 2 * 64 + 3 * 64 * 64 + 3 * 64), "floating-point operations");
}

#[test]
fn tiles_cover_every_product() {
    let tiled = [8, 16, 32].map(|side| Products::Tiled { side });
    let deep = [8, 16].map(|side| Products::Deep { side });
    let products = tiled.into_iter().chain(deep).chain([4, 32].map(|width| Products::Broadcast { width }));
    for (widths, batch_size, ..) in TABLE {
        for products in products.clone() {
            let model = model(widths, Activation::Relu);
            let step = TrainStep::new(model, Loss::Mse, Optimizer::Sgd, batch_size, Source::Linreg);
            let plan = Plan::new(TrainStep { products, ..step }).expect("the plan is possible");
            let (rows, columns) = match products {
                Products::Tiled { side } | Products::Deep { side } => (4 * side, 4 * side),
                Products::Broadcast { width } => (2 * width, 16),
            };
            for op in &plan.ops {
                let width = match op.kind {
                    OpKind::DenseForward { layer } => plan.layers[layer].outputs,
                    OpKind::DenseBackward { layer } => plan.layers[layer].inputs,
                    _ => continue,
                };
                let want = plan.rows().div_ceil(rows) * width.div_ceil(columns);
                assert_eq!(op.tiles, want, "{} of {widths:?} batch {batch_size} on {products:?}", op.kind);
            }
        }
    }
}

/// Asserts that a thing is refused as a matter of usage, and that the text names `word`.
fn assert_usage<T>(result: Result<T, Error>, word: &str) {
    match result {
        Err(Error::Usage(text)) => assert!(text.contains(word), "`{text}` does not name `{word}`"),
        Err(other) => panic!("expected a usage error about `{word}`, got {other:?}"),
        Ok(_) => panic!("expected a usage error about `{word}`"),
    }
}

#[test]
fn impossible_plans_are_refused() {
    let plan = |batch_size, widths: &[usize], models| {
        let model = model(widths, Activation::Gelu);
        let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, batch_size, Source::Linreg);
        Plan::new(TrainStep { models, ..step })
    };
    assert_usage(plan(0, &[2, 1], 1), "--batch-size 0");
    assert_usage(plan(MAX_BATCH + 1, &[2, 1], 1), "--batch-size 1048577");
    assert_usage(plan(MAX_BATCH, &[2, 4096, 1], 1), "activations arena");
    assert_usage(plan(64, &[2, 1024, 1024, 1], 1000), "arena");
    assert!(plan(MAX_BATCH, &[2, 1], 1).is_ok(), "the largest batch is possible");
}

#[test]
fn impossible_kernels_are_refused() {
    let plan = |products| {
        let step = TrainStep::new(model(&[2, 1], Activation::Relu), Loss::Mse, Optimizer::Sgd, 3, Source::Linreg);
        Plan::new(TrainStep { products, ..step })
    };
    assert_usage(plan(Products::Tiled { side: 7 }), "tiled 7 kernels");
    assert_usage(plan(Products::Tiled { side: 64 }), "expected tiled 8, 16 or 32");
    assert_usage(plan(Products::Deep { side: 32 }), "deep 8 or 16");
    assert_usage(plan(Products::Broadcast { width: 2 }), "broadcast 2 kernels");
    assert!(plan(Products::Broadcast { width: 64 }).is_ok(), "the width of many GPUs");
}

#[test]
fn impossible_widths_are_refused() {
    let new = |inputs, hidden: &[usize], outputs| Model::new(inputs, hidden, outputs, Activation::Gelu);
    assert_usage(new(0, &[], 1), "width 0");
    assert_usage(new(1, &[4, 0], 1), "width 0");
    assert_usage(new(1, &[], 0), "width 0");
    assert_usage(new(1, &[16_385], 1), "width 16385");
    assert!(new(1, &[16_384], 1).is_ok(), "the widest layer is possible");
}

#[test]
fn a_plan_prints_its_ops_and_arenas() {
    for plan in plans() {
        let text = plan.to_string();
        for op in &plan.ops {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(&op.kind.to_string()));
            let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
            assert_eq!(words.get(1), Some(&op.tiles.to_string().as_str()), "tiles of {} in\n{text}", op.kind);
        }
        for arena in Arena::ALL {
            assert!(text.contains(arena.name()), "no {arena} in\n{text}");
        }
        assert!(text.contains(&format!("{} dispatches", plan.ops.len())), "no dispatches in\n{text}");
    }
}

/// A sweep of two hyperparameters over seeds 5, 6 and 7.
fn sweep() -> TrainConfig {
    let sweep = vec![("learning_rate".into(), vec![1e-2, 1e-3]), ("b1".into(), vec![0.5, 0.9])];
    TrainConfig { seed: 5, ensemble: 3, sweep, ..TrainConfig::default() }
}

#[test]
fn members_are_the_product_with_the_last_name_and_the_seed_fastest() {
    let members = sweep().members().expect("the sweep is possible");
    let got: Vec<_> = members.iter().map(|m| (m.hyper.learning_rate, m.hyper.b1, m.seed)).collect();
    let mut want = Vec::new();
    for learning_rate in [1e-2, 1e-3] {
        for b1 in [0.5, 0.9] {
            want.extend([5, 6, 7].map(|seed| (learning_rate, b1, seed)));
        }
    }
    assert_eq!(got, want, "learning rate, b1 and seed of each member");
    assert!(members.iter().all(|m| m.hyper.b2 == Hyperparameters::default().b2), "what is not swept stays");
}

#[test]
fn impossible_members_are_refused() {
    let swept = |name: &str, values: &[f64]| {
        TrainConfig { sweep: vec![(name.into(), values.to_vec())], ..TrainConfig::default() }.members()
    };
    assert_usage(TrainConfig { ensemble: 0, ..TrainConfig::default() }.members(), "--ensemble 0");
    assert_usage(swept("warmth", &[0.5]), "unknown hyperparameter `warmth`");
    assert_usage(swept("b1", &[0.5, 1.0]), "b1 1");
    assert_usage(swept("learning_rate", &[-1.0]), "learning_rate -1");
    assert_usage(swept("eps", &[f64::NAN]), "eps NaN");
    assert_usage(swept("learning_rate", &[]), "--sweep learning_rate= trains nothing");
    let seeds = TrainConfig { seed: u64::MAX, ensemble: 2, ..TrainConfig::default() }.members();
    let seeds: Vec<_> = seeds.expect("any seed is possible").iter().map(|m| m.seed).collect();
    assert_eq!(seeds, [u64::MAX, 0], "seeds wrap around");
}
