"""The training job in PyTorch: network, optimizer and batches.

The rules are those of the JAX job (`lecun_normal` kernels, zero biases, tanh-form GELU, Adam with Optax's defaults),
but the random numbers come from PyTorch's own generator: the losses agree in size, not in digits.
"""

from itertools import pairwise

import torch
from torch.nn import functional

from common import NOISE, option_parser, positive

# The standard deviation of a unit normal cut off at two.
TRUNCATED_STD = 0.87962566103423978


def best_device():
    """The accelerator, if there is one that works."""
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


def parse_options(description):
    """The shared options and PyTorch's own; the choice of threads takes effect here."""
    parser = option_parser(description)
    parser.add_argument("--threads", type=positive, default=torch.get_num_threads(), help="CPU threads of an operation")
    parser.add_argument("--device", type=torch.device, default=best_device(), help="where to train")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    return options


def linear(inputs, outputs):
    """A layer that starts as Flax's does, with a `lecun_normal` kernel and no bias."""
    layer = torch.nn.Linear(inputs, outputs)
    std = inputs**-0.5 / TRUNCATED_STD
    torch.nn.init.trunc_normal_(layer.weight, std=std, a=-2 * std, b=2 * std)
    torch.nn.init.zeros_(layer.bias)
    return layer


def network(options):
    """Linear layers with a GELU between them."""
    first, *others = pairwise(options.dims)
    layers = [linear(*first)]
    for inputs, outputs in others:
        layers += [torch.nn.GELU(approximate="tanh"), linear(inputs, outputs)]
    return torch.nn.Sequential(*layers).to(options.device)


def regression_sampler(options):
    """A function that draws normal inputs and noisy linear targets."""
    inputs, outputs, device = options.dims[0], options.dims[-1], options.device
    weights = torch.randn(inputs, outputs, device=device)
    bias = torch.randn(outputs, device=device)

    def draw():
        x = torch.randn(options.batch_size, inputs, device=device)
        noise = torch.randn(options.batch_size, outputs, device=device)
        return x, x @ weights + bias + NOISE * noise

    return draw


def classification_sampler(options):
    """A function that draws normal inputs and labels that do not depend on them."""
    inputs, classes, device = options.dims[0], options.dims[-1], options.device

    def draw():
        x = torch.randn(options.batch_size, inputs, device=device)
        return x, torch.randint(classes, (options.batch_size,), device=device)

    return draw


TASKS = {
    "mse": (regression_sampler, functional.mse_loss),
    "softmax_cross_entropy": (classification_sampler, functional.cross_entropy),
}


def start_task(options):
    """A new network, the function that draws its batches and the loss, the same ones at every call."""
    torch.manual_seed(0)
    sampler, loss_of = TASKS[options.loss]
    return network(options), sampler(options), loss_of
