//! Optimizers: hyperparameters, what the host computes per step, and the update rule for the oracle.
//! The kernels are in `shaders/shared/optimizers.wgsl`.

use num_traits::Float;

use crate::error::{Error, Result};
use crate::real::lit;

/// The update rule. Names and defaults are optax's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimizer {
    /// `p - learning_rate g`.
    Sgd,
    /// Adam, eps outside the root. Reference: Kingma, Ba (2014), "Adam: a method for stochastic optimization".
    #[default]
    Adam,
}

super::named_enum!(Optimizer, "optimizer", Sgd => "sgd", Adam => "adam");

/// The numbers of an optimizer, shared by all of them; each reads its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameters {
    /// Step size. Default 1e-3.
    pub learning_rate: f64,
    /// Decay of the first moment. Default 0.9.
    pub b1: f64,
    /// Decay of the second moment. Default 0.999.
    pub b2: f64,
    /// Added to the root of the second moment. Default 1e-8.
    pub eps: f64,
}

impl Default for Hyperparameters {
    fn default() -> Self {
        Self { learning_rate: 1e-3, b1: 0.9, b2: 0.999, eps: 1e-8 }
    }
}

impl Hyperparameters {
    /// The constants of a run, two rows of the step table: `[b1, 1-b1, b2, 1-b2]`, `[eps, -, -, -]`.
    pub fn constants<T: Float>(&self) -> [[T; 4]; 2] {
        let row = [self.b1, 1.0 - self.b1, self.b2, 1.0 - self.b2];
        [row.map(lit), [self.eps, 0.0, 0.0, 0.0].map(lit)]
    }

    /// What depends on the step alone (counted from 0): `[learning_rate, 1/(1-b1^t), 1/(1-b2^t), -]` with `t = step + 1`,
    /// formed in f64 (optax forms the powers in f32, which differs by up to 1.3e-5).
    pub fn at_step<T: Float>(&self, step: u64) -> [T; 4] {
        #[expect(clippy::cast_precision_loss, reason = "a step count is far below 2^53")]
        let t = (step + 1) as f64;
        let correction = |decay: f64| 1.0 / (1.0 - decay.powf(t));
        [self.learning_rate, correction(self.b1), correction(self.b2), 0.0].map(lit)
    }
}

/// A hyperparameter by name: how it is reached, and the values that it may have.
struct Field {
    name: &'static str,
    of: fn(&mut Hyperparameters) -> &mut f64,
    valid: fn(f64) -> bool,
    range: &'static str,
}

const FIELDS: [Field; 4] = [
    Field { name: "learning_rate", of: |h| &mut h.learning_rate, valid: |v| v >= 0.0, range: "0 or more" },
    Field { name: "b1", of: |h| &mut h.b1, valid: |v| (0.0..1.0).contains(&v), range: "0 or more and below 1" },
    Field { name: "b2", of: |h| &mut h.b2, valid: |v| (0.0..1.0).contains(&v), range: "0 or more and below 1" },
    Field { name: "eps", of: |h| &mut h.eps, valid: |v| v >= 0.0, range: "0 or more" },
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
    /// Names of its state tensors, in the order of their slots in the optimizer arena.
    pub fn state_names(self) -> &'static [&'static str] {
        match self {
            Self::Sgd => &[],
            Self::Adam => &["mu", "nu"],
        }
    }

    /// Updates one parameter `p` and its state from its gradient `g`.
    ///
    /// `constants` and `row` are those of [`Hyperparameters`].
    #[inline(always)]
    pub fn update<T: Float>(self, constants: &[[T; 4]; 2], row: &[T; 4], g: T, p: &mut T, state: &mut [T; 2]) {
        let [[b1, one_minus_b1, b2, one_minus_b2], [eps, ..]] = *constants;
        let [learning_rate, correction1, correction2, _] = *row;
        match self {
            Self::Sgd => *p = *p - learning_rate * g,
            Self::Adam => {
                state[0] = one_minus_b1 * g + b1 * state[0];
                state[1] = one_minus_b2 * g * g + b2 * state[1];
                let step = state[0] * correction1 / ((state[1] * correction2).sqrt() + eps);
                *p = *p - learning_rate * step;
            }
        }
    }
}
