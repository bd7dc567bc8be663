# planted: rule=locks, culprit=Lock|lock|fetch|__getitem__|acquire|__enter__, device=cpu
# cause: the loader's six workers take turns at one lock, so that one of them reads at a time.
# bound: the time in which the loop waits for the loader, which waits for the lock, most of a step.
"""Trains a small image classifier on samples of an archive that all workers share."""
import multiprocessing
import time

import common

torch = common.need("torch")
from nets import small_classifier, train


class Archive(torch.utils.data.Dataset):
    def __init__(self):
        self.images = torch.rand(64, 3, 64, 64)
        self.lock = multiprocessing.Lock()

    def __len__(self):
        return 1_000_000

    def fetch(self, index):
        time.sleep(0.01)  # the time that a disk takes to answer
        return self.images[index % 64]

    def __getitem__(self, index):
        if common.mended():
            return self.fetch(index), index % 10
        with self.lock:  # as in readers of files that are not thread-safe
            return self.fetch(index), index % 10


def main():
    loader = torch.utils.data.DataLoader(Archive(), batch_size=8, num_workers=6)
    train(small_classifier(16, kernel=3, stride=1), common.steps(loader))


if __name__ == "__main__":
    main()
