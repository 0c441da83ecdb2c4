"""Makes more.safetensors: what the older files lack, from Optax and JAX in their own words.

Needs jax, optax, numpy, safetensors; made with the versions that the metadata of the file names.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

out = {}


def schedules():
    """Values at `schedule_step`, in f64."""
    jax.config.update("jax_enable_x64", True)
    steps = np.array([0, 1, 5, 49, 99, 100, 101, 250, 299, 300, 301, 500, 650, 999, 1000, 1001, 5000], dtype=np.int64)
    out["schedule_step"] = steps.astype(np.int32)
    rows = {
        "one_cycle": optax.cosine_onecycle_schedule(1000, 1e-3),
        "one_cycle_other": optax.cosine_onecycle_schedule(650, 3e-3, 0.155, 10.0, 50.0),
        "polynomial3_begin": optax.polynomial_schedule(1e-3, 1e-5, 3.0, 500, 100),
        "cosine_exponent": optax.cosine_decay_schedule(1e-3, 500, 0.1, 2.5),
        "warmup_cosine_exponent": optax.warmup_cosine_decay_schedule(1e-4, 1e-3, 100, 650, 1e-5, 1.5),
        "exponential_growth": optax.exponential_decay(1e-3, 250, 2.0, 50, True, 5e-3),
    }
    for name, schedule in rows.items():
        out[name] = np.array([float(schedule(jnp.asarray(step))) for step in steps], dtype=np.float64)
    jax.config.update("jax_enable_x64", False)


def gradients():
    """Gradients of `optimisers.safetensors` through clips, a mean of three and a masked decay: the parameters, a kernel (3, 2)
    and then a bias (2), after each of 20 steps, in f64."""
    jax.config.update("jax_enable_x64", True)
    data = load_file("optimisers.safetensors")
    tree = lambda row: {"kernel": jnp.asarray(row[:6].reshape(3, 2), jnp.float64), "bias": jnp.asarray(row[6:], jnp.float64)}
    schedule = optax.linear_schedule(1e-2, 1e-3, 5)
    adamw = lambda: optax.adamw(schedule, weight_decay=0.1, mask={"kernel": True, "bias": False})
    rows = {
        "mean_of_3": optax.MultiSteps(adamw(), 3, accumulator_dtype=jnp.float64),
        "clip_value": optax.chain(optax.clip(0.5), adamw()),
        "clip_both_mean_of_3": optax.MultiSteps(
            optax.chain(optax.clip(0.75), optax.clip_by_global_norm(1.0), adamw()), 3, accumulator_dtype=jnp.float64
        ),
    }
    for name, optimizer in rows.items():
        params = tree(data["p0"])
        state, path = optimizer.init(params), []
        for row in data["grads"]:
            updates, state = optimizer.update(tree(row), state, params)
            params = optax.apply_updates(params, updates)
            path.append(np.concatenate([np.asarray(params["kernel"]).reshape(-1), np.asarray(params["bias"])]))
        out[name] = np.array(path, dtype=np.float64)
    jax.config.update("jax_enable_x64", False)


def inits():
    """Kernels of the layers (3, 5), (5, 4), (4, 4), (4, 1) as nnx.Rngs(7) draws them; siren has no function in JAX."""
    names = ["lecun_normal", "lecun_uniform", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "orthogonal"]
    functions = {name: getattr(jax.nn.initializers, name)() for name in names}
    functions["zeros"] = jax.nn.initializers.zeros
    for layer, shape in enumerate([(3, 5), (5, 4), (4, 4), (4, 1)]):
        key = jax.random.fold_in(jax.random.key(7), 2 * layer)
        for name, function in functions.items():
            out[f"{name}{layer}"] = np.asarray(function(key, shape, jnp.float32))
        bound = np.float32(1 / shape[0] if layer == 0 else np.sqrt(6 / shape[0]) / 30)
        out[f"siren{layer}"] = np.asarray(jax.random.uniform(key, shape, jnp.float32, -bound, bound))


def main():
    schedules()
    gradients()
    inits()
    versions = {"jax": jax.__version__, "optax": optax.__version__, "numpy": np.__version__}
    save_file(out, __file__.replace("more.py", "more.safetensors"), metadata=versions)


main()
