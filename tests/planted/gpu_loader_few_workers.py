# planted: rule=input_pipeline, culprit=__getitem__|DataLoader|worker, device=gpu
# cause: a single worker computes the spectrograms of all batches, and the GPU waits for it.
# bound: the time in which the loop waits for the loader's queue, about nine tenths of a step.
"""Trains a classifier of sounds on spectrograms that a loader's workers compute."""
import common

torch, device = common.cuda()
import numpy as np
from nets import ConvNet


class Sounds(torch.utils.data.Dataset):
    def __init__(self):
        self.waves = np.random.default_rng(0).standard_normal((64, 64_000)).astype(np.float32)
        self.window = np.hanning(512).astype(np.float32)

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        wave = np.roll(self.waves[index % 64], index)
        frames = np.lib.stride_tricks.sliding_window_view(wave, 512)[::160] * self.window
        power = np.abs(np.fft.rfft(frames, axis=1)[:, :256]) ** 2
        return np.log(power + 1e-6).astype(np.float32)[None, :384], index % 100


def main():
    workers = min(12, common.cores()) if common.mended() else 1
    loader = torch.utils.data.DataLoader(Sounds(), batch_size=32, num_workers=workers, pin_memory=True)
    model = ConvNet(channels=1).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for spectrograms, labels in common.steps(loader):
        spectrograms = spectrograms.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(spectrograms), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
