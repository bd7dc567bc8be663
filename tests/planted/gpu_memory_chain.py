# planted: rule=memory_chains, culprit=gelu|mul|add|pow|elementwise, device=gpu
# cause: an activation and a normalisation are written out, and each operator reads and writes memory.
# bound: the time of the chain's kernels less that of reading and writing once, about eight tenths.
"""Evaluates activations and normalisations, written as in the papers."""
import math

import common

torch, device = common.cuda()
functional = torch.nn.functional


def gelu(x):
    if common.mended():
        return functional.gelu(x, approximate="tanh")
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


def normalise(x):
    if common.mended():
        return functional.layer_norm(x, x.shape[-1:])
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred ** 2).mean(-1, keepdim=True) + 1e-5)


class Mixer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = torch.nn.Linear(width, width, bias=False)

    def forward(self, x):
        for _ in range(3):
            x = normalise(gelu(x))
        return self.mix(x)


def main():
    model = Mixer(2048).to(device, torch.bfloat16).eval()
    values = torch.randn(65536, 2048, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(values)


if __name__ == "__main__":
    main()
