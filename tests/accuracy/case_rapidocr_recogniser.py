"""rapidocr's reader of lines, on rendered lines of text."""
from accuracy import Case
from original_rapidocr import image_of, stage
from rendered_lines import write_lines

COUNT = 100


def make(folder):
    files = write_lines(folder, COUNT)
    lines = ["file\tlabel"] + [f"{path}\t{text}" for path, text in files]
    (folder / "files.tsv").write_text("\n".join(lines) + "\n")
    read = stage("Rec")
    # One by one, as xsp does: a batch is padded to its longest line.
    original = [tuple(read(image_of(path))[0][0]) for path, _ in files]
    return Case("rapidocr_recogniser", str(folder / "files.tsv"), original,
                "PyPI's rapidocr-onnxruntime 1.4.4",
                f"{COUNT} lines of 2 to 6 words, rendered by Pillow with four of Debian's DejaVu fonts",
                "TextRecognizer of the package, line by line",
                ("cer",))
