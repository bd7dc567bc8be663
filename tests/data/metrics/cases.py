#!/usr/bin/env python3
"""Writes cases.tsv: items, and their metrics by the reference implementations.

  python3 -m venv V && V/bin/pip install scikit-learn==1.9.1 scikit-image==0.26.0 jiwer==4.0.0 pycocotools==2.0.11
  V/bin/python tests/data/metrics/cases.py >tests/data/metrics/cases.tsv

A line is a word and its values, divided by tabs: `case NAME`; `item`; `named.PART` and `right.PART` of the
item; `want METRIC VALUE`. A box is: label left top right bottom score.
"""

import contextlib
import io
import random

import numpy
from jiwer import cer
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from scipy.stats import binomtest
from skimage.metrics import peak_signal_noise_ratio
from sklearn import metrics

rng = random.Random(17)


def line(*words):
    print("\t".join(f"{w:.12g}" if isinstance(w, float) else str(w) for w in words))


def classification(name, count, labels, skill, missing=0):
    """Prints items whose right label gets `skill` more score than the others."""
    rows, right = [], []
    for _ in range(count):
        truth = rng.choice(labels)
        scores = [rng.random() + (skill if label == truth else 0) for label in labels]
        rows.append([score / sum(scores) for score in scores])
        right.append(truth)
    line("case", name)
    named, hits1, hits5 = [], 0, 0
    for i, (scores, truth) in enumerate(zip(rows, right)):
        order = sorted(range(len(labels)), key=lambda j: -scores[j])
        ranked = [] if i < missing else [labels[j] for j in order]
        named.append(ranked[0] if ranked else "")
        hits1 += truth in ranked[:1]
        hits5 += truth in ranked[:5]
        line("item")
        line("named.labels", *ranked)
        line("named.scores", *([] if i < missing else [float(f"{scores[j]:.12g}") for j in order]))
        line("right.labels", truth)
    for metric, hits in (("top1", hits1), ("top5", hits5)):
        interval = binomtest(hits, count).proportion_ci(method="wilson")
        line("want", metric, hits / count)
        line("interval", metric, float(interval.low), float(interval.high))
    classes = sorted(set(right) | set(named) - {""})
    for average in ("macro", "micro"):
        p, r, f, _ = metrics.precision_recall_fscore_support(right, named, labels=classes, average=average,
                                                             zero_division=0)
        line("want", f"precision_{average}", float(p))
        line("want", f"recall_{average}", float(r))
        line("want", f"f1_{average}", float(f))
    if missing == 0:
        scores = numpy.array(rows)
        truth = scores[:, 1] if len(labels) == 2 else scores
        if len(labels) == 2:
            area = metrics.roc_auc_score([t == labels[1] for t in right], truth)
        else:
            area = metrics.roc_auc_score(right, truth, multi_class="ovr", average="macro", labels=labels)
        line("want", "roc_auc", float(area))


def texts():
    alphabet = "abcdefgh ßéλ漢字😀"
    pairs = [("kitten", "sitting"), ("", "empty"), ("same", "same"), ("longer than it", "it")]
    for _ in range(12):
        right = "x" + "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 30))) + "x"
        named = "".join(c for c in right if rng.random() > 0.1)
        named = "".join(rng.choice(alphabet) if rng.random() < 0.1 else c for c in named).strip() or "a"
        pairs.append((named, right))
    line("case", "texts")
    for named, right in pairs:
        line("item")
        line("named.text", named)
        line("right.text", right)
    line("want", "cer", float(cer([right for _, right in pairs], [named for named, _ in pairs])))


def frames():
    line("case", "frames")
    named, right = [], []
    for _ in range(6):
        truth = [int(rng.random() < 0.3) for _ in range(40)]
        guess = [t if rng.random() < 0.8 else 1 - t for t in truth]
        line("item")
        line("named.values", *guess)
        line("right.values", *truth)
        named += guess
        right += truth
    line("want", "frame_f1", float(metrics.f1_score(right, named)))


def pixels():
    line("case", "pixels")
    named, right = [], []
    for _ in range(5):
        truth = [rng.randrange(4) for _ in range(64)]
        guess = [t if rng.random() < 0.6 else rng.randrange(5) for t in truth]
        truth[:3] = [-1, -1, -1]
        line("item")
        line("named.values", *guess)
        line("right.values", *truth)
        named += guess[3:]
        right += truth[3:]
    line("want", "miou", float(metrics.jaccard_score(right, named, average="macro")))


def images():
    line("case", "images")
    ratios = []
    for noise in (1, 4, 20, 90):
        truth = [rng.randrange(256) for _ in range(48)]
        guess = [min(255, max(0, t + rng.randint(-noise, noise))) for t in truth]
        line("item")
        line("named.values", *guess)
        line("right.values", *truth)
        ratios.append(peak_signal_noise_ratio(numpy.array(truth, numpy.uint8), numpy.array(guess, numpy.uint8),
                                              data_range=255))
    line("want", "psnr", float(numpy.mean(ratios)))


def boxes():
    line("case", "boxes")
    labels = ["cat", "dog", "emu"]
    images, truths, guesses = [], [], []
    for image in range(1, 13):
        images.append({"id": image})
        line("item")
        right, named = [], []
        for _ in range(rng.randint(0, 6)):
            left, top, width, height = (rng.randint(0, 50), rng.randint(0, 50), rng.randint(8, 40), rng.randint(8, 40))
            label = rng.randrange(3)
            right += [labels[label], left, top, left + width, top + height, 1]
            truths.append({"id": len(truths) + 1, "image_id": image, "category_id": label + 1, "iscrowd": 0,
                           "bbox": [left, top, width, height], "area": width * height})
            for _ in range(rng.choice((0, 1, 1, 2))):
                moved = [left + rng.randint(-3, 3), top + rng.randint(-3, 3), width + rng.randint(-3, 3), height]
                guess = label if rng.random() < 0.85 else rng.randrange(3)
                score = rng.random()
                named += [labels[guess], moved[0], moved[1], moved[0] + moved[2], moved[1] + moved[3],
                          float(f"{score:.12g}")]
                guesses.append({"image_id": image, "category_id": guess + 1, "bbox": moved, "score": score})
        line("named.boxes", *named)
        line("right.boxes", *right)
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"images": images, "annotations": truths,
                        "categories": [{"id": i + 1, "name": n} for i, n in enumerate(labels)]}
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(guesses), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    line("want", "map", float(evaluation.stats[0]))
    line("want", "map50", float(evaluation.stats[1]))


classification("two classes", 60, ["no", "yes"], 0.6)
classification("seven classes", 90, list("abcdefg"), 0.5)
classification("some without an answer", 40, list("abcdefgh"), 0.8, missing=5)
classification("twelve items", 12, ["a", "b", "c"], 0.1)
texts()
frames()
pixels()
images()
boxes()
