# planted: rule=layout_changes, culprit=nchwToNhwc|nhwcToNchw|channels_last|conv2d|Conv2d, device=gpu
# cause: convolutions get tensors channels-first, and change the layout before and after each of them.
# bound: the time of the kernels that change the layout, about a quarter of a step or more.
"""Denoises images with a convolutional network in half precision."""
import common

torch, device = common.cuda()


class Denoiser(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter = torch.nn.Conv2d(8, width, 3, padding=1)
        self.body = torch.nn.ModuleList(torch.nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.leave = torch.nn.Conv2d(width, 8, 3, padding=1)

    def forward(self, x):
        x = self.enter(x)
        for conv in self.body:
            x = torch.relu(conv(x))
        return self.leave(x)


def main():
    layout = torch.channels_last if common.mended() else torch.contiguous_format
    model = Denoiser(64, 12).to(device, torch.float16, memory_format=layout).eval()
    images = torch.randn(32, 8, 256, 256, device=device, dtype=torch.float16).to(memory_format=layout)
    with torch.no_grad():
        for _ in common.steps():
            model(images)


if __name__ == "__main__":
    main()
