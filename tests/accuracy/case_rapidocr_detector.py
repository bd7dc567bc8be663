"""rapidocr's finder of lines, on rendered pages; its boxes are compared with the original's."""
import random

from PIL import Image

from accuracy import Boxes
from original_rapidocr import image_of, stage
from rendered_lines import line_of

COUNT = 20


def page_of(index):
    """Returns a page with lines below each other; every third page is turned by a few degrees."""
    chance = random.Random(1000 + index)
    width, height = chance.randint(500, 1100), chance.randint(400, 900)
    page = Image.new("RGB", (width, height), "white")
    top = 20
    for number in range(chance.randint(3, 9)):
        _, line = line_of(1000 + 10 * index + number)
        if top + line.height > height:
            break
        page.paste(line, (chance.randint(10, 60), top))
        top += line.height + chance.randint(10, 40)
    angle = chance.uniform(-8, 8) if index % 3 == 2 else 0
    return page.rotate(angle, Image.BICUBIC, fillcolor="white")


def make(folder):
    find = stage("Det")
    files, original = [], []
    for i in range(COUNT):
        files.append(folder / f"page{i}.png")
        page_of(i).save(files[-1])
        original.append([[float(number) for corner in box for number in corner]
                         for box in find(image_of(files[-1]))[0]])
    return Boxes("rapidocr_detector", files, original,
                 "PyPI's rapidocr-onnxruntime 1.4.4",
                 f"{COUNT} pages of up to 9 rendered lines, a third of them turned by up to 8 degrees",
                 "TextDetector of the package")
