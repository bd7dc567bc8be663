# planted: rule=memory_chains, culprit=gelu|mul|add|pow|tanh, device=cpu
# cause: an activation is written out, so that each of its eight operators reads and writes all of memory.
# bound: the time of the chain less that of reading and writing once, about two thirds of a step.
"""Evaluates an activation on large tensors, written as in the paper."""
import math

import common

torch = common.need("torch")


def gelu(x):
    if common.mended():
        return torch.nn.functional.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))


class Activation(torch.nn.Module):
    def forward(self, x):
        return gelu(gelu(x))


def main():
    model, values = Activation().eval(), torch.randn(64, 128, 1024)
    with torch.no_grad():
        for _ in common.steps():
            model(values)


if __name__ == "__main__":
    main()
