"""PyTorch, `torch.compile` of the whole step: one call from the host draws the batch, differentiates and updates.

The data is drawn with PyTorch's own generator, so the losses are not those of the JAX scripts.
"""

import torch

from common import LEARNING_RATE, report
from torch_job import parse_options, start_task

B1, B2, EPS = 0.9, 0.999, 1e-8

# Lets the compiler see the backward pass; otherwise the step falls apart into several graphs.
torch._dynamo.config.trace_autograd_ops = True


class Adam:
    """Adam's state and rule, written out because the compiler does not look into `torch.optim`."""

    def __init__(self, params):
        """Both moments and the count start at zero."""
        self.params = list(params)
        self.mu = [torch.zeros_like(param) for param in self.params]
        self.nu = [torch.zeros_like(param) for param in self.params]
        self.count = torch.zeros((), device=self.params[0].device)

    @torch.no_grad()
    def update(self, grads):
        """Change the parameters in place."""
        self.count += 1
        mu_correction, nu_correction = 1 - B1**self.count, 1 - B2**self.count
        for param, grad, mu, nu in zip(self.params, grads, self.mu, self.nu, strict=True):
            mu.lerp_(grad, 1 - B1)
            nu.lerp_(grad * grad, 1 - B2)
            param -= LEARNING_RATE * (mu / mu_correction) / ((nu / nu_correction).sqrt() + EPS)


@torch.compile(fullgraph=True)
def step(model, adam, draw_batch, loss_of):
    """Draw a batch, differentiate, update."""
    x, target = draw_batch()
    loss = loss_of(model(x), target)
    adam.update(torch.autograd.grad(loss, adam.params))
    return loss.detach()


def main():
    """Time the loop and print the result."""
    options = parse_options(__doc__)

    def start():
        model, draw_batch, loss_of = start_task(options)
        return model, Adam(model.parameters()), draw_batch, loss_of

    def train(state, steps):
        for _ in range(steps):
            loss = step(*state)
        return loss.item()

    report("torch_compiled", options, start, train)


if __name__ == "__main__":
    main()
