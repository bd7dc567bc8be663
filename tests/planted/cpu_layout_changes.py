# planted: rule=layout_changes, culprit=contiguous|clone|copy_|permute|Norm, device=cpu
# cause: the normalisation of each block wants channels last, and tensors are transposed around it.
# bound: the time of the transposing copies, about half of a step.
"""Evaluates the blocks of a network whose convolutions are depthwise."""
import common

torch = common.need("torch")


class Norm(torch.nn.Module):
    """Normalises over the channels."""
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        if common.mended():
            mean = x.mean(1, keepdim=True)
            variance = (x * x).mean(1, keepdim=True) - mean * mean
            return (x - mean) * (variance + 1e-5).rsqrt() * self.scale[:, None, None]
        last = x.permute(0, 2, 3, 1).contiguous()
        last = torch.nn.functional.layer_norm(last, last.shape[-1:], self.scale)
        return last.permute(0, 3, 1, 2).contiguous()


def main():
    blocks = [layer for _ in range(4) for layer in (Norm(64), torch.nn.ReLU())]
    model, pictures = torch.nn.Sequential(*blocks).eval(), torch.rand(4, 64, 112, 112)
    with torch.no_grad():
        for _ in common.steps():
            model(pictures)


if __name__ == "__main__":
    main()
