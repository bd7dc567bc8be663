#!/usr/bin/env python3
"""Shows what the steps before a model do to its accuracy and latency: rapidocr's reader of lines.

  VENV/bin/python tests/accuracy/steps_matter.py [--write]     (VENV as for accuracy.py)

Each row changes one step of the shipped manifest and reads the same 100 rendered lines. The latency of a line
is the median of the request's latency, from the file to the text. --write puts the table into
docs/accuracy.md, between its two marks.
"""
import argparse
import json
import pathlib
import tempfile

from accuracy import BEGIN, END, PAGE, ROOT, run
from rendered_lines import write_lines

SHIPPED = ROOT / "manifests/packages/rapidocr_recogniser.yaml"


class Jpeg:
    """Makes a JPEG file of an image; or a PNG file of what FFmpeg decodes of it, which is no step of xsp."""

    def __init__(self, quality, full_colours=False, by_ffmpeg=False):
        self.quality, self.full_colours, self.by_ffmpeg = quality, full_colours, by_ffmpeg

    def file_of(self, path):
        from PIL import Image
        jpeg = path.with_suffix(".jpg")
        Image.open(path).save(jpeg, quality=self.quality, subsampling=0 if self.full_colours else 2)
        if not self.by_ffmpeg:
            return jpeg
        import av
        with av.open(str(jpeg), format="mjpeg") as frames:
            Image.fromarray(next(frames.decode(video=0)).to_ndarray(format="rgb24")).save(path)
        return path


ORDER = "colour_order: {to: bgr}"
RESIZE = "resize_opencv: {height: 48, width_min: 320, filter: bilinear}"
NORMALISE = "normalise: {scale: 255, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}"
# Name, what is replaced, by what, and what makes a file of an image; None: it stays PNG.
ROWS = [
    ("as shipped", "", "", None),
    ("colours: red first", ORDER, "colour_order: {to: rgb}", None),
    ("resize: Pillow, bilinear", RESIZE, "resize_pillow: {short: 48, filter: bilinear}", None),
    ("resize: Pillow, bicubic", RESIZE, "resize_pillow: {short: 48, filter: bicubic}", None),
    ("resize: Pillow, box", RESIZE, "resize_pillow: {short: 48, filter: box}", None),
    ("resize: to 320 x 48, not in shape", RESIZE, "resize_opencv: {height: 48, width: 320}", None),
    ("normalise: to 0 to 1", NORMALISE, "normalise: {scale: 255}", None),
    ("normalise: by ImageNet's mean and deviation", NORMALISE,
     "normalise: {scale: 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}", None),
    ("normalise: none, 0 to 255", NORMALISE, "normalise: {scale: 1}", None),
    *((f"decoder: JPEG of quality {quality}", "", "", Jpeg(quality)) for quality in (90, 30, 5)),
    ("decoder: JPEG of quality 30, colours in full", "", "", Jpeg(30, full_colours=True)),
    *((f"decoder: JPEG of quality {quality}, decoded by FFmpeg", "", "", Jpeg(quality, by_ffmpeg=True))
      for quality in (90, 30, 5)),
]


def data_of(place, jpeg):
    """Writes the lines and their list. Returns the list."""
    place.mkdir()
    lines = ["file\tlabel"]
    for path, text in write_lines(place, 100):
        path = jpeg.file_of(path) if jpeg else path
        lines.append(f"{path}\t{text}")
    (place / "files.tsv").write_text("\n".join(lines) + "\n")
    return place / "files.tsv"


def measure(xsp, folder, number, row):
    """Returns the rows of `result` by their metric."""
    _, old, new, jpeg = row
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text, old
    manifest = folder / f"changed{number}.yaml"
    manifest.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    data = str(data_of(folder / f"lines{number}", jpeg))
    answer = json.loads(run(xsp, "evaluate", str(manifest), "--accuracy", "--data", data, "--quiet",
                            "-o", str(folder / "steps.xsp"), "--format", "json"))
    return {line["metric"]: line for line in answer}


def cells(row, scores):
    cer, latency = scores["cer"], f"{scores['latency.p50']['value'] / 1e6:.1f}"
    if row[3] and row[3].by_ffmpeg:
        latency = "not xsp's"  # what is read is PNG
    return f"| {row[0]} | {cer['value']:.4f} | {cer['low']:.4f} to {cer['high']:.4f} | {latency} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xsp", default=str(ROOT / "build/release/bin/xsp"))
    parser.add_argument("--write", action="store_true", help="write into docs/accuracy.md")
    options = parser.parse_args()
    lines = ["| one step changed | character error rate | 95 % interval | median latency of a line (ms) |",
             "| --- | --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as scratch:
        for number, row in enumerate(ROWS):
            lines.append(cells(row, measure(options.xsp, pathlib.Path(scratch), number, row)))
            print(lines[-1], flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
