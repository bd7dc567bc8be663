"""Lines of text as images, by Pillow with Debian's DejaVu fonts."""
import pathlib
import random

from PIL import Image, ImageDraw, ImageFont

FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
NAMES = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf"]
WORDS = ("the time of each layer is measured on this machine and told with its interval a kernel runs while "
         "another waits for memory Batch 16 takes 48.5 ms Model A5 was opened at 10:42 Total 1337 files "
         "Error 404 Queue 7 of 12 Processor Float32 Number 2026").split()


def line_of(index):
    """Returns a line's text and its image; the same for the same number."""
    chance = random.Random(index)
    if not FONTS.is_dir():
        raise SystemExit(f"accuracy: {FONTS}: no fonts: install fonts-dejavu-core")
    text = " ".join(chance.choice(WORDS) for _ in range(chance.randint(2, 6)))
    font = ImageFont.truetype(str(FONTS / chance.choice(NAMES)), chance.randint(24, 44))
    left, top, right, bottom = font.getbbox(text)
    margin = 8
    paper, ink = chance.choice([("white", "black"), ((245, 240, 220), (40, 30, 90)), ((30, 40, 50), "white")])
    image = Image.new("RGB", (right - left + 2 * margin, bottom - top + 2 * margin), paper)
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font, fill=ink)
    return text, image


def write_lines(folder, count, turned=False):
    """Writes lines as PNG. Returns (path, text); if every second one is turned, (path, degrees)."""
    files = []
    for i in range(count):
        text, image = line_of(i)
        is_turned = turned and i % 2 == 1
        path = folder / f"line{i}.png"
        (image.transpose(Image.ROTATE_180) if is_turned else image).save(path)
        files.append((path, ("180" if is_turned else "0") if turned else text))
    return files
