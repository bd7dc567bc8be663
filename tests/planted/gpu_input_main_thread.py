# planted: rule=input_pipeline, culprit=__getitem__|augment|DataLoader, device=gpu
# cause: images are decoded and augmented by the training loop's own thread, while the GPU waits.
# bound: the time in which the loader prepares a batch, about nine tenths of a step.
"""Trains an image classifier on images that are augmented in NumPy."""
import common

torch, device = common.cuda()
import numpy as np
from nets import ConvNet


class Photos(torch.utils.data.Dataset):
    def __init__(self):
        self.images = np.random.default_rng(0).integers(0, 256, (64, 256, 256, 3), dtype=np.uint8)

    def __len__(self):
        return 1_000_000

    def augment(self, image, index):
        random = np.random.default_rng(index)
        top, left = random.integers(0, 32, 2)
        crop = image[top:top + 224, left:left + 224].astype(np.float32) / 255
        if random.random() < 0.5:
            crop = crop[:, ::-1]
        crop = np.clip((crop - crop.mean()) * random.uniform(0.8, 1.2) + random.uniform(0.4, 0.6), 0, 1)
        crop = crop ** random.uniform(0.9, 1.1)
        return (crop - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)

    def __getitem__(self, index):
        image = self.augment(self.images[index % 64], index)
        return np.ascontiguousarray(image.transpose(2, 0, 1), dtype=np.float32), index % 100


def main():
    workers = min(12, common.cores()) if common.mended() else 0
    loader = torch.utils.data.DataLoader(Photos(), batch_size=64, num_workers=workers, pin_memory=True)
    model = ConvNet().to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for images, labels in common.steps(loader):
        images = images.to(device, memory_format=torch.channels_last, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
