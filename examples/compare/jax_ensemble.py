"""JAX, `vmap` over independent models inside `lax.fori_loop`.

Model i starts from seed i and draws its own data. The time is per model and step, the final loss that of model 0,
which is the model of the other JAX scripts.
"""

import jax
import jax.numpy as jnp

from common import option_parser, positive, report
from jax_job import initial_state, make_loop, make_step


def main():
    """Time the loop and print the result."""
    parser = option_parser(__doc__)
    parser.add_argument("--models", type=positive, default=64, help="models trained side by side")
    options = parser.parse_args()
    start = jax.vmap(lambda seed: initial_state(options, jax.random.key(seed)))
    loop = make_loop(jax.vmap(make_step(options)))
    report(
        f"jax_ensemble (each of {options.models} models)",
        options,
        lambda: jax.block_until_ready(start(jnp.arange(options.models))),
        lambda state, steps: float(loop(state, steps).loss[0]),
        models=options.models,
    )


if __name__ == "__main__":
    main()
