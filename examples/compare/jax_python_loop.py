"""JAX, a Python loop over a jitted step: every step is a call from the host.

The step takes and returns plain arrays and reuses the memory of its arguments, which is the cheapest form of this loop.
"""

import jax

from common import option_parser, report
from jax_job import default_state, make_step


def main():
    """Time the loop and print the result."""
    options = option_parser(__doc__).parse_args()
    step = jax.jit(make_step(options), donate_argnums=0)

    def train(state, steps):
        for _ in range(steps):
            state = step(state)
        return float(state.loss)

    report("jax_python_loop", options, lambda: default_state(options), train)


if __name__ == "__main__":
    main()
