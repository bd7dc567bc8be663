#!/usr/bin/env python3
"""Compares two sweeps of one plan, task by task, by xsp diff.

  tests/fleet/agree.py DIR DIR [--xsp BIN/xsp]

Prints how many tasks have which verdict, and those that differ, with their ratio and its interval. A task
that xsp diff does not judge has the reason as its verdict. The interval does not cover other programs that
ran beside one of the two: such tasks are counted apart. Exits with 1 if a task is in one sweep alone.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def verdicts(xsp, a, b):
    """Yields the verdict of each batch size, with its row and whether other programs ran beside."""
    asked = subprocess.run([xsp, "diff", a, b, "--table", "model", "--format", "json"], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if asked.returncode != 0:
        yield asked.stderr.strip(), {}, False
        return
    answer = json.loads(asked.stdout)
    is_disturbed = any("other programs used" in one for one in answer["warnings"])
    for row in answer["model"]:
        yield row["verdict_b"], row, is_disturbed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweeps", nargs=2, type=pathlib.Path)
    parser.add_argument("--xsp", type=pathlib.Path, default=ROOT / "build/release/bin/xsp")
    options = parser.parse_args()
    a, b = (folder / "results" for folder in options.sweeps)
    names = [{path.name for path in folder.glob("*.xsp")} for folder in (a, b)]
    counts, ratios = collections.Counter(), []
    for name in sorted(names[0] & names[1]):
        for verdict, row, is_disturbed in verdicts(options.xsp, a / name, b / name):
            # The text after a colon counts the inferences of this pair, and would divide equal verdicts.
            beside = ", other programs ran beside" if is_disturbed else ""
            counts[verdict.split(":")[0] + beside] += 1
            if row.get("ratio_b") is not None:
                ratios.append(row["ratio_b"])
            if row.get("significant_b"):
                print(f"{name}: {row['ratio_b']:.3f} "
                      f"[{row['ratio_low_b']:.3f}, {row['ratio_high_b']:.3f}]{beside}")
    for verdict, count in counts.most_common():
        print(f"{count:4}  {verdict}")
    if ratios:
        ratios.sort()
        print(f"ratios: {ratios[0]:.3f} to {ratios[-1]:.3f}, median {ratios[len(ratios) // 2]:.3f}")
    alone = sorted(names[0] ^ names[1])
    if alone:
        print(f"in one sweep alone: {', '.join(alone)}")
    return 1 if alone else 0


if __name__ == "__main__":
    sys.exit(main())
