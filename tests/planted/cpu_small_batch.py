# planted: rule=small_batch, culprit=batch, device=cpu
# cause: 32 small images are classified one by one, and each pays for all calls of the framework.
# bound: for an input, the time at batch 1 less that at batch 32, about nine tenths of a step.
"""Classifies small images with a small network."""
import common

torch = common.need("torch")


def block(width):
    return torch.nn.Sequential(torch.nn.Conv2d(width, width, 3, padding=1), torch.nn.BatchNorm2d(width),
                               torch.nn.ReLU())


def main():
    torch.set_num_threads(1)
    head = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10))
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), *(block(8) for _ in range(8)), head)
    model.eval()
    images = torch.rand(32, 3, 20, 20)
    size = 32 if common.mended() else 1
    with torch.no_grad():
        for _ in common.steps():
            for batch in images.split(size):
                model(batch)


if __name__ == "__main__":
    main()
