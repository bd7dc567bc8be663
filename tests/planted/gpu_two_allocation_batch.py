# planted: rule=allocation+small_batch, culprit=empty_cache|cudaMalloc|cudaFree|batch|Linear, device=gpu
# cause: requests are answered one by one, and the memory of each one's cache is given back after it.
# bound: about half of a step for the allocations; and for an input nine tenths of the rest by a larger batch.
"""Answers requests with a wide perceptron, keeps a cache for each, and gives all memory back after it."""
import common

torch, device = common.cuda()
from nets import Wide


def main():
    model = torch.nn.Sequential(*(Wide(4096) for _ in range(2))).to(device, torch.bfloat16).eval()
    requests = torch.randn(16, 4096, device=device, dtype=torch.bfloat16)
    size = 16 if common.mended("small_batch") else 1
    with torch.no_grad():
        for _ in common.steps():
            for batch in requests.split(size):
                cache = torch.empty(64 << 20, device=device, dtype=torch.uint8)
                model(batch)
                del cache
                if not common.mended("allocation"):
                    torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
