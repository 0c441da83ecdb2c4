"""The training job in JAX: the initial state and one step, as pure functions.

Every random number follows from `jax.random.key(seed)` in a fixed order. With seed 0 this is the order of fori's
default run, so both print the same losses.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from common import LEARNING_RATE, NOISE

# GPUs may round the factors of a product to TF32 by default, which moves the loss by a percent within 1,000 steps.
jax.config.update("jax_default_matmul_precision", "float32")

OPTIMIZER = optax.adam(LEARNING_RATE)


class State(NamedTuple):
    """What one step hands to the next."""

    params: Any
    optimizer: Any
    key: jax.Array
    truth: Any
    loss: jax.Array


def initial_params(dims, root):
    """Kernel and bias of each layer as Flax draws them; plain arrays are cheaper to pass to a jitted step."""
    rngs = nnx.Rngs(root)
    layers = [nnx.Linear(inputs, outputs, rngs=rngs) for inputs, outputs in pairwise(dims)]
    return [(layer.kernel[...], layer.bias[...]) for layer in layers]


def initial_state(options, root):
    """The state before the first step, with the true weights that the targets of a regression come from.

    The root key is that of the seed; as in fori, both the parameters and the data descend from it.
    """
    inputs, outputs = options.dims[0], options.dims[-1]
    key, subkey = jax.random.split(root)
    weights = jax.random.normal(subkey, (inputs, outputs))
    key, subkey = jax.random.split(key)
    bias = jax.random.normal(subkey, (outputs,))
    params = initial_params(options.dims, root)
    return State(params, OPTIMIZER.init(params), key, (weights, bias), jnp.zeros(()))


def default_state(options):
    """The initial state of seed 0, ready before any clock starts."""
    return jax.block_until_ready(initial_state(options, jax.random.key(0)))


def regression_batch(options, key, truth):
    """Normal inputs and noisy linear targets.

    The inputs and the noise come from one key, as in fori's default run: the noise repeats the first inputs.
    """
    weights, bias = truth
    x = jax.random.normal(key, (options.batch_size, options.dims[0]))
    noise = jax.random.normal(key, (options.batch_size, options.dims[-1]))
    return x, x @ weights + bias + NOISE * noise


def classification_batch(options, key, _truth):
    """Normal inputs and labels that do not depend on them: a load to time, with nothing to learn."""
    x_key, label_key = jax.random.split(key)
    x = jax.random.normal(x_key, (options.batch_size, options.dims[0]))
    return x, jax.random.randint(label_key, (options.batch_size,), 0, options.dims[-1])


def predict(params, x):
    """The network: `jax.nn.gelu`, in its tanh form, after every layer but the last."""
    *hidden, (kernel, bias) = params
    for hidden_kernel, hidden_bias in hidden:
        x = jax.nn.gelu(x @ hidden_kernel + hidden_bias)
    return x @ kernel + bias


def mse(prediction, target):
    """The mean squared error over all outputs."""
    return jnp.mean((target - prediction) ** 2)


def softmax_cross_entropy(logits, labels):
    """The mean cross-entropy over the batch."""
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


TASKS = {
    "mse": (regression_batch, mse),
    "softmax_cross_entropy": (classification_batch, softmax_cross_entropy),
}


def make_step(options):
    """The function of one step: draw a batch, differentiate, update."""
    draw_batch, loss_of = TASKS[options.loss]

    def step(state):
        key, subkey = jax.random.split(state.key)
        x, target = draw_batch(options, subkey, state.truth)
        loss, grads = jax.value_and_grad(lambda params: loss_of(predict(params, x), target))(state.params)
        updates, optimizer = OPTIMIZER.update(grads, state.optimizer)
        params = optax.apply_updates(state.params, updates)
        return State(params, optimizer, key, state.truth, loss)

    return step


def make_loop(step):
    """A jitted function of any number of steps, all of them in one call: the loop runs on the device."""
    return jax.jit(
        lambda state, steps: jax.lax.fori_loop(0, steps, lambda _, carry: step(carry), state),
        donate_argnums=0,
    )
