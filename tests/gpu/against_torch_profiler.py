#!/usr/bin/env python3
"""Compares kernel times of an evaluation with torch.profiler's, for the same TorchScript model on this
machine.

    tests/gpu/against_torch_profiler.py XSP EVALUATION.xsp MODEL.pt [--batch N]

Prints one line for each kernel name: its executions in an inference and the median of its duration, by
both. Exit status 0 if the counts are equal and the median of the differences, weighted by time, is within
3 %.
"""
import argparse
import collections
import csv
import io
import statistics
import subprocess
import sys

import torch

import torchscript

KERNELS = """
WITH r AS (SELECT run_id FROM run WHERE status = 'ok' AND coalesce(counters, '') = ''
             AND list_contains(string_split(levels, ','), 'kernel') AND coalesce(batch, 1) = {batch})
SELECT s.name, count(*) / (SELECT count(*) FROM span m JOIN r USING (run_id)
                           WHERE m.level = 2 AND m.iteration >= 0) AS per_inference,
  median(s.duration_ns) AS median_ns
FROM span s JOIN r USING (run_id)
WHERE s.level = 6 AND s.type = 'kernel' AND s.iteration >= 0 GROUP BY s.name"""


def of_evaluation(xsp, path, batch):
    text = subprocess.run([xsp, "query", path, KERNELS.format(batch=batch), "--format", "csv"],
                          check=True, capture_output=True, text=True).stdout
    return {plain(row["name"]): (float(row["per_inference"]), float(row["median_ns"]))
            for row in csv.DictReader(io.StringIO(text))}


def plain(name):
    return "".join(name.split())


def of_profiler(path, batch, inferences=30):
    model, inputs = torchscript.load(path, batch)
    with torch.inference_mode():
        for _ in range(20):
            model(*inputs)
        torch.cuda.synchronize()
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            for _ in range(inferences):
                model(*inputs)
                torch.cuda.synchronize()
    durations = collections.defaultdict(list)
    for event in profile.profiler.kineto_results.events():
        if event.device_type() != torch.autograd.DeviceType.CUDA:
            continue
        if event.name().startswith(("Memcpy", "Memset")):
            continue
        durations[plain(event.name())].append(event.duration_ns())
    return {name: (len(d) / inferences, statistics.median(d)) for name, d in durations.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xsp")
    parser.add_argument("evaluation")
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    ours = of_evaluation(options.xsp, options.evaluation, options.batch)
    theirs = of_profiler(options.model, options.batch)
    differences, unequal = [], []
    print(f"{'kernel':72} {'count':>6} {'theirs':>6} {'ns':>9} {'theirs':>9} {'diff %':>7}")
    for name in sorted(ours.keys() | theirs.keys(), key=lambda n: -ours.get(n, (0, 0))[1]):
        a, b = ours.get(name, (0, 0)), theirs.get(name, (0, 0))
        if abs(a[0] - b[0]) > 1e-9:
            unequal.append(name)
        difference = 100 * (a[1] / b[1] - 1) if a[1] and b[1] else float("nan")
        print(f"{name[:72]:72} {a[0]:6g} {b[0]:6g} {a[1]:9.0f} {b[1]:9.0f} {difference:7.2f}")
        if a[1] and b[1]:
            differences.append((abs(difference), a[0] * a[1]))
    if not differences:
        sys.exit("error: no kernel is known to both: were both run on the same model?")
    differences.sort()
    half, reached = sum(w for _, w in differences) / 2, 0.0
    for median, weight in differences:
        reached += weight
        if reached >= half:
            break
    sums = [sum(c * d for c, d in side.values()) for side in (ours, theirs)]
    print(f"kernel names {len(ours)} and {len(theirs)}; with unequal counts {len(unequal)}; "
          f"median difference {median:.2f} %; together {sums[0] / 1e3:.1f} and {sums[1] / 1e3:.1f} us, "
          f"{100 * (sums[0] / sums[1] - 1):+.2f} %")
    sys.exit(0 if not unequal and median <= 3 else 1)


if __name__ == "__main__":
    main()
