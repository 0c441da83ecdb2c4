//! The functions of C that the parts of a network call.

use crate::export::literal;
use crate::network::narrow;
use crate::spec::{Activation, NORM_EPS};

pub(super) fn dense_function(name: &str) -> String {
    format!(
        "/* z = x kernel + bias; the kernel has a row for each input. */\n\
         static inline void {name}_dense(const float *x, int inputs, const float *kernel, const float *bias, int outputs,\n\
         \x20                        float *z) {{\n\
         \x20   for (int j = 0; j < outputs; j++) {{\n        z[j] = bias[j];\n    }}\n\
         \x20   for (int i = 0; i < inputs; i++) {{\n\
         \x20       for (int j = 0; j < outputs; j++) {{\n            z[j] += x[i] * kernel[i * outputs + j];\n        }}\n\
         \x20   }}\n}}\n\n"
    )
}

pub(super) fn layer_norm_function(name: &str) -> String {
    format!(
        "/* Normalization over a row, then scale and bias of each number. */\n\
         static inline void {name}_layer_norm(float *z, int width, const float *scale, const float *bias) {{\n\
         \x20   float sum = 0.0f, squares = 0.0f;\n\
         \x20   for (int i = 0; i < width; i++) {{\n        sum += z[i];\n    }}\n\
         \x20   float center = sum / (float)width;\n\
         \x20   for (int i = 0; i < width; i++) {{\n        squares += (z[i] - center) * (z[i] - center);\n    }}\n\
         \x20   float factor = 1.0f / sqrtf(squares / (float)width + {});\n\
         \x20   for (int i = 0; i < width; i++) {{\n        z[i] = (z[i] - center) * factor * scale[i] + bias[i];\n    }}\n\
         }}\n\n",
        literal(narrow(NORM_EPS))
    )
}

pub(super) fn wave_function(name: &str) -> String {
    format!(
        "/* Sine and cosine of a number of turns, of which whole ones are taken away without rounding. */\n\
         static inline void {name}_wave(float turns, float *sine, float *cosine) {{\n\
         \x20   float angle = {} * (turns - floorf(turns + 0.5f));\n\
         \x20   *sine = sinf(angle);\n    *cosine = cosf(angle);\n}}\n\n",
        literal(std::f32::consts::TAU)
    )
}

/// The function of one number.
pub(super) fn activation_function(name: &str, activation: Activation) -> String {
    let body = match activation {
        Activation::Identity => return String::new(),
        Activation::Relu => "z < 0.0f ? 0.0f : z",
        Activation::LeakyRelu => "z < 0.0f ? 0.01f * z : z",
        Activation::Elu => "z > 0.0f ? z : expm1f(z)",
        Activation::Selu => "1.05070099f * (z > 0.0f ? z : 1.67326324f * expm1f(z))",
        Activation::Tanh => "tanhf(z)",
        Activation::Sigmoid => "1.0f / (1.0f + expf(-z))",
        Activation::Silu => "z / (1.0f + expf(-z))",
        Activation::Gelu => "z / (1.0f + expf(-1.5957691216f * z * (1.0f + 0.044715f * z * z)))",
        Activation::GeluExact => "0.5f * z * erfcf(-0.70710678f * z)",
        Activation::Softplus => "(z < 0.0f ? 0.0f : z) + log1pf(expf(-fabsf(z)))",
        Activation::Sin => "sinf(z)",
    };
    format!("static inline float {name}_{activation}(float z) {{\n    return {body};\n}}\n\n")
}
