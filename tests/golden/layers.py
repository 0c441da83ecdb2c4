"""Makes layers.safetensors: networks with layer normalization, dropout, skips, encoded inputs and embeddings in Flax, in float64.

    python tests/golden/layers.py     (JAX 0.12, Flax 0.12, safetensors)
"""
import os

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)
F = jnp.float64
out = {}


class Net(nnx.Module):
    def __init__(self, widths, norm, rngs):
        pairs = list(zip(widths, widths[1:]))
        linear = lambda i, o: nnx.Linear(i, o, dtype=F, param_dtype=F, rngs=rngs)
        self.layers = nnx.List([linear(i, o) for i, o in pairs])
        scale = lambda w: nnx.LayerNorm(w, dtype=F, param_dtype=F, rngs=rngs)
        self.norms = nnx.List([scale(w) for w in widths[1:-1]] if norm else [])

    def __call__(self, h, keep, residual):
        for l, layer in enumerate(self.layers):
            z = layer(h)
            if l + 1 == len(self.layers):
                return z
            if self.norms:
                z = self.norms[l](z)
            f = jnp.tanh(z)
            if keep < 1:
                # The state has the key (0, 0) here.
                _, sub = jax.random.split(jax.random.wrap_key_data(jnp.zeros(2, jnp.uint32)))
                key = jax.random.fold_in(sub, 2 + l)
                mask = jax.random.bernoulli(key, jnp.float32(keep), f.shape)
                f = jnp.where(mask, f / keep, 0)
            h = f + h if residual and l > 0 and f.shape == h.shape else f


def make(name, widths, batch, norm=False, keep=1.0, residual=False, encode=lambda x: x, raw=None):
    rng = np.random.default_rng(len(name))
    net = Net(widths, norm, nnx.Rngs(0))
    state = nnx.state(net, nnx.Param)
    # float32 numbers, which tests set exactly.
    state = jax.tree.map(lambda p: jnp.asarray(np.float32(p + 0.3 * rng.standard_normal(p.shape)), F), state)
    nnx.update(net, state)
    x = np.float32(rng.standard_normal((batch, raw or widths[0])))
    y = np.float32(rng.standard_normal((batch, widths[-1])))
    loss = lambda net: ((net(encode(jnp.asarray(x, F)), keep, residual) - y) ** 2).mean()
    value, grads = nnx.value_and_grad(loss)(net)
    out.update({f"{name}_x": x, f"{name}_y": y, f"{name}_loss": np.asarray([value])})
    for kind, tree in [("", state), ("grads.", grads)]:
        for group, parts in [("layers", ["kernel", "bias"]), ("norms", ["scale", "bias"] if norm else [])]:
            for i in range(len(widths) - 1 - (group == "norms")):
                for part in parts:
                    value = np.asarray(tree[group][i][part][...])
                    out[f"{name}_{kind}{group}.{i}.{part}"] = np.float32(value) if kind == "" else value
    out[f"{name}_prediction"] = np.asarray(net(encode(jnp.asarray(x, F)), keep, residual))


make("norm", [3, 6, 5, 2], 7, norm=True)
make("dropout", [3, 6, 6, 2], 7, keep=0.75)
make("residual", [2, 5, 5, 5, 4, 4, 1], 4, residual=True)
make("all", [3, 6, 6, 6, 2], 5, norm=True, keep=0.5, residual=True)
tau = 2 * jnp.pi


def fourier(B, keep_input):
    def encode(x):
        parts = [jnp.sin(tau * x @ B), jnp.cos(tau * x @ B)]
        return jnp.concatenate([x] * keep_input + parts, -1)

    return encode


def frequency(count, keep_input):
    def encode(x):
        parts = [f(2.0**k * jnp.pi * x) for k in range(count) for f in (jnp.sin, jnp.cos)]
        return jnp.concatenate([x] * keep_input + parts, -1)

    return encode


class Embedded(nnx.Module):
    """Inputs in order, where those in `tables` are indices of rows: column -> (categories, width)."""

    def __init__(self, inputs, hidden, tables, rngs):
        width = inputs - len(tables) + sum(w for _, w in tables.values())
        self.net = Net([width] + hidden, True, rngs)
        embed = lambda c, w: nnx.Embed(c, w, dtype=F, param_dtype=F, rngs=rngs)
        self.embeddings = nnx.List([embed(*tables[column]) for column in sorted(tables)])
        self.columns = sorted(tables)

    def __call__(self, x):
        parts = [x[:, i : i + 1] for i in range(x.shape[1])]
        for column, embed in zip(self.columns, self.embeddings):
            parts[column] = embed(x[:, column].astype(int))
        return self.net(jnp.concatenate(parts, -1), 1.0, False)


def embedded(name, inputs, hidden, tables, batch):
    rng = np.random.default_rng(len(name))
    net = Embedded(inputs, hidden, tables, nnx.Rngs(3))
    single = lambda p: jnp.asarray(np.float32(p), F)
    nnx.update(net, jax.tree.map(single, nnx.state(net, nnx.Param)))
    x = np.float32(rng.standard_normal((batch, inputs)))
    for column, (categories, _) in tables.items():
        x[:, column] = rng.integers(0, categories, batch)
    y = np.float32(rng.standard_normal((batch, hidden[-1])))
    loss = lambda net: ((net(jnp.asarray(x, F)) - y) ** 2).mean()
    value, grads = nnx.value_and_grad(loss)(net)
    out.update({f"{name}_x": x, f"{name}_y": y, f"{name}_loss": np.asarray([value])})
    for kind, tree in [("", nnx.state(net, nnx.Param)), ("grads.", grads)]:
        cast = np.float32 if kind == "" else np.asarray
        for group, parts in [("layers", ["kernel", "bias"]), ("norms", ["scale", "bias"])]:
            for i in range(len(hidden) - (group == "norms")):
                for part in parts:
                    out[f"{name}_{kind}{group}.{i}.{part}"] = cast(tree["net"][group][i][part][...])
        for i in range(len(tables)):
            out[f"{name}_{kind}embeddings.{i}.embedding"] = cast(tree["embeddings"][i]["embedding"][...])
    out[f"{name}_prediction"] = np.asarray(net(jnp.asarray(x, F)))


B = np.float32(np.random.default_rng(7).standard_normal((2, 5)) * 2)
out["fourier_frequencies"] = out["fourier_input_frequencies"] = B
make("fourier", [10, 6, 1], 7, encode=fourier(jnp.asarray(B, F), False), raw=2)
make("fourier_input", [12, 6, 1], 7, encode=fourier(jnp.asarray(B, F), True), raw=2)
make("frequency", [18, 6, 1], 7, encode=frequency(3, False), raw=3)
make("frequency_input", [21, 6, 1], 7, encode=frequency(3, True), raw=3)
embedded("embedding", 5, [6, 2], {1: (4, 3), 2: (7, 2), 4: (2, 6)}, 9)


def initial_tables(name, inputs, hidden, tables):
    """Those that float32 parameters begin with."""
    rngs = nnx.Rngs(3)
    width = inputs - len(tables) + sum(w for _, w in tables.values())
    f32 = jnp.float32
    for i, o in zip([width] + hidden, hidden):
        nnx.Linear(i, o, param_dtype=f32, rngs=rngs)
    for w in hidden[:-1]:
        nnx.LayerNorm(w, param_dtype=f32, rngs=rngs)
    for i, column in enumerate(sorted(tables)):
        table = nnx.Embed(*tables[column], param_dtype=f32, rngs=rngs)
        out[f"{name}_init.{i}"] = np.asarray(table.embedding[...])


initial_tables("embedding", 5, [6, 2], {1: (4, 3), 2: (7, 2), 4: (2, 6)})
save_file(out, os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.safetensors"))
