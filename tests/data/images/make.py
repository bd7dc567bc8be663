#!/usr/bin/env python3
"""Makes the images of this folder, and what Pillow and OpenCV make of them: expected/*.png and opencv/*.png.

  pip install pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy
  tests/data/images/make.py
"""
import pathlib

import cv2
import numpy
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "box": Image.BOX, "lanczos": Image.LANCZOS}


def photo(height, width):
    """Returns an image with smooth parts, edges and noise."""
    y, x = numpy.mgrid[0:height, 0:width]
    random = numpy.random.default_rng(1)
    planes = [128 + 100 * numpy.sin(x / 7 + c) * numpy.cos(y / (5 + c)) + 60 * ((x // 11 + y // 9 + c) % 2)
              for c in range(3)]
    return (numpy.stack(planes, -1) + random.normal(0, 12, (height, width, 3))).clip(0, 255).astype(numpy.uint8)


def main():
    pixels = photo(47, 61)
    alpha = numpy.tile(numpy.arange(61, dtype=numpy.uint8) * 4, (47, 1))[..., None]
    grey16 = (pixels[..., 0].astype(numpy.uint16) * 257 + 3)
    files = {"photo.jpg": (Image.fromarray(pixels), {"quality": 88}),
             "grey.jpg": (Image.fromarray(pixels).convert("L"), {"quality": 90, "progressive": True}),
             "alpha.png": (Image.fromarray(numpy.concatenate([pixels, alpha], -1)), {}),
             "palette.png": (Image.fromarray(pixels).quantize(16), {}),
             "grey16.png": (Image.fromarray(grey16), {})}
    (HERE / "expected").mkdir(exist_ok=True)
    for name, (image, options) in files.items():
        image.save(HERE / name, **options)
        decoded = Image.open(HERE / name)
        if decoded.mode.startswith("I"):  # convert() would clip 16 bits
            decoded = Image.fromarray((numpy.asarray(decoded) >> 8).astype(numpy.uint8))
        decoded.convert("RGB").save(HERE / "expected" / f"{pathlib.Path(name).stem}_{name[-3:]}.png")
    image = Image.fromarray(pixels)
    image.save(HERE / "photo.png")
    for name, method in FILTERS.items():
        for width, height in ((20, 30), (61, 20), (97, 80), (7, 5), (33, 47)):
            image.resize((width, height), method).save(HERE / "expected" / f"{name}_{width}x{height}.png")
    (HERE / "opencv").mkdir(exist_ok=True)
    for width, height in ((20, 30), (61, 20), (97, 80), (7, 5), (1, 1), (200, 47)):
        Image.fromarray(cv2.resize(pixels, (width, height))).save(HERE / "opencv" / f"{width}x{height}.png")
    half = cv2.resize(cv2.resize(pixels, (60, 46)), (30, 23))
    Image.fromarray(half).save(HERE / "opencv" / "60x46_30x23.png")


if __name__ == "__main__":
    main()
