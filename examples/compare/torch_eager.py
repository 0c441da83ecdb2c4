"""PyTorch, eager mode with the fused Adam: every operation is a call from the host.

The data is drawn with PyTorch's own generator, so the losses are not those of the JAX scripts.
"""

import torch

from common import LEARNING_RATE, report
from torch_job import parse_options, start_task


def main():
    """Time the loop and print the result."""
    options = parse_options(__doc__)

    def start():
        model, draw_batch, loss_of = start_task(options)
        return model, torch.optim.Adam(model.parameters(), LEARNING_RATE, fused=True), draw_batch, loss_of

    def train(state, steps):
        model, optimizer, draw_batch, loss_of = state
        for _ in range(steps):
            x, target = draw_batch()
            optimizer.zero_grad()
            loss = loss_of(model(x), target)
            loss.backward()
            optimizer.step()
        return loss.item()

    report("torch_eager", options, start, train)


if __name__ == "__main__":
    main()
