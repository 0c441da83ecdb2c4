"""JAX, `lax.fori_loop` over the step: all steps of a round are one call from the host.

`nnx.fori_loop` is the same loop with Flax modules as its carry.
"""

from common import option_parser, report
from jax_job import default_state, make_loop, make_step


def main():
    """Time the loop and print the result."""
    options = option_parser(__doc__).parse_args()
    loop = make_loop(make_step(options))
    report(
        "jax_fori_loop",
        options,
        lambda: default_state(options),
        lambda state, steps: float(loop(state, steps).loss),
    )


if __name__ == "__main__":
    main()
