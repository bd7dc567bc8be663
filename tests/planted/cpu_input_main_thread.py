# planted: rule=input_pipeline, culprit=__getitem__|augment|Loader, device=cpu
# cause: images are augmented by the training loop's own thread, before each step.
# bound: the time in which the loader prepares a batch, about three quarters of a step.
"""Trains a small image classifier on images that are augmented in NumPy."""
import common

torch = common.need("torch")
import numpy as np

from nets import small_classifier, train


class Photos(torch.utils.data.Dataset):
    def __init__(self):
        self.images = np.random.default_rng(0).integers(0, 256, (64, 160, 160, 3), dtype=np.uint8)
        self.kept = {}

    def __len__(self):
        return 1_000_000

    def augment(self, image, index):
        random = np.random.default_rng(index)
        top, left = random.integers(0, 32, 2)
        crop = image[top:top + 128, left:left + 128].astype(np.float32) / 255
        crop = np.clip((crop - crop.mean()) * random.uniform(0.8, 1.2) + 0.5, 0, 1)
        crop = crop ** random.uniform(0.9, 1.1)
        return ((crop - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)).astype(np.float32)

    def __getitem__(self, index):
        index %= 64
        if common.mended() and index in self.kept:
            return self.kept[index]
        image = self.augment(self.images[index], index)
        self.kept[index] = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))), index % 10
        return self.kept[index]


def main():
    loader = torch.utils.data.DataLoader(Photos(), batch_size=8)
    train(small_classifier(32, kernel=5, stride=4), common.steps(loader))


if __name__ == "__main__":
    main()
