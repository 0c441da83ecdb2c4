"""scikit-learn's MLP on the rows that fori trains on, judged by the rows that fori holds back.

Same table, split, hidden layers, relu, Adam with 1e-3, batch size, epochs in shuffled order, and standardization. The
initial parameters and the orders come from scikit-learn's own generator, and its uniform initialization.

With `--fori PATH` that program runs in turn with scikit-learn, and its lines stand beside. Each line is: name, program,
accuracy or r2 on the rows held back, seconds of the training (the median of `--rounds`). fori's seconds also include
reading the file, opening the adapter and compiling; scikit-learn's are those of `fit` alone.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

from common import positive, seconds

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
SHARE = 0.25
BATCH = 64
# Name, target, loss, hidden layers, steps.
JOBS = [
    ("digits", "digit", "softmax_cross_entropy", [64, 64], 2000),
    ("iris", "species", "softmax_cross_entropy", [64, 64], 500),
    ("breast_cancer", "benign", "binary_cross_entropy", [64, 64], 500),
    ("diabetes", "progression", "mse", [32], 1000),
]
MASK = 0xFFFFFFFF


def threefry(key, counter):
    """The block function Threefry-2x32, as `src/rng.rs` and `jax.random` have it."""
    keys = [*key, key[0] ^ key[1] ^ 0x1BD11BDA]
    x0, x1 = (counter[0] + keys[0]) & MASK, (counter[1] + keys[1]) & MASK
    for group in range(5):
        for rotation in [(13, 15, 26, 6), (17, 29, 16, 24)][group % 2]:
            x0 = (x0 + x1) & MASK
            x1 = ((x1 << rotation | x1 >> (32 - rotation)) & MASK) ^ x0
        x0 = (x0 + keys[(group + 1) % 3]) & MASK
        x1 = (x1 + keys[(group + 2) % 3] + group + 1) & MASK
    return x0, x1


def held_back(strata, seed):
    """Which rows `fori train --validation 0.25 --seed SEED` holds back, by the rule of `src/data/split.rs`: of the rows, sorted
    by stratum and random word, every so many-th.
    """
    rows = len(strata)
    taken = math.floor(SHARE * rows + 0.5)
    key = threefry((seed >> 32, seed & MASK), (0, 0x53504C54))
    word = lambda row: (lambda pair: pair[0] ^ pair[1])(threefry(key, (0, row)))
    order = sorted(range(rows), key=lambda row: (strata[row], word(row), row))
    is_taken = np.zeros(rows, bool)
    for i, row in enumerate(order):
        is_taken[row] = (i + 1) * taken // rows > i * taken // rows
    return is_taken


def read(name, target, is_classes):
    """Inputs, targets and strata of a table."""
    with open(DATA / f"{name}.csv", newline="") as file:
        header, *rows = csv.reader(file)
    at = header.index(target)
    x = np.array([[float(field) for i, field in enumerate(row) if i != at] for row in rows])
    fields = [row[at] for row in rows]
    if not is_classes:
        return x, np.array(fields, float), [0] * len(rows)
    try:
        found = sorted(set(fields), key=float)
    except ValueError:
        found = list(dict.fromkeys(fields))
    return x, np.array(fields), [found.index(field) for field in fields]


def fit_sklearn(job, split, seed):
    """Train on the rows that are not held back; return the score on the others."""
    _, _, loss, hidden, steps = job
    x, y, is_taken = split
    mean, std = x[~is_taken].mean(0), x[~is_taken].std(0)
    x = (x - mean) / np.where(std > 0, std, 1)
    batches = math.ceil((~is_taken).sum() / BATCH)
    kind = MLPRegressor if loss == "mse" else MLPClassifier
    # It never stops early: as many epochs as fori has, without decay.
    model = kind(
        hidden_layer_sizes=hidden, activation="relu", solver="adam", alpha=0, batch_size=BATCH, learning_rate_init=1e-3,
        max_iter=steps // batches, n_iter_no_change=steps, tol=0, random_state=seed,
    )
    if loss == "mse":
        centre, scale = y[~is_taken].mean(), y[~is_taken].std()
        y = (y - centre) / scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        elapsed, _ = seconds(model.fit, x[~is_taken], y[~is_taken])
    return model.score(x[is_taken], y[is_taken]), elapsed


def fit_fori(program, executor, job, split, seed):
    """The same with fori."""
    name, target, loss, hidden, steps = job
    batches = math.ceil((~split[2]).sum() / BATCH)
    flags = {
        "--data": DATA / f"{name}.csv", "--target": target, "--loss": loss, "--validation": SHARE, "--seed": seed,
        "--hidden": ",".join(map(str, hidden)), "--activation": "relu", "--batch-size": BATCH,
        "--steps": steps // batches * batches, "--validate-every": steps, "--executor": executor,
    }
    command = [program, "train", "--json", *(str(part) for flag in flags.items() for part in flag)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    result = json.loads(ran.stdout)
    scores = result["validation"]
    return scores.get("accuracy", scores.get("r2")), result["seconds"]


def main():
    """Train every job in turn and print its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and of the networks")
    parser.add_argument("--rounds", type=positive, default=1, help="how often each job is run; the median time counts")
    parser.add_argument("--fori", help="also run this program")
    parser.add_argument("--executors", default="cpu", help="its executors, with commas between them")
    options = parser.parse_args()
    for job in JOBS:
        x, y, strata = read(job[0], job[1], job[2] != "mse")
        split = x, y, held_back(strata, options.seed)
        programs = {"scikit-learn": lambda: fit_sklearn(job, split, options.seed)}
        for executor in options.executors.split(",") if options.fori else []:
            programs[f"fori {executor}"] = lambda name=executor: fit_fori(options.fori, name, job, split, options.seed)
        runs = [{name: run() for name, run in programs.items()} for _ in range(options.rounds)]
        for name in programs:
            median = statistics.median(run[name][1] for run in runs)
            print(f"{job[0]}, {name}, {runs[0][name][0]:.4f}, {median:.2f} s", flush=True)


if __name__ == "__main__":
    main()
