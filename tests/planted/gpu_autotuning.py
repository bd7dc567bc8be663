# planted: rule=autotuning, culprit=benchmark|cudnn|conv2d|Conv2d, device=gpu
# cause: cudnn.benchmark tries all algorithms for each new size, and sizes are new in every step.
# bound: the time in which algorithms are tried, about nine tenths of a step.
"""Segments photographs of many sizes."""
import common

torch, device = common.cuda()
from nets import ConvNet


def main():
    torch.backends.cudnn.benchmark = not common.mended()
    model = ConvNet().to(device, torch.float16, memory_format=torch.channels_last).eval()
    with torch.no_grad():
        for step in common.steps():
            height, width = 224 + 8 * (step % 96), 224 + 8 * (step // 96 % 96)
            images = torch.randn(8, 3, height, width, device=device, dtype=torch.float16)
            model(images.to(memory_format=torch.channels_last))


if __name__ == "__main__":
    main()
