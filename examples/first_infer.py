"""first_infer.py: classifies photos with PyTorch, slower than it could. See docs/first_minutes.md.

    python first_infer.py               prints how many photos it classifies in a second
    xsp run -- python first_infer.py    says what the time of a photo is made of
"""

import time

import torch
from torch import nn

PHOTOS = 100
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load(number):
    """Stands for a decoder of photos: 224 x 224 pixels of three colours, as bytes."""
    generator = torch.Generator().manual_seed(number)
    return torch.randint(0, 256, (224, 224, 3), dtype=torch.uint8, generator=generator)


def prepare(photo):
    """Returns a photo as the network wants it: each colour normalised, and the colours first."""
    pixels = photo.flatten().tolist()
    values = [(pixel / 255 - MEAN[i % 3]) / SPREAD[i % 3] for i, pixel in enumerate(pixels)]
    return torch.tensor(values).reshape(1, 224, 224, 3).permute(0, 3, 1, 2)


def build():
    """Returns the network and an example of its input, for: xsp profile first_infer.py:build"""
    torch.manual_seed(0)
    layers = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64), (64, 128), (128, 256)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride=2), nn.BatchNorm2d(outputs), nn.ReLU()]
    network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))
    return network.eval(), torch.rand(1, 3, 224, 224)


def main():
    network, _ = build()
    photos = [load(number) for number in range(PHOTOS)]
    best = 0.0
    start = time.perf_counter()
    with torch.inference_mode():
        for photo in photos:
            best += network(prepare(photo)).max().item()
    seconds = time.perf_counter() - start
    print(f"{PHOTOS / seconds:.1f} photos/s, the best scores add up to {best:.4f}")


if __name__ == "__main__":
    main()
