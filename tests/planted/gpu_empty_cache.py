# planted: rule=allocation, culprit=empty_cache|cudaMalloc|cudaFree, device=gpu
# cause: empty_cache() in every step gives all memory back, which the next step must ask the driver for again.
# bound: the time in which the GPU is idle while memory is allocated and freed, about two thirds of a step.
"""Trains a classifier of images that is short of memory, as its author thinks."""
import common

torch, device = common.cuda()
from nets import ConvNet


def main():
    model = ConvNet(depth=3).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(64, 3, 224, 224, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 100, (64,), device=device)
    for _ in common.steps():
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not common.mended():
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
