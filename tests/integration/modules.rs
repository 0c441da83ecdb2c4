//! The plans whose modules are checked: every kind of kernels, source and rule, and widths that are no multiple of a tile.

use std::sync::OnceLock;

use fori::plan::{Plan, Products, Sampling, Source, TrainStep};
use fori::rng::Key;
use fori::shader::{Shader, Walk};
use fori::spec::{Activation, LayerOptions, Loss, Model, Optimizer};
use naga::Module;
use naga::valid::ModuleInfo;

use crate::network::{ENCODED, embedded, model};

/// The walks of every plan.
pub const WALKS: [Walk; 2] = [Walk::Recorded, Walk::Persistent];

/// All kinds of kernels.
const PRODUCTS: [Products; 8] = [
    Products::Tiled { side: 8 },
    Products::Tiled { side: 16 },
    Products::Tiled { side: 32 },
    Products::Deep { side: 16 },
    Products::Broadcast { width: 4 },
    Products::Broadcast { width: 8 },
    Products::Broadcast { width: 32 },
    Products::Broadcast { width: 64 },
];

const NETWORKS: [&[usize]; 5] = [&[1, 1], &[3, 65, 1], &[257, 3, 65, 1], &[2, 64, 64, 1], &[65, 257]];

/// What there is around the dense layers of some plans.
const OPTIONS: [LayerOptions; 4] = [
    LayerOptions { dropout: 0.1, residual: true, ..LayerOptions::NONE },
    LayerOptions { layer_norm: true, ..LayerOptions::NONE },
    LayerOptions { residual: true, ..LayerOptions::NONE },
    LayerOptions { dropout: 0.5, layer_norm: true, residual: true, ..LayerOptions::NONE },
];

fn plan(step: TrainStep) -> Plan {
    Plan::new(step).expect("the plan is possible")
}

/// A plan whose remaining choices depend on `number`.
fn mixed(number: u32, widths: &[usize], products: Products, source: Source) -> Plan {
    let choose = |what: u32, of: usize| Key::from_seed(9).fold_in(what).bits(number) as usize % of;
    let activation = Activation::ALL[choose(0, Activation::ALL.len())];
    let optimizer = Optimizer::ALL[choose(1, Optimizer::ALL.len())];
    let batch_size = [1, 3, 64, 65, 257][choose(2, 5)];
    let loss = Loss::ALL[choose(6, Loss::ALL.len())];
    let loss = if source == Source::Linreg && !loss.is_elementwise() { Loss::Mse } else { loss };
    let step = TrainStep::new(model(widths, activation), loss, optimizer, batch_size, source);
    let sampling = Sampling::ALL[choose(7, Sampling::ALL.len())];
    let weighted = source != Source::Linreg && choose(8, 2) == 1;
    let step = TrainStep { sampling, weighted, label_smoothing: 0.1, ..step };
    let (models, keep_gradients, gap) = ([1, 2, 33][choose(3, 3)], choose(4, 2) == 1, choose(5, 3));
    let (clip_value, decay_bias) = (choose(6, 2) == 1, choose(7, 2) == 1);
    let (clip_norm, accumulate) = [(false, 1), (true, 1), (false, 4), (true, 3)][choose(8, 4)];
    let step = TrainStep { clip_value, clip_norm, accumulate, decay_bias, ..step };
    let model = Model { w0: [1.0, 30.0][choose(9, 2)], ..step.model };
    let step = TrainStep { model, models, keep_gradients, gap, products, ..step };
    plan(if let Source::Sequence { rows } = source { step.answering(rows, batch_size) } else { step })
}

/// Every kind of kernels with every source and network, and every pair of rules with either choice about gradients.
pub fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut number = 0..;
    for products in PRODUCTS {
        for source in [Source::Linreg, Source::Table { rows: 442 }, Source::Sequence { rows: 442 }] {
            for widths in NETWORKS {
                plans.extend(number.next().map(|number| mixed(number, widths, products, source)));
            }
        }
    }
    for &activation in Activation::ALL {
        for &optimizer in Optimizer::ALL {
            for keep_gradients in [false, true] {
                let model = model(&[3, 65, 1], activation);
                let step = TrainStep::new(model, Loss::Mse, optimizer, 64, Source::Linreg);
                plans.push(plan(TrainStep { keep_gradients, ..step }));
            }
        }
    }
    plans.extend(PRODUCTS.into_iter().zip(OPTIONS.into_iter().chain(ENCODED).cycle()).map(|(products, options)| {
        let model = model(&[3, 9, 9, 65, 65, 2], Activation::Gelu).with(options).expect("the options are possible");
        let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 33, Source::Linreg);
        plan(TrainStep { products, clip_norm: !matches!(products, Products::Broadcast { .. }), ..step })
    }));
    for products in PRODUCTS {
        for source in [Source::Table { rows: 442 }, Source::Sequence { rows: 442 }] {
            let model = embedded(&[5, 9, 65, 2], Activation::Gelu, &[(0, 7, 3), (1, 300, 5), (3, 2, 16)]);
            let step = TrainStep::new(model, Loss::Mse, Optimizer::Adam, 33, source);
            let clip_norm = !matches!(products, Products::Broadcast { .. }) && source.table_rows().is_some();
            let step = TrainStep { products, clip_norm, ..step };
            plans.push(plan(if let Source::Sequence { rows } = source { step.answering(rows, 33) } else { step }));
        }
    }
    for &sampling in Sampling::ALL {
        for loss in [Loss::Mse, Loss::SoftmaxCrossEntropy] {
            for source in [Source::Table { rows: 442 }, Source::Sequence { rows: 442 }] {
                let step = TrainStep::new(model(&[3, 65, 5], Activation::Gelu), loss, Optimizer::Adam, 64, source);
                plans.push(plan(TrainStep { sampling, weighted: true, ..step }));
            }
        }
    }
    plans
}

/// What a module was made of, for messages.
pub fn describe(plan: &Plan, walk: Walk) -> String {
    format!("{walk:?} of {:?}", plan.step)
}

/// A plan, how it is walked, and its validated module.
type Checked = (Plan, Walk, Module, ModuleInfo);

/// Calls `check` with every plan of the table in every walk, and its validated module.
pub fn for_each(check: impl Fn(&Plan, Walk, &Module, &ModuleInfo)) {
    static MODULES: OnceLock<Vec<Checked>> = OnceLock::new();
    let validate = |plan: Plan, walk| {
        let validated = Shader::of(&plan, walk).validate();
        let (module, info) = validated.unwrap_or_else(|e| panic!("{}: {e}", describe(&plan, walk)));
        (plan, walk, module, info)
    };
    let all = || plans().into_iter().flat_map(|plan| WALKS.map(|walk| validate(plan.clone(), walk))).collect();
    for (plan, walk, module, info) in MODULES.get_or_init(all) {
        check(plan, *walk, module, info);
    }
}
