"""Makes more.safetensors: what the older files lack, from Optax and JAX in their own words.

Needs jax, optax, numpy, safetensors; made with the versions that the metadata of the file names.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

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


def main():
    schedules()
    versions = {"jax": jax.__version__, "optax": optax.__version__, "numpy": np.__version__}
    save_file(out, __file__.replace("more.py", "more.safetensors"), metadata=versions)


main()
