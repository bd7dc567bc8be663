# planted: rule=garbage_collection, culprit=collect|gc, device=gpu
# cause: gc.collect() in every step walks over the index of all samples, while the GPU waits.
# bound: the time of the collections, about eight tenths of a step.
"""Trains on samples that an index in Python describes."""
import gc

import common

torch, device = common.cuda()
from nets import Block


def main():
    index = [{"name": f"sample {i}", "shape": [i % 7, i % 5], "label": i % 100} for i in range(300_000)]
    model = torch.nn.Sequential(*(Block(512, 8) for _ in range(4)), torch.nn.Linear(512, 100)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    tokens = torch.randn(16, 256, 512, device=device)
    for step in common.steps():
        samples = [index[(step * 16 + i) % len(index)] for i in range(16)]
        labels = torch.tensor([sample["label"] for sample in samples], device=device)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(tokens).mean(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not common.mended():
            gc.collect()  # the author believes that this saves memory


if __name__ == "__main__":
    main()
