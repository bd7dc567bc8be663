"""rapidocr's orientation of lines, on rendered lines of which every second is turned upside down."""
from accuracy import Case
from original_rapidocr import image_of, stage
from rendered_lines import write_lines

COUNT = 100


def make(folder):
    files = write_lines(folder, COUNT, turned=True)
    lines = ["file\tlabel"] + [f"{path}\t{label}" for path, label in files]
    (folder / "files.tsv").write_text("\n".join(lines) + "\n")
    classify = stage("Cls")
    original = []
    for path, _ in files:
        label, score = classify(image_of(path))[1][0]
        original.append((label, float(score)))
    return Case("rapidocr_orientation", str(folder / "files.tsv"), original,
                "PyPI's rapidocr-onnxruntime 1.4.4",
                f"{COUNT} rendered lines, every second of them turned by 180 degrees",
                "TextClassifier of the package, line by line",
                ("top1", "f1_macro"))
