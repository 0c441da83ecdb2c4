//! Optimizers: hyperparameters, what the host computes per step, and the update rule for the oracle.
//! The kernels are in `shaders/shared/optimizers.wgsl`.

use num_traits::Float;

use super::Schedule;
use crate::error::{Error, Result};
use crate::real::lit;

/// The update rule. Names and defaults are optax's. Below, `g` is the gradient, `m` and `v` are moments, `m'` and `v'` are
/// moments divided by `1 - b^t`, and `a <- b` changes the state before the parameter `p` is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimizer {
    /// `m <- g + momentum m`, `p - learning_rate m`; with `nesterov`, `p - learning_rate (g + momentum m)`. Reference:
    /// Sutskever, Martens, Dahl, Hinton (2013), "On the importance of initialization and momentum in deep learning".
    Sgd,
    /// `m <- (1-b1) g + b1 m`, `v <- (1-b2) g^2 + b2 v`, `p - learning_rate m' / (sqrt(v') + eps)`. Reference: Kingma, Ba
    /// (2014), "Adam: a method for stochastic optimization".
    #[default]
    Adam,
    /// Adam's step and `weight_decay p`, both times the learning rate. Reference: Loshchilov, Hutter (2017), "Decoupled
    /// weight decay regularization".
    Adamw,
    /// Adam with `b1 m / (1 - b1^(t+1)) + (1-b1) g / (1 - b1^t)` for `m'`. Reference: Dozat (2016), "Incorporating Nesterov
    /// momentum into Adam".
    Nadam,
    /// `v <- (1-b2) g^2 + b2 v`, `p - learning_rate g / sqrt(v + eps)`. Reference: Hinton (2012), "Neural networks for
    /// machine learning", lecture 6e.
    Rmsprop,
    /// `v <- v + g^2` from 0.1, `p - learning_rate g / sqrt(v + eps)`. Reference: Duchi, Hazan, Singer (2011), "Adaptive
    /// subgradient methods for online learning and stochastic optimization".
    Adagrad,
    /// `p - learning_rate (sign((1-b1) g + b1 m) + weight_decay p)`, then `m <- (1-b2) g + b2 m`. Reference: Chen et al.
    /// (2023), "Symbolic discovery of optimization algorithms".
    Lion,
}

super::named_enum!(
    Optimizer, "optimizer",
    Sgd => "sgd", Adam => "adam", Adamw => "adamw", Nadam => "nadam", Rmsprop => "rmsprop", Adagrad => "adagrad",
    Lion => "lion",
);

/// The numbers of an optimizer, shared by all of them; each reads its own. The defaults are those of Adam;
/// [`Optimizer::defaults`] has those of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameters {
    /// Step size: the peak of the schedule. Default 1e-3.
    pub learning_rate: f64,
    /// Decay of the first moment. Default 0.9.
    pub b1: f64,
    /// Decay of the second moment, `decay` in optax's rmsprop; in lion that of the moment it keeps. Default 0.999.
    pub b2: f64,
    /// Added to the root of the second moment, in rmsprop and adagrad inside it. Default 1e-8.
    pub eps: f64,
    /// Share of every parameter that a step of adamw or lion takes away, times the learning rate. Default 0.
    pub weight_decay: f64,
    /// Decay of the sum of the gradients in sgd. Default 0, which is none.
    pub momentum: f64,
    /// 1 where sgd looks ahead by one step of its momentum, else 0. Default 0.
    pub nesterov: f64,
    /// Every gradient is cut to ± this before the optimizer sees it. Default 0, which is no limit.
    pub clip_value: f64,
    /// All gradients of a model are scaled down together to this norm, after `clip_value`. Default 0, which is no limit.
    pub clip_norm: f64,
    /// Share of the scheduled learning rate that a plateau has left. Default 1; it is no setting of its own.
    pub scale: f64,
}

/// The rows of [`Hyperparameters::constants`].
pub type Constants<T> = [[T; 4]; 3];

impl Default for Hyperparameters {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            b1: 0.9,
            b2: 0.999,
            eps: 1e-8,
            weight_decay: 0.0,
            momentum: 0.0,
            nesterov: 0.0,
            clip_value: 0.0,
            clip_norm: 0.0,
            scale: 1.0,
        }
    }
}

impl Hyperparameters {
    /// The constants of a run, three rows of the step table: `[b1, 1-b1, b2, 1-b2]`,
    /// `[eps, weight_decay, momentum, nesterov]`, `[clip_value, clip_norm, 0, 0]`.
    pub fn constants<T: Float>(&self) -> Constants<T> {
        let row = [self.b1, 1.0 - self.b1, self.b2, 1.0 - self.b2];
        let second = [self.eps, self.weight_decay, self.momentum, self.nesterov];
        [row, second, [self.clip_value, self.clip_norm, 0.0, 0.0]].map(|row| row.map(lit))
    }

    /// What depends on the number of updates before, `count`, alone: `[learning_rate, 1/(1-b1^t), 1/(1-b2^t),
    /// 1/(1-b1^(t+1))]` with `t = count + 1`, formed in f64 (optax forms the powers in f32, which differs by up to 1.3e-5).
    pub fn at_step<T: Float>(&self, schedule: &Schedule, count: u64) -> [T; 4] {
        #[expect(clippy::cast_precision_loss, reason = "a count of updates is far below 2^53")]
        let t = (count + 1) as f64;
        let learning_rate = self.scale * schedule.at(self.learning_rate, count);
        let correction = |decay: f64, t| 1.0 / (1.0 - decay.powf(t));
        [learning_rate, correction(self.b1, t), correction(self.b2, t), correction(self.b1, t + 1.0)].map(lit)
    }
}

/// A hyperparameter by name: how it is reached, and the values that it may have.
struct Field {
    name: &'static str,
    of: fn(&mut Hyperparameters) -> &mut f64,
    valid: fn(f64) -> bool,
    range: &'static str,
}

const FIELDS: [Field; 9] = [
    Field { name: "learning_rate", of: |h| &mut h.learning_rate, valid: |v| v >= 0.0, range: "0 or more" },
    Field { name: "b1", of: |h| &mut h.b1, valid: |v| (0.0..1.0).contains(&v), range: "0 or more and below 1" },
    Field { name: "b2", of: |h| &mut h.b2, valid: |v| (0.0..1.0).contains(&v), range: "0 or more and below 1" },
    Field { name: "eps", of: |h| &mut h.eps, valid: |v| v >= 0.0, range: "0 or more" },
    Field { name: "weight_decay", of: |h| &mut h.weight_decay, valid: |v| v >= 0.0, range: "0 or more" },
    Field {
        name: "momentum",
        of: |h| &mut h.momentum,
        valid: |v| (0.0..1.0).contains(&v),
        range: "0 or more and below 1",
    },
    Field { name: "nesterov", of: |h| &mut h.nesterov, valid: |v| v == 0.0 || v == 1.0, range: "0 or 1" },
    Field { name: "clip_value", of: |h| &mut h.clip_value, valid: |v| v >= 0.0, range: "0 (no limit) or more" },
    Field { name: "clip_norm", of: |h| &mut h.clip_norm, valid: |v| v >= 0.0, range: "0 (no limit) or more" },
];

impl Hyperparameters {
    /// Sets a hyperparameter by its name.
    ///
    /// # Errors
    /// [`Error::Usage`] when there is none of that name.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let field = FIELDS.iter().find(|f| f.name == name).ok_or_else(|| {
            let names: Vec<_> = FIELDS.iter().map(|f| f.name).collect();
            Error::Usage(format!("unknown hyperparameter `{name}`: expected one of {}", names.join(", ")))
        })?;
        *(field.of)(self) = value;
        Ok(())
    }

    /// Each name with its value.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let mut copy = *self;
        FIELDS.iter().map(move |field| (field.name, *(field.of)(&mut copy)))
    }

    /// Checks that each number can be used.
    ///
    /// # Errors
    /// [`Error::Usage`] with the name, the value and the range.
    pub fn validate(&self) -> Result<()> {
        let mut copy = *self;
        for field in &FIELDS {
            let value = *(field.of)(&mut copy);
            #[expect(clippy::cast_possible_truncation, reason = "whether it survives is what is asked")]
            if !(value as f32).is_finite() || !(field.valid)(value) {
                return Err(Error::Usage(format!(
                    "{} {value:?} is not possible: expected {}, within 32-bit floating point",
                    field.name, field.range
                )));
            }
        }
        Ok(())
    }
}

impl Optimizer {
    /// Its hyperparameters where none are given.
    pub fn defaults(self) -> Hyperparameters {
        let adam = Hyperparameters::default();
        match self {
            Self::Sgd | Self::Adam | Self::Nadam => adam,
            Self::Adamw => Hyperparameters { weight_decay: 1e-4, ..adam },
            Self::Rmsprop => Hyperparameters { b2: 0.9, ..adam },
            Self::Adagrad => Hyperparameters { eps: 1e-7, ..adam },
            Self::Lion => Hyperparameters { b2: 0.99, weight_decay: 1e-3, ..adam },
        }
    }

    /// Whether its updates depend on a hyperparameter of this name. Learning rate and clipping are of all of them.
    pub fn reads(self, name: &str) -> bool {
        match name {
            "b1" => matches!(self, Self::Adam | Self::Adamw | Self::Nadam | Self::Lion),
            "b2" => !matches!(self, Self::Sgd | Self::Adagrad),
            "eps" => !matches!(self, Self::Sgd | Self::Lion),
            "weight_decay" => matches!(self, Self::Adamw | Self::Lion),
            "momentum" | "nesterov" => self == Self::Sgd,
            _ => true,
        }
    }

    /// Names of its state tensors in optax, in the order of their slots in the optimizer arena.
    pub fn state_names(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &["trace"],
            Self::Adam | Self::Adamw | Self::Nadam => &["mu", "nu"],
            Self::Rmsprop => &["nu"],
            Self::Adagrad => &["sum_of_squares"],
            Self::Lion => &["mu"],
        }
    }

    /// What its state holds before the first step.
    pub fn initial_state(self) -> f64 {
        if self == Self::Adagrad { 0.1 } else { 0.0 }
    }

    /// Updates one parameter `p` and its state from its gradient `g`.
    ///
    /// `constants` and `row` are those of [`Hyperparameters`]. A parameter, a gradient and a state of 0, as in the padding
    /// of a tensor, stay 0.
    #[inline(always)]
    pub fn update<T: Float>(self, constants: &Constants<T>, row: &[T; 4], g: T, p: &mut T, state: &mut [T; 2]) {
        let [[b1, one_minus_b1, b2, one_minus_b2], [eps, weight_decay, momentum, nesterov], _] = *constants;
        let [learning_rate, correction1, correction2, correction1_next] = *row;
        let step = match self {
            Self::Sgd => {
                let before = state[0];
                state[0] = g + momentum * before;
                g + momentum * if nesterov > T::zero() { state[0] } else { before }
            }
            Self::Adam | Self::Adamw | Self::Nadam => {
                state[0] = one_minus_b1 * g + b1 * state[0];
                state[1] = one_minus_b2 * g * g + b2 * state[1];
                let root = (state[1] * correction2).sqrt() + eps;
                match self {
                    Self::Nadam => over(b1 * state[0] * correction1_next + one_minus_b1 * g * correction1, root),
                    Self::Adamw => over(state[0] * correction1, root) + weight_decay * *p,
                    _ => over(state[0] * correction1, root),
                }
            }
            Self::Rmsprop => {
                state[0] = one_minus_b2 * g * g + b2 * state[0];
                over(g, (state[0] + eps).sqrt())
            }
            Self::Adagrad => {
                state[0] = g * g + state[0];
                over(g, (state[0] + eps).sqrt())
            }
            Self::Lion => {
                let sign = sign(one_minus_b1 * g + b1 * state[0]);
                state[0] = one_minus_b2 * g + b2 * state[0];
                sign + weight_decay * *p
            }
        };
        *p = *p - learning_rate * step;
    }
}

/// `step / root`, 0 where `eps` and all gradients so far are 0.
#[inline(always)]
fn over<T: Float>(step: T, root: T) -> T {
    if root == T::zero() { T::zero() } else { step / root }
}

/// -1, 0, 1 or NaN.
#[inline(always)]
fn sign<T: Float>(x: T) -> T {
    if x == T::zero() { x } else { x.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parameter after three updates, whose gradients are such that lion's signs turn with each of its numbers.
    fn trained(optimizer: Optimizer, hyper: &Hyperparameters) -> f64 {
        let (mut p, mut state) = (1.0, [optimizer.initial_state(); 2]);
        for (count, gradient) in [(0, 0.5), (1, -0.02), (2, -0.05)] {
            let row = hyper.at_step(&Schedule::Constant, count);
            optimizer.update(&hyper.constants(), &row, gradient, &mut p, &mut state);
        }
        p
    }

    #[test]
    fn an_update_depends_on_what_its_optimizer_reads_and_on_nothing_else() {
        for &optimizer in Optimizer::ALL {
            let base = Hyperparameters { momentum: 0.5, weight_decay: 0.1, ..optimizer.defaults() };
            for (name, value) in base.named().filter(|(name, _)| !name.starts_with("clip")) {
                let mut other = base;
                other.set(name, if name == "nesterov" { 1.0 } else { value / 4.0 }).expect("a known name");
                if name == "eps" {
                    other.eps = 0.1;
                }
                let depends = trained(optimizer, &base) != trained(optimizer, &other);
                assert_eq!(depends, optimizer.reads(name), "{optimizer} and {name}");
            }
        }
    }
}
