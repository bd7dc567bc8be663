#!/usr/bin/env python3
"""What `xsp run` costs ResNet-50, eager, batch 1: interleaved processes, medians and their ratios to bare.

    cost.py XSP [--rounds N] [--iterations N]

Budgets: loaded but off 1.01, kernels 1.10, kernels and layers 1.25. Printed beside them, not judged.
"""
import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("xsp")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--iterations", type=int, default=400)
parser.add_argument("--only", help="names of configurations, comma separated")
options = parser.parse_args()

program = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "resnet50.py"),
           "--iterations", str(options.iterations)]
configurations = {"bare": None, "off": "application", "kernels": "api,kernel", "kernel alone": "kernel",
                  "kernels and layers": "model,layer,api,kernel", "layers": "model,layer"}
budgets = {"off": 1.01, "kernels": 1.10, "kernels and layers": 1.25}
if options.only:
    configurations = {name: configurations[name] for name in ["bare"] + options.only.split(",")}


def report(times):
    bare = statistics.median(times["bare"] or [float("nan")])
    for name, values in times.items():
        if not values:
            continue
        middle = statistics.median(values)
        budget = f"budget {budgets[name]:.2f}" if name in budgets else ""
        print(f"{name:20} {middle:8.3f} ms  {middle / bare:6.3f} x bare  {budget:11}  "
              f"[{min(values):.3f}, {max(values):.3f}] of {len(values)} processes")


times = {name: [] for name in configurations}
# Who is stopped before the last round has what was measured until then.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_the_end:
    at_the_end.callback(lambda: report(times))
    for _ in range(options.rounds):
        for name, levels in configurations.items():
            prefix = []
            if levels:
                prefix = [options.xsp, "run", "--leveled=no", "--quiet", "--levels", levels]
                prefix += ["-o", folder + "/t.xsp", "--"]
            run = subprocess.run(prefix + program, capture_output=True, text=True)
            if run.returncode != 0 or not run.stdout.strip():
                print(name, "failed:", run.stderr.strip()[-200:])
                continue
            times[name].append(float(run.stdout.split()[0]))
