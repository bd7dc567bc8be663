# planted: rule=none, culprit=none, device=cpu
# cause: there is none: convolutions run on all cores, at a batch that is large enough.
# bound: nothing above a tenth of a step.
"""Classifies images with convolutions on all cores."""
import common

torch = common.need("torch")


def main():
    torch.set_num_threads(common.cores())
    model = torch.nn.Sequential(*(torch.nn.Conv2d(128, 128, 3, padding=1) for _ in range(6))).eval()
    images = torch.rand(8, 128, 32, 32)
    with torch.no_grad():
        for _ in common.steps():
            model(images)


if __name__ == "__main__":
    main()
