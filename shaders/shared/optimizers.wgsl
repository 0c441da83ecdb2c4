// Optimizers: parameter and state from the gradient. The prelude's `optimizer_rule` calls the plan's.

// constants: (b1, 1-b1, b2, 1-b2), (eps, weight_decay, momentum, nesterov); the table has a third row of them,
// (clip_value, clip_norm, 0, 0), in which 0 means none
// step: (learning_rate, 1/(1-b1^t), 1/(1-b2^t), 1/(1-b1^(t+1)))
struct Hyper {
    constants0: vec4<f32>,
    constants1: vec4<f32>,
    step: vec4<f32>,
}

// A parameter and its state, mu being the first slot; what an optimizer does not use stays as it is.
struct Slots {
    p: vec4<f32>,
    mu: vec4<f32>,
    nu: vec4<f32>,
}

// m <- g + momentum m, p - learning_rate m; with nesterov, p - learning_rate (g + momentum m)
// Reference: Sutskever, Martens, Dahl, Hinton (2013), "On the importance of initialization and momentum in deep learning".
fn sgd(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let trace = g + h.constants1.z * s.mu;
    let update = g + h.constants1.z * select(s.mu, trace, h.constants1.w > 0.0);
    return Slots(s.p - h.step.x * update, trace, s.nu);
}

// m <- (1-b1) g + b1 m, v <- (1-b2) g^2 + b2 v
fn moments(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let mu = h.constants0.y * g + h.constants0.x * s.mu;
    let nu = h.constants0.w * g * g + h.constants0.z * s.nu;
    return Slots(s.p, mu, nu);
}

// step / root, 0 where eps and all gradients so far are 0, as in the padding of a tensor.
fn over(step: vec4<f32>, root: vec4<f32>) -> vec4<f32> {
    return select(step / root, vec4<f32>(), root == vec4<f32>());
}

// sqrt(v / (1 - b2^t)) + eps
fn corrected_root(nu: vec4<f32>, h: Hyper) -> vec4<f32> {
    return sqrt(nu * h.step.z) + h.constants1.x;
}

// p - learning_rate m' / (sqrt(v') + eps)
// Reference: Kingma, Ba (2014), "Adam: a method for stochastic optimization".
fn adam(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let next = moments(s, g, h);
    let update = over(next.mu * h.step.y, corrected_root(next.nu, h));
    return Slots(s.p - h.step.x * update, next.mu, next.nu);
}

// p - learning_rate (m' / (sqrt(v') + eps) + weight_decay p)
// Reference: Loshchilov, Hutter (2017), "Decoupled weight decay regularization".
fn adamw(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let next = moments(s, g, h);
    let update = over(next.mu * h.step.y, corrected_root(next.nu, h)) + h.constants1.y * s.p;
    return Slots(s.p - h.step.x * update, next.mu, next.nu);
}

// adam with m' = b1 m / (1 - b1^(t+1)) + (1-b1) g / (1 - b1^t)
// Reference: Dozat (2016), "Incorporating Nesterov momentum into Adam".
fn nadam(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let next = moments(s, g, h);
    let ahead = h.constants0.x * next.mu * h.step.w + h.constants0.y * g * h.step.y;
    return Slots(s.p - h.step.x * over(ahead, corrected_root(next.nu, h)), next.mu, next.nu);
}

// v <- (1-b2) g^2 + b2 v, p - learning_rate g / sqrt(v + eps)
// Reference: Hinton (2012), "Neural networks for machine learning", lecture 6e.
fn rmsprop(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let squares = h.constants0.w * g * g + h.constants0.z * s.mu;
    return Slots(s.p - h.step.x * over(g, sqrt(squares + h.constants1.x)), squares, s.nu);
}

// v <- v + g^2, p - learning_rate g / sqrt(v + eps)
// Reference: Duchi, Hazan, Singer (2011), "Adaptive subgradient methods for online learning and stochastic optimization".
fn adagrad(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let squares = g * g + s.mu;
    return Slots(s.p - h.step.x * over(g, sqrt(squares + h.constants1.x)), squares, s.nu);
}

// p - learning_rate (sign((1-b1) g + b1 m) + weight_decay p), then m <- (1-b2) g + b2 m
// Reference: Chen et al. (2023), "Symbolic discovery of optimization algorithms".
fn lion(s: Slots, g: vec4<f32>, h: Hyper) -> Slots {
    let blend = h.constants0.y * g + h.constants0.x * s.mu;
    // NaN must reach the parameter, whose loss then shows it; what `sign` makes of it is left open.
    let update = select(sign(blend), blend, is_nan(blend)) + h.constants1.y * s.p;
    return Slots(s.p - h.step.x * update, h.constants0.w * g + h.constants0.z * s.mu, s.nu);
}

// The numbers for a kernel or for a bias, which need not decay.
fn hyper_of(h: Hyper, is_bias: bool) -> Hyper {
    if (DECAY_BIAS || !is_bias) {
        return h;
    }
    return Hyper(h.constants0, h.constants1 * vec4<f32>(1.0, 0.0, 1.0, 1.0), h.step);
}

// `g` cut to ±clip_value (optax clip); NaN stays NaN.
fn clip_value(g: vec4<f32>) -> vec4<f32> {
    if (!CLIP_VALUE) {
        return g;
    }
    let limit = table[3u * model + 2u].x;
    let clipped = clamp(g, vec4<f32>(-limit), vec4<f32>(limit));
    return select(clipped, g, is_nan(g) | vec4<bool>(limit == 0.0));
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
        optimizer[first] = flush(s.mu, VANISHING);
    }
    if (OPTIMIZER_SLOTS > 1u) {
        optimizer[second] = flush(s.nu, VANISHING);
    }
}
