"""Counts the colours of pictures, with steps, layers and waiting: setup.ts runs it under `xsp run`."""
import os
import random
import tempfile
import time

import xsp


def count_colours(picture):
    counts = [0] * 256
    for value in picture:
        counts[value] += 1
    return counts


def order_colours(counts):
    return sorted(range(256), key=lambda colour: -counts[colour])


def wait_for_camera():
    time.sleep(0.004)


def save(colours, file):
    file.write(bytes(colours))
    file.flush()
    os.fsync(file.fileno())


def main():
    picture = random.Random(0).choices(range(256), k=500_000)
    with tempfile.TemporaryFile() as file:
        for _ in range(100):
            wait_for_camera()
            with xsp.span("colours", level=xsp.MODEL):
                with xsp.span("count", level=xsp.LAYER):
                    counts = count_colours(picture)
                with xsp.span("order", level=xsp.LAYER):
                    colours = order_colours(counts)
            save(colours, file)
            xsp.step()


main()
