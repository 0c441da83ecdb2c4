// Optimizers: parameter and state from the gradient. The prelude's `optimizer_rule` calls the plan's.

// constants: (b1, 1-b1, b2, 1-b2), (eps, -, -, -); step: (learning_rate, 1/(1-b1^t), 1/(1-b2^t), -)
struct Hyper {
    constants0: vec4<f32>,
    constants1: vec4<f32>,
    step: vec4<f32>,
}

// A parameter and its state; what an optimizer does not use stays as it is.
struct Slots {
    p: vec4<f32>,
    mu: vec4<f32>,
    nu: vec4<f32>,
}

// p - learning_rate g
fn sgd(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    return Slots(s.p - h.step.x * g, s.mu, s.nu);
}

// Reference: Kingma, Ba (2014), "Adam: a method for stochastic optimization"; eps outside the root.
fn adam(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let mu = h.constants0.y * g + h.constants0.x * s.mu;
    let nu = h.constants0.w * g * g + h.constants0.z * s.nu;
    let update = mu * h.step.y / (sqrt(nu * h.step.z) + h.constants1.x);
    return Slots(s.p - h.step.x * update, mu, nu);
}

fn load_hyper() -> Hyper {
    return Hyper(table[2u * model], table[2u * model + 1u], table[2u * MODELS + slot()]);
}

// Applies the gradient `g` to the parameters at `index` of params.
fn update_parameters(index: u32, g: vec4<f32>, h: Hyper) {
    let at = model * PARAMS_SIZE + index;
    let first = model * OPTIMIZER_SIZE + index;
    let second = first + PARAMS_SIZE;
    var s = Slots(params[at], vec4<f32>(), vec4<f32>());
    if (OPTIMIZER_SLOTS > 0u) {
        s.mu = optimizer[first];
    }
    if (OPTIMIZER_SLOTS > 1u) {
        s.nu = optimizer[second];
    }
    s = optimizer_rule(s, g, h);
    params[at] = s.p;
    if (OPTIMIZER_SLOTS > 0u) {
        optimizer[first] = s.mu;
    }
    if (OPTIMIZER_SLOTS > 1u) {
        optimizer[second] = s.nu;
    }
    if (KEEP_GRADIENTS) {
        grads[at] = g;
    }
}
