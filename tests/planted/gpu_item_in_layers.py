# planted: rule=synchronisation, culprit=item|_local_scalar_dense|check, device=gpu
# cause: after each layer .item() asks whether all values are finite, so that the GPU runs dry in each.
# bound: the time in which the GPU is idle after an .item(), about a third of a step.
"""Evaluates a language model, and checks its layers for values that are not finite."""
import common

torch, device = common.cuda()
from nets import Block


class Checked(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block(width, width // 64) for _ in range(depth))
        self.bad = torch.zeros((), device=device)

    def check(self, x):
        bad = x.sum().isnan()
        if common.mended():
            self.bad += bad  # looked at once, at the end
        elif bad.item():
            raise ValueError("a layer's output is not finite")

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
            self.check(x)
        return x


def main():
    model = Checked(1024, 24).to(device, torch.bfloat16).eval()
    tokens = torch.randn(8, 1024, 1024, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(tokens)
    if model.bad.item():
        raise ValueError("a layer's output is not finite")


if __name__ == "__main__":
    main()
