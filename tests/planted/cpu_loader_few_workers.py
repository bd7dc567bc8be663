# planted: rule=input_pipeline, culprit=__getitem__|fetch|Loader|worker, device=cpu
# cause: a single worker reads all samples, each of which takes a while to arrive from a store elsewhere.
# bound: the time in which the loop waits for the loader's queue, about eight tenths of a step.
"""Trains a small image classifier on samples of a remote store."""
import time

import common

torch = common.need("torch")
from nets import small_classifier, train


class Remote(torch.utils.data.Dataset):
    def __init__(self):
        self.images = torch.rand(64, 3, 64, 64)

    def __len__(self):
        return 1_000_000

    def fetch(self, index):
        time.sleep(0.01)  # the time that a store takes to answer
        return self.images[index % 64]

    def __getitem__(self, index):
        return self.fetch(index), index % 10


def main():
    workers = 8 if common.mended() else 1
    loader = torch.utils.data.DataLoader(Remote(), batch_size=8, num_workers=workers)
    train(small_classifier(16, kernel=3, stride=1), common.steps(loader))


if __name__ == "__main__":
    main()
