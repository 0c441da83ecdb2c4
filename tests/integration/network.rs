//! Networks with given parameters and a given batch, on the f64 oracle.

use std::collections::HashMap;

use fori::arenas::Arenas;
use fori::cpu::Cpu;
use fori::plan::{Arena, OpKind, Plan, Source, TrainStep};
use fori::rng::Key;
use fori::spec::{Activation, Embedding, Hyperparameters, InputEncoding, LayerOptions, Loss, Model, Optimizer};

use crate::common::{golden, singles};

/// A model of the given widths, input first.
pub fn model(widths: &[usize], activation: Activation) -> Model {
    let last = widths.len() - 1;
    Model::new(widths[0], &widths[1..last], widths[last], activation).expect("the widths are possible")
}

/// Encodings of the input, alone and with all that there can be around the dense layers.
pub const ENCODED: [LayerOptions; 4] = [
    LayerOptions { encoding: InputEncoding::Fourier { features: 5, scale: 0.7 }, ..LayerOptions::NONE },
    LayerOptions { encoding: InputEncoding::Frequency { frequencies: 3 }, include_input: true, ..LayerOptions::NONE },
    LayerOptions {
        encoding: InputEncoding::Fourier { features: 6, scale: 0.7 },
        include_input: true,
        dropout: 0.2,
        layer_norm: true,
        residual: true,
    },
    LayerOptions { encoding: InputEncoding::Frequency { frequencies: 2 }, ..LayerOptions::NONE },
];
/// A model with embeddings: the column, the categories and the width of each.
pub fn embedded(widths: &[usize], activation: Activation, tables: &[(usize, usize, usize)]) -> Model {
    let embedding = |&(column, categories, width): &(usize, usize, usize)| Embedding { column, categories, width };
    model(widths, activation).embed(tables.iter().map(embedding).collect()).expect("the embeddings are possible")
}

/// Writes indices of categories into the columns of a table that are embedded.
pub fn write_indices(model: &Model, features: &mut [f32]) {
    for (row, values) in features.chunks_exact_mut(model.inputs()).enumerate() {
        for e in &model.embeddings {
            let index = (7 * row + row / 3 + e.column) % e.categories;
            values[e.column] = f32::from(u16::try_from(index).expect("test tables are small"));
        }
    }
}

/// A plan that keeps its gradients, with room between its tensors.
pub fn plan(model: Model, batch_size: usize, loss: Loss) -> Plan {
    let step = TrainStep::new(model, loss, Optimizer::Adam, batch_size, Source::Table { rows: 1 });
    Plan::new(TrainStep { keep_gradients: true, gap: 3, ..step }).expect("the plan is possible")
}

/// A plan with the arenas that it computes on.
#[derive(Clone)]
pub struct Network {
    pub plan: Plan,
    pub arenas: Arenas<f64>,
}

impl Network {
    /// A network whose batch and parameters are still NaN, as is all that it will write.
    fn empty(plan: Plan) -> Self {
        let scalars = Arena::ALL.map(|arena| vec![f64::NAN; 4 * plan.sizes.of(arena)]);
        let mut arenas = Arenas { scalars, state: vec![[0; 4]] };
        arenas.scalars[Arena::Optimizer as usize].fill(0.0);
        Self { plan, arenas }
    }

    fn set(&mut self, name: &str, values: &[f32]) {
        let count = self.plan.tensor(name).map_or(0, |t| t.rows * t.columns);
        assert_eq!(values.len(), count, "size of {name}");
        self.arenas.set(&self.plan, 0, name, values);
    }

    /// The network `name` of the golden file `odd`.
    pub fn golden(name: &str, widths: &[usize], activation: Activation, batch_size: usize, loss: Loss) -> Self {
        let data = golden("odd.safetensors");
        let mut network = Self::empty(plan(model(widths, activation), batch_size, loss));
        network.set("x", &singles(&data[&format!("{name}_x")]));
        let target = if loss.is_elementwise() { "target" } else { "label" };
        network.set("y", &singles(&data[&format!("{name}_{target}")]));
        for layer in 0..widths.len() - 1 {
            for part in ["kernel", "bias"] {
                let values = singles(&data[&format!("{name}_{part}{layer}")]);
                network.set(&format!("layers.{layer}.{part}"), &values);
            }
        }
        network
    }

    /// The network `name` of a golden file that names its parameters as the plan does.
    pub fn of(data: &HashMap<String, Vec<f64>>, name: &str, model: Model, batch_size: usize) -> Self {
        let mut network = Self::empty(plan(model, batch_size, Loss::Mse));
        for tensor in ["x".into(), "y".into()].into_iter().chain(network.all()) {
            network.set(&tensor, &singles(&data[&format!("{name}_{tensor}")]));
        }
        network
    }

    /// A network with batch and parameters drawn from `seed`; the biases are not 0.
    pub fn random(model: Model, batch_size: usize, seed: u64) -> Self {
        let mut network = Self::empty(plan(model, batch_size, Loss::Mse));
        let mut key = Key::from_seed(seed);
        let mut draw = |network: &mut Self, name: &str, scale: f32| {
            let sub;
            (key, sub) = key.split();
            let count = network.plan.tensor(name).map_or(0, |t| t.rows * t.columns);
            let values: Vec<_> = (0..).take(count).map(|i| sub.normal(i) * scale).collect();
            network.set(name, &values);
        };
        draw(&mut network, "x", 1.0);
        let mut x = singles(&network.get("x"));
        write_indices(&network.plan.step.model, &mut x);
        network.set("x", &x);
        draw(&mut network, "y", 1.0);
        for name in network.all() {
            let rows = network.plan.tensor(&name).map_or(1, |t| t.rows);
            let rows = u16::try_from(rows).expect("test networks are narrow");
            draw(&mut network, &name, if rows > 1 { 1.0 / f32::from(rows).sqrt() } else { 0.5 });
        }
        network
    }

    /// Runs the ops that `wanted` lets through, and returns the loss (NaN if its op was not among them).
    pub fn run(&mut self, wanted: impl Fn(OpKind) -> bool) -> f64 {
        let mut cpu = Cpu::new(self.plan.clone(), vec![Hyperparameters::default()], self.arenas.clone());
        let kinds = self.plan.ops.iter().map(|op| op.kind).filter(|&kind| wanted(kind));
        let loss = kinds.filter_map(|kind| cpu.run_op(0, kind)).fold(f64::NAN, |_, loss| loss);
        self.arenas = cpu.arenas().clone();
        loss
    }

    /// Runs a whole step on the batch that is there, and returns the loss before its update.
    pub fn step(&mut self) -> f64 {
        self.run(|kind| kind != OpKind::Sample)
    }

    /// The numbers of a named tensor.
    pub fn get(&self, name: &str) -> Vec<f64> {
        self.arenas.get(&self.plan, 0, name)
    }

    /// The names of the parameters.
    pub fn parameters(&self) -> Vec<String> {
        self.plan.tensors.iter().filter(|t| t.is_parameter()).map(|t| t.name.clone()).collect()
    }

    /// The names of the parameters, and of constants.
    fn all(&self) -> Vec<String> {
        self.plan.tensors.iter().filter(|t| t.arena == Arena::Params).map(|t| t.name.clone()).collect()
    }

    /// The gradient by all parameters as one vector.
    pub fn gradient(&self) -> Vec<f64> {
        self.parameters().iter().flat_map(|name| self.get(&format!("grads.{name}"))).collect()
    }
}
