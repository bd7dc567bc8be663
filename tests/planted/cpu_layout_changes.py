# planted: rule=layout_changes, culprit=contiguous|clone|copy_|permute|Norm, device=cpu
# cause: the normalisation of each block wants channels last, and tensors are transposed around it.
# bound: the time of the transposing copies, about half of a step.
"""Normalises feature maps over their channels, as networks for images do after depthwise convolutions."""
import common

torch = common.need("torch")


class Norm(torch.nn.Module):
    """Normalises over the channels."""
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        last = x.permute(0, 2, 3, 1).contiguous()  # copies nothing if memory has channels last
        last = torch.nn.functional.layer_norm(last, last.shape[-1:], self.scale)
        first = last.permute(0, 3, 1, 2)
        return first if common.mended() else first.contiguous()


def main():
    blocks = [layer for _ in range(4) for layer in (Norm(64), torch.nn.ReLU())]
    model, pictures = torch.nn.Sequential(*blocks).eval(), torch.rand(4, 64, 112, 112)
    if common.mended():
        pictures = pictures.to(memory_format=torch.channels_last)
    with torch.no_grad():
        for _ in common.steps():
            model(pictures)


if __name__ == "__main__":
    main()
