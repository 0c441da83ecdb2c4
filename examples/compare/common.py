"""What every script here shares: the job's options, the clock and the report.

The module knows no framework. A script hands over two functions: `start()` makes the state of a run before its first
step, and `train(state, steps)` takes that many steps and returns the last one's loss as a Python float. Reading the
loss waits for the device, so no work escapes the clock.
"""

import argparse
import statistics
import sys
import time

LEARNING_RATE = 1e-3
NOISE = 0.1


def positive(text):
    """A count; zero or less would fail later, and less clearly."""
    if not text.strip().isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def layer_sizes(text):
    """Sizes with commas between them: a network has at least an input and an output."""
    sizes = [positive(size) for size in text.split(",")]
    if len(sizes) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} names fewer than two layers")
    return sizes


def option_parser(description):
    """The options that every script takes; the defaults are the job of fori's default run."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=positive, default=5000, help="training steps in each round")
    parser.add_argument("--rounds", type=positive, default=5, help="rounds to time; their median is printed")
    parser.add_argument("--dims", type=layer_sizes, default="2,64,64,1", help="layer sizes, input first")
    parser.add_argument("--batch-size", type=positive, default=64, help="samples drawn for each step")
    parser.add_argument("--loss", choices=["mse", "softmax_cross_entropy"], default="mse", help="what is minimized")
    return parser


def seconds(function, *arguments):
    """Call the function; return how long it took and what it returned."""
    begin = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - begin, result


def report(name, options, start, train, models=1):
    """Time the job and print the result.

    The first call pays for tracing and compiling, so it is reported apart. Each round then trains from the same
    initial state, so that the final loss depends on `--steps` alone.
    """
    first_call, _ = seconds(lambda: train(start(), 1))
    print(f"first call {first_call:.2f} s", file=sys.stderr)
    rounds = [seconds(train, start(), options.steps) for _ in range(options.rounds)]
    median = statistics.median(elapsed for elapsed, _ in rounds)
    per_step = 1e6 * median / (options.steps * models)
    _, loss = rounds[-1]
    print(f"{name}, {per_step:.1f} us per step, final loss {loss:.6g}")
