# planted: rule=small_batch, culprit=batch|Linear|gemv|linear, device=gpu
# cause: 32 requests are answered one by one, and each reads all weights from memory.
# bound: for an input, the time at batch 1 less that at batch 32, more than nine tenths of a step.
"""Answers requests with a wide perceptron, whose weights are far larger than its inputs."""
import common

torch, device = common.cuda()
from nets import Wide


def main():
    model = torch.nn.Sequential(*(Wide(8192) for _ in range(2))).to(device, torch.bfloat16).eval()
    requests = torch.randn(32, 8192, device=device, dtype=torch.bfloat16)
    size = 32 if common.mended() else 1
    with torch.no_grad():
        for _ in common.steps():
            for batch in requests.split(size):
                model(batch)


if __name__ == "__main__":
    main()
