//! What is trained, as plain values: the model, its activation, the loss, the optimizer with its schedule, and the initial parameters.
//!
//! Nothing here knows a device. Each enum's `name` is the flag value, the name of the function in WGSL, and the name in
//! the field's literature.

mod activation;
mod clip;
mod embedding;
mod encoding;
mod init;
mod layers;
mod loss;
mod model;
mod optimizer;
mod schedule;

pub use activation::Activation;
pub(crate) use clip::{clip_value, norm_factor};
pub use embedding::Embedding;
pub use encoding::{InputEncoding, MAX_FEATURES, MAX_FREQUENCIES};
pub use init::{Init, initial_extras, initial_parameters, linreg_truth};
pub use layers::{LayerOptions, NORM_EPS};
pub use loss::{Loss, TargetKind, largest, softmax_cross_entropy};
pub use model::{FREQUENCIES, MAX_WIDTH, Model};
pub use optimizer::{Constants, Hyperparameters, Optimizer};
pub use schedule::{Schedule, ScheduleKind};

use crate::error::{Error, Result};

/// Finds a variant by its name, or says which names exist.
pub(crate) fn by_name<T: Copy>(what: &str, name: &str, all: &[T], name_of: impl Fn(T) -> &'static str) -> Result<T> {
    all.iter().copied().find(|&v| name_of(v) == name).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|&v| name_of(v)).collect();
        let one_of = if names.len() > 1 { "one of " } else { "" };
        Error::Usage(format!("unknown {what} `{name}`: expected {one_of}{}", names.join(", ")))
    })
}

/// Loops that are compiled anew for each variant of an enum. A closure that is called with a constant in each of several places
/// would not do: the compiler may join the calls, and a choice inside a loop keeps it from being vectorized.
pub(crate) trait PerVariant<E> {
    /// The loops for the variant with this discriminant, which is its index in `ALL`.
    fn run<const VARIANT: usize>(self);
}

/// Gives an enum its list of variants, `name`, `FromStr` and `Display`.
macro_rules! named_enum {
    ($type:ident, $what:literal, $($variant:ident => $name:literal),+ $(,)?) => {
        impl $type {
            /// Every variant, in the order of the documentation.
            pub const ALL: &'static [Self] = {
                let all: &'static [Self] = &[$(Self::$variant),+];
                let mut i = 0;
                while i < all.len() {
                    assert!(all[i] as usize == i, "the variants stand in the order of their declaration");
                    i += 1;
                }
                all
            };

            /// The name on the command line, in experiment files and in WGSL.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Runs what is compiled for this variant.
            #[allow(dead_code, reason = "not every enum is matched in an inner loop")]
            #[inline(always)]
            pub(crate) fn specialize(self, loops: impl $crate::spec::PerVariant<Self>) {
                match self { $(Self::$variant => loops.run::<{ Self::$variant as usize }>()),+ }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> $crate::error::Result<Self> {
                $crate::spec::by_name($what, name, Self::ALL, Self::name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use named_enum;
