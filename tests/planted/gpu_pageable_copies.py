# planted: rule=pageable_copies, culprit=copy_|_to_copy|ageable, device=gpu
# cause: large batches are copied from pageable memory, by a call that waits for the copy.
# bound: the time of the copies from pageable memory, about seven tenths of a step.
"""Classifies batches of images that lie in the host's memory."""
import common

torch, device = common.cuda()
from nets import ConvNet


def main():
    model = ConvNet().to(device, torch.bfloat16, memory_format=torch.channels_last).eval()
    batches = [torch.randn(256, 3, 224, 224, device=device).cpu() for _ in range(4)]
    if common.mended():
        batches = [batch.pin_memory() for batch in batches]
    with torch.no_grad():
        for step in common.steps():
            images = batches[step % 4].to(device, non_blocking=common.mended())
            model(images.to(torch.bfloat16, memory_format=torch.channels_last)).argmax(1)


if __name__ == "__main__":
    main()
