# planted: rule=unaligned_sizes, culprit=10923|gemm|linear|Linear, device=gpu
# cause: the hidden layer is 10923 wide, which is no multiple of 8, so that slower kernels multiply.
# bound: the products' time less what they take with aligned sizes, about half of a step.
"""Evaluates the gated layers of a language model whose width is 8/3 of its input's."""
import common

torch, device = common.cuda()


class Gated(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        hidden = int(8 / 3 * width) + 1
        if common.mended():
            hidden = (hidden + 255) // 256 * 256
        self.gate = torch.nn.Linear(width, hidden, bias=False)
        self.up = torch.nn.Linear(width, hidden, bias=False)
        self.down = torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))


def main():
    model = torch.nn.Sequential(*(Gated(4096) for _ in range(4))).to(device, torch.bfloat16).eval()
    tokens = torch.randn(4096, 4096, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(tokens)


if __name__ == "__main__":
    main()
