#!/usr/bin/env python3
"""Measures what a sweep costs besides the measuring.

  bench/sweep.py [--tasks 40] [--rows 100000]

Runs a sweep of short tasks of the framework `fake` on this machine. The cost of a task is the time from
the end of one measurement to the begin of the next, less the waiting for the device: claim, lock, processes,
result, next task. Then it expands a plan of as many tasks as --rows says, and prints them.
Prints the median and the longest.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
XSP = ROOT / "build/release/bin/xsp"


def gaps(folder):
    """Yields the seconds between the end of an attempt and the begin of the next one."""
    attempts = [json.loads(path.read_text()) for path in folder.glob("attempts/*/*.json")]
    attempts.sort(key=lambda one: one["started_at"])
    for before, after in zip(attempts, attempts[1:]):
        yield after["started_at"] - (before["started_at"] + before["seconds"])


def run_tasks(work, count):
    text = ("name: bench\nmodels: ['fake:layers=1,us=100']\nframeworks: [fake]\n"
            "options: {max-time: 0.05, no-peaks: true, levels: model}\n"
            f"batches: {list(range(1, count + 1))}\n")
    (work / "bench.yaml").write_text(text)
    subprocess.run([XSP, "sweep", "bench.yaml", "--no-site", "--quiet"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)
    costs = [1000 * one for one in gaps(work / "bench")]
    print(f"a task of a local sweep: {statistics.median(costs):.1f} ms (longest {max(costs):.1f}) "
          f"of {count}; budget 50 ms")


def expand(work, rows):
    batches = list(range(1, 101))
    models = [f"'fake:layers={i + 1},us=1'" for i in range(rows // len(batches))]
    (work / "large.yaml").write_text(
        f"name: large\nmodels: [{', '.join(models)}]\nframeworks: [fake]\nbatches: {batches}\n")
    begin = time.monotonic()
    subprocess.run([XSP, "sweep", "large.yaml", "--dry-run"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)
    print(f"{rows} tasks expanded and printed: {time.monotonic() - begin:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--rows", type=int, default=99900)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_tasks(pathlib.Path(folder), options.tasks)
        expand(pathlib.Path(folder), options.rows)


if __name__ == "__main__":
    main()
