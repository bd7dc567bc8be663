# planted: rule=recompilation, culprit=compile|Scorer|forward, device=gpu, seconds=20
# cause: each request has a length of its own, and torch.compile makes new code for each.
# bound: the time of compiling, more than nine tenths of a step.
"""Scores sentences of many lengths with a compiled model."""
import common

torch, device = common.cuda()


class Scorer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        return torch.softmax(x.mean(1), -1)


def main():
    for limit in ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit"):
        if hasattr(torch._dynamo.config, limit):
            setattr(torch._dynamo.config, limit, 10_000)
    model = torch.compile(Scorer(512).to(device).eval(), dynamic=False)
    with torch.no_grad():
        for step in common.steps():
            length = 64 + step * 37 % 448
            if common.mended():
                length = (length + 127) // 128 * 128  # padded to one of four
            model(torch.randn(16, length, 512, device=device))


if __name__ == "__main__":
    main()
