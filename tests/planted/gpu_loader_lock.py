# planted: rule=locks, culprit=__getitem__|Lock|read, device=gpu
# cause: the loader's eight workers take turns at one lock, so that one of them works at a time.
# bound: the time in which the loop waits for the loader, which waits for the lock, nearly all of a step.
"""Trains on compressed records, which workers read from an archive."""
import multiprocessing
import zlib

import common

torch, device = common.cuda()
import numpy as np


class Archive(torch.utils.data.Dataset):
    def __init__(self):
        random = np.random.default_rng(0)
        self.records = [zlib.compress(random.integers(0, 16, 262_144, dtype=np.uint8).tobytes(), 1)
                        for _ in range(64)]
        self.lock = multiprocessing.Lock()

    def __len__(self):
        return 1_000_000

    def read(self, index):
        return np.frombuffer(zlib.decompress(self.records[index % 64]), np.uint8)

    def __getitem__(self, index):
        if common.mended():
            record = self.read(index)
        else:
            with self.lock:  # as in readers of files that are not thread-safe
                record = self.read(index)
        return record.reshape(64, 4096), index % 100


def main():
    loader = torch.utils.data.DataLoader(Archive(), batch_size=16, num_workers=8, pin_memory=True)
    model = torch.nn.Sequential(torch.nn.Linear(4096, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 100))
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for records, labels in common.steps(loader):
        records, labels = records.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(records.float() / 16).mean(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
