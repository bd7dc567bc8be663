# planted: rule=garbage_collection, culprit=collect|gc, device=cpu
# cause: gc.collect() in every step walks over the index of all samples.
# bound: the time of the collections, about nine tenths of a step.
"""Trains a small network on samples that an index in Python describes."""
import gc

import common

torch = common.need("torch")


def main():
    index = [{"name": f"sample {i}", "shape": [i % 7, i % 5], "label": i % 10} for i in range(100_000)]
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, stride=2),
        torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.rand(8, 3, 64, 64)
    for step in common.steps():
        samples = [index[(step * 8 + i) % len(index)] for i in range(8)]
        labels = torch.tensor([sample["label"] for sample in samples])
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not common.mended():
            gc.collect()  # the author believes that this saves memory


if __name__ == "__main__":
    main()
