#!/usr/bin/env python3
"""Scores models with real weights on real data, by xsp's pipeline and by the original Python.

  python3 -m venv VENV
  VENV/bin/pip install -r tests/accuracy/requirements.txt
  VENV/bin/python tests/accuracy/accuracy.py             prints the table
  VENV/bin/python tests/accuracy/accuracy.py --write     writes docs/accuracy.md
  VENV/bin/python tests/accuracy/accuracy.py digits      one case

A case is a file case_NAME.py beside this one. Its function make(folder) writes what is needed into the
folder, and returns a Case. The original may be unable to run here: then its column is empty.
"""
import argparse
import dataclasses
import datetime
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/accuracy.md"
# steps_matter.py writes the table between them.
BEGIN, END = "<!-- steps_matter.py begins -->\n", "<!-- steps_matter.py ends -->\n"


@dataclasses.dataclass
class Case:
    manifest: str  # a name, or a file
    data: str  # the list of files and labels
    original: list  # the original's (label, score) for each file of the list
    weights: str  # where they come from
    set: str  # what the data are
    means: str  # how the original answers
    metrics: tuple = ("top1", "top5", "f1_macro")


@dataclasses.dataclass
class Boxes:
    """A case whose answers are quadrangles, of which no right ones are known: x and y of four corners."""
    manifest: str
    files: list
    original: list  # for each file, the original's quadrangles
    weights: str
    set: str
    means: str


@dataclasses.dataclass
class Rolls:
    """A case whose answers are probabilities of frames and classes."""
    manifest: str
    files: list
    original: list  # for each file, the original's array
    right: list  # for each file, the truths
    output: str
    threshold: float
    weights: str
    set: str
    means: str


def run(xsp, *arguments):
    """Returns what a verb prints. An expectation that is missed is no failure here."""
    done = subprocess.run([xsp, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"accuracy: xsp {' '.join(arguments[:2])}: {done.stderr.strip()}")
    return done.stdout


def files_of(data):
    lines = pathlib.Path(data).read_text(encoding="utf-8").splitlines()[1:]
    folder = pathlib.Path(data).parent
    return [(str(folder / file), label) for file, label in (line.split("\t") for line in lines)]


def edits(text, right):
    """Returns the insertions, deletions and substitutions that turn a text into the right one."""
    row = list(range(len(right) + 1))
    for i, character in enumerate(text, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (character != wanted))
    return row[-1]


def score_of(metric, answers, labels):
    """Returns the original's score: the share of right answers, or the character error rate."""
    if metric == "cer":
        return sum(map(edits, answers, labels)) / sum(map(len, labels))
    return sum(map(str.__eq__, answers, labels)) / len(labels)


def compare(xsp, case, folder):
    """Returns the rows of `result`, the original's score, and how the two differ."""
    evaluation = str(folder / "accuracy.xsp")
    rows = json.loads(run(xsp, "evaluate", case.manifest, "--accuracy", "--data", case.data, "--quiet",
                          "-o", evaluation, "--format", "json"))
    scores = {row["metric"]: row for row in rows}
    files = files_of(case.data)
    answers = json.loads(run(xsp, "predict", case.manifest, *[file for file, _ in files], "--quiet",
                             "--format", "json"))
    best = [(row["label"], row["score"]) for row in answers if row["rank"] in (1, None)]
    assert len(best) == len(files) == len(case.original)
    differ = [(file, ours, theirs) for (file, _), ours, theirs in zip(files, best, case.original)
              if ours[0] != theirs[0]]
    for file, ours, theirs in differ:
        print(f"  {file}: xsp {ours}, the original {theirs}", file=sys.stderr)
    spread = max((abs(ours[1] - theirs[1]) for ours, theirs in zip(best, case.original)
                  if ours[1] is not None and theirs[1] is not None), default=None)
    original = score_of(case.metrics[0], [theirs[0] for theirs in case.original],
                        [label for _, label in files])
    return scores, original, len(files) - len(differ), spread, len(files)


def farthest(one, other):
    return max(abs(a - b) for a, b in zip(one, other))


def compare_boxes(xsp, case):
    """Returns how many boxes are equal, how many one has alone, how many there are, and the largest
    difference of a corner in pixels. A box without a counterpart within 10 pixels is alone."""
    rows = json.loads(run(xsp, "predict", case.manifest, *map(str, case.files), "--quiet",
                          "--format", "json"))
    count, same, missing, spread = 0, 0, 0, 0
    for file, theirs in zip(case.files, case.original):
        ours = [[float(number) for number in row["label"].replace(",", "").split()]
                for row in rows if row["file"] == str(file)]
        count += max(len(ours), len(theirs))
        missing += abs(len(ours) - len(theirs))
        for box in theirs:
            distance = min((farthest(box, other) for other in ours), default=math.inf)
            same += distance == 0
            missing += distance > 10 and len(ours) >= len(theirs)
            spread = max(spread, distance if distance <= 10 else 0)
    return same, missing, count, spread


def frame_f1(answers, rights, threshold):
    both = wrong = 0
    for answer, right in zip(answers, rights):
        both += int(((answer >= threshold) & right).sum())
        wrong += int(((answer >= threshold) != right).sum())
    return 2 * both / (2 * both + wrong)


def compare_rolls(xsp, case):
    """Returns both scores, the share of equal decisions, and the largest difference of a probability."""
    import numpy
    rows = json.loads(run(xsp, "predict", case.manifest, *map(str, case.files), "--quiet",
                          "--format", "json"))
    ours = []
    for file, theirs in zip(case.files, case.original):
        text, = [row["label"] for row in rows
                 if row["file"] == str(file) and row["output"] == case.output]
        numbers = numpy.array(text.split(":")[1].split(","), numpy.float32)
        ours.append(numbers.reshape(theirs.shape))
    pairs = list(zip(ours, case.original))
    equal = sum(int(((a >= case.threshold) == (b >= case.threshold)).sum()) for a, b in pairs)
    return (frame_f1(ours, case.right, case.threshold), frame_f1(case.original, case.right, case.threshold),
            equal, sum(a.size for a in ours), max(float(abs(a - b).max()) for a, b in pairs))


def number(value):
    return "" if value is None else f"{value:.4f}"


def cells(name, case, result):
    scores, original, same, spread, count = result
    for metric in case.metrics:
        row = scores.get(metric)
        if row is None:
            continue
        interval = f"{number(row['low'])} to {number(row['high'])}" if row["low"] is not None else ""
        first = metric == case.metrics[0]
        yield [name if first else "", metric, number(row["value"]) or row["note"], interval,
               number(original) if first else "",
               f"{same} of {count}" if first else "",
               f"{spread:.1g}" if first and spread is not None else ""]


SCORES = ["model", "metric", "xsp", "95 % interval", "original", "same best answer",
          "largest difference of its score"]
ROLLS = ["model", "frame F1 of xsp", "of the original", "equal decisions",
         "largest difference of a probability"]
BOXES = ["model", "equal boxes", "boxes of one alone", "largest difference of another box's corner in pixels"]


def table(heading, rows):
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def machine():
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "not known"


def page(tables, cases):
    notes = "".join(textwrap.fill(f"- `{name}`: weights from {case.weights}. Data: {case.set}. Original: "
                                  f"{case.means}.", 150, subsequent_indent="  ") + "\n"
                    for name, case in cases)
    date = datetime.date.today().isoformat()
    intro = textwrap.fill(
        f"`tests/accuracy/accuracy.py --write` wrote this page on {date} (processor: {machine()}; "
        f"{os.cpu_count()} usable). xsp reads each file, runs the manifest's steps, and the model by "
        "ONNX Runtime (or the framework that is named), and scores the answers (`xsp evaluate MANIFEST "
        "--accuracy --data LIST`). The original is the Python code that the weights' authors ship, or what "
        "its own training library computes, on the same files. The intervals are those of the metrics.", 150)
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    steps = old.split(BEGIN)[1].split(END)[0] if BEGIN in old else ""
    about = textwrap.fill(
        "`tests/accuracy/steps_matter.py --write` wrote this table. Each row changes one step of "
        "rapidocr_recogniser, and reads the same 100 rendered lines. The rows were measured once, one after "
        "another, on a shared machine: latencies differ by half by chance, and intervals that overlap tell "
        "nothing apart. "
        "JPEG of quality 30 reads worse than that of 5 because the model then loses spaces between words: "
        "they are 29 of the 30 wrong characters, and 4 of the 11 at quality 5. The package's own code does "
        "so on the same files, whether Pillow, OpenCV or FFmpeg decodes them (0.0154, 0.0154, 0.0149), and "
        "the rate rises and falls steadily: 0.0087 at quality 75, 0.0124 at 50, 0.0129 at 20, 0.0082 at 10. "
        "FFmpeg's pixels differ from libjpeg-turbo's by up to 48 of 255 where colours have half the size, "
        "and by 3 where they have not.", 150)
    return (f"# Accuracy\n\n{intro}\n\n{tables}\n{notes}\n"
            "No other model has a score on this page. `xsp models show NAME` says which of its steps xsp "
            f"lacks.\n\n## What the steps do\n\n{about}\n\n{BEGIN}{steps}{END}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="cases; else all")
    parser.add_argument("--xsp", default=str(ROOT / "build/release/bin/xsp"))
    parser.add_argument("--write", action="store_true", help="write docs/accuracy.md")
    options = parser.parse_args()
    names = options.names or sorted(path.stem.removeprefix("case_") for path in HERE.glob("case_*.py"))
    sys.path.insert(0, str(HERE))
    sys.modules["accuracy"] = sys.modules[__name__]  # the cases import the same classes
    rows, boxes, rolls, cases = [], [], [], []
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            case = importlib.import_module(f"case_{name}").make(folder)
            if isinstance(case, Boxes):
                same, missing, count, spread = compare_boxes(options.xsp, case)
                boxes.append([name, f"{same} of {count}", str(missing), f"{spread:g}"])
            elif isinstance(case, Rolls):
                score, original, equal, count, spread = compare_rolls(options.xsp, case)
                rolls.append([name, number(score), number(original), f"{equal} of {count}", f"{spread:.1g}"])
            else:
                rows.extend(cells(name, case, compare(options.xsp, case, folder)))
            cases.append((name, case))
    tables = [table(heading, lines)
              for heading, lines in ((SCORES, rows), (BOXES, boxes), (ROLLS, rolls)) if lines]
    text = "\n".join(tables)
    print(text, end="")
    if options.write:
        PAGE.write_text(page(text, cases), encoding="utf-8")


if __name__ == "__main__":
    main()
