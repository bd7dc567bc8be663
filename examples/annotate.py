"""annotate.py: annotates a model of one's own, in Python, with its layers.

    xsp run -o a.xsp -- python annotate.py 300     records it, each level undisturbed by deeper ones
    python annotate.py 300 a.xsp                   records itself, if the package xsp is installed

An outermost span at level model is an inference, and the spans at level layer in it are its layers.
"""

import sys

import xsp

BATCH = 4


def infer(inputs):
    with xsp.span("series", level="model", batch=len(inputs)):
        with xsp.span("squares", level="layer", type="Sum"):
            first = [sum(i * i for i in range(1000)) for _ in inputs]
        with xsp.span("cubes", level="layer", type="Sum"):
            second = [sum(i * i * i for i in range(500)) for _ in inputs]
    return [a + b for a, b in zip(first, second)]


def main():
    inferences = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    if len(sys.argv) > 2:
        with xsp.profile(sys.argv[2]):
            for _ in range(inferences):
                infer([0] * BATCH)
    else:
        for _ in range(inferences):
            infer([0] * BATCH)


main()
