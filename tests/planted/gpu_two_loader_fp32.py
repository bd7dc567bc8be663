# planted: rule=input_pipeline+idle_tensor_cores, culprit=__getitem__|Loader|linear|gemm|Linear, device=gpu
# cause: the loop's own thread prepares the data, and the products run in fp32 off the tensor cores.
# bound: about half of a step for the loader, and four tenths for the products.
"""Trains a perceptron on records that are normalised in NumPy."""
import common

torch, device = common.cuda()
import numpy as np


class Records(torch.utils.data.Dataset):
    def __init__(self):
        self.records = np.random.default_rng(0).standard_normal((256, 4096)).astype(np.float32)

    def __len__(self):
        return 10_000_000

    def __getitem__(self, index):
        record = np.roll(self.records[index % 256], index)
        return ((record - record.mean()) / record.std()).astype(np.float32)


def main():
    if common.mended("idle_tensor_cores"):
        torch.set_float32_matmul_precision("high")
    workers = min(12, common.cores()) if common.mended("input_pipeline") else 0
    loader = torch.utils.data.DataLoader(Records(), batch_size=1024, num_workers=workers, pin_memory=True)
    model = torch.nn.Sequential(torch.nn.Linear(4096, 16384), torch.nn.ReLU(), torch.nn.Linear(16384, 16384),
                                torch.nn.ReLU(), torch.nn.Linear(16384, 4096)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for records in common.steps(loader):
        records = records.to(device, non_blocking=True)
        loss = torch.nn.functional.mse_loss(model(records), records)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


if __name__ == "__main__":
    main()
