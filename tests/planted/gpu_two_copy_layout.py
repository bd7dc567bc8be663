# planted: rule=pageable_copies+layout_changes, culprit=copy_|ageable|nchw|nhwc|conv2d|Conv2d, device=gpu
# cause: batches are copied from pageable memory, and convolutions change their layout.
# bound: about half of a step for the copies, and a sixth for the layout.
"""Denoises batches of images that lie in the host's memory."""
import common

torch, device = common.cuda()


class Denoiser(torch.nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.enter = torch.nn.Conv2d(8, width, 3, padding=1)
        self.body = torch.nn.ModuleList(torch.nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))

    def forward(self, x):
        x = self.enter(x)
        for conv in self.body:
            x = torch.relu(conv(x))
        return x


def main():
    layout = torch.channels_last if common.mended("layout_changes") else torch.contiguous_format
    model = Denoiser(64, 12).to(device, torch.float16, memory_format=layout).eval()
    images = torch.randn(4, 64, 8, 256, 256, device=device, dtype=torch.float16)
    batches = [batch.to(memory_format=layout).cpu() for batch in images]
    is_pinned = common.mended("pageable_copies")
    if is_pinned:
        batches = [batch.pin_memory() for batch in batches]
    with torch.no_grad():
        for step in common.steps():
            model(batches[step % 4].to(device, non_blocking=is_pinned))


if __name__ == "__main__":
    main()
