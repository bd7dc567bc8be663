# planted: rule=synchronisation, culprit=item|_local_scalar_dense|check, device=gpu
# cause: after each layer .item() asks whether all values are finite, so that the GPU runs dry in each.
# bound: the time in which the GPU is idle after an .item(), about a fifth of a step.
"""Evaluates a deep perceptron, and checks its layers for values that are not finite."""
import common

torch, device = common.cuda()


class Checked(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False) for _ in range(depth))
        self.bad = torch.zeros((), device=device)

    def check(self, x):
        bad = x[0].sum().isnan()
        if common.mended():
            self.bad += bad  # examined once, at the end
        elif bad.item():
            raise ValueError("a layer's output is not finite")

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            self.check(x)
        return x


def main():
    model = Checked(4096, 32).to(device, torch.bfloat16).eval()
    inputs = torch.randn(2048, 4096, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(inputs)
    if model.bad.item():
        raise ValueError("a layer's output is not finite")


if __name__ == "__main__":
    main()
