#!/usr/bin/env python3
"""Measures the cost of `xsp run` for a program, by default ResNet-50, eager, batch 1, in Python.

    cost.py XSP [--rounds N] [--calls N] [--processes N] [--only 'NAME;NAME'] [--program "SCRIPT ARGUMENT..."]

Several processes of each configuration are open at once and compute in turn, in random order, one at a
time. Prints the median over all processes of one configuration of their medians, its ratio to bare, the
range of the processes' ratios, and the ratio of means over all turns, which includes costs that only few
calls have. Two processes of one configuration differ, too (see the range of bare itself), by some 7 % on an
H200: one figure alone decides nothing.

The program is a script beside this one that takes --turns; it is also measured within torch.profiler.
`default` is `xsp run` without a flag, where levels take turns; `sampled` is `--sample 1/100`, judged by
its mean. Budgets: loaded but off 1.01, kernels 1.10, kernels and layers 1.25, sampled 1.01. They are
printed, not judged.
"""
import argparse
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

LEVELS = {"off": "application", "kernels": "kernel", "calls and kernels": "api,kernel",
          "layers": "model,layer", "kernels and layers": "model,layer,api,kernel"}
FLAGS = {**{name: ["--leveled=no", "--levels", levels] for name, levels in LEVELS.items()},
         "default": [], "sampled": ["--sample", "1/100"],
         "off, no stacks": ["--leveled=no", "--levels", "application", "--no-stacks"],
         "sampled, no stacks": ["--sample", "1/100", "--no-stacks"]}
PEERS = {"torch.profiler, kernels": ["--profiler", "kernels"],
         "torch.profiler, all": ["--profiler", "operators"]}
BUDGETS = {"off": 1.01, "kernels": 1.10, "kernels and layers": 1.25, "sampled": 1.01}


class Program:
    """Represents one process of a configuration, and the median ms of a call in each of its turns."""

    def __init__(self, name, command, xsp, folder, number):
        path = f"{folder}/{name}-{number}"
        if name in FLAGS:
            command = [xsp, "run", "--quiet", *FLAGS[name], "-o", path + ".xsp", "--", *command]
        command = [*command, *PEERS.get(name, [])]
        self.said = open(path + ".txt", "w+")  # a file, because a pipe without a reader would fill
        few = {**os.environ, "OMP_NUM_THREADS": "2"}  # so that all of them can start at once
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=self.said, env=few)
        self.times = []

    def start(self):
        """Waits until it is ready, whatever it prints before. Returns false if it ended instead."""
        if any(line.strip() == "ready" for line in iter(self.process.stdout.readline, "")):
            return True
        self.said.seek(0)
        print("failed:", self.said.read().strip()[-300:])
        return False

    def turn(self, calls):
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.said.seek(0)
            sys.exit(f"a process ended in its turn: {self.said.read().strip()[-300:]}")
        median, mean = map(float, answer.split())
        return median, mean


def end(programs):
    for one in programs:
        one.process.stdin.close()
    for one in programs:
        try:
            one.process.wait(60)
        except subprocess.TimeoutExpired:
            one.process.kill()


def report(programs):
    def medians(name):
        return [statistics.median(median for median, _ in one.times) for one in programs[name] if one.times]

    def mean(name):
        return statistics.mean(mean for one in programs[name] for _, mean in one.times)

    bare = statistics.median(medians("bare") or [float("nan")])
    for name in programs:
        own = medians(name)
        if not own:
            continue
        budget = f"budget {BUDGETS[name]:.2f}" if name in BUDGETS else ""
        middle = statistics.median(own)
        print(f"{name:24} {middle:8.3f} ms  {middle / bare:6.3f} x bare  {budget:11}  "
              f"[{min(own) / bare:.3f}, {max(own) / bare:.3f}] of {len(own)} processes, "
              f"means {mean(name) / mean('bare'):.3f} x")


def stop(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # timeout(1) sends it twice
    sys.exit(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("xsp")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=30, help="in each turn of a process")
    parser.add_argument("--processes", type=int, default=2, help="of each configuration")
    parser.add_argument("--only", help="names of configurations, separated by ;")
    parser.add_argument("--program", default="resnet50.py", help="a script in this folder and its arguments")
    options = parser.parse_args()

    script, *arguments = options.program.split()
    here = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, os.path.join(here, script), *arguments, "--turns"]
    names = ["bare", *(options.only.split(";") if options.only else [*FLAGS, *PEERS])]
    # If it is stopped before the last round, it prints the measurements until then.
    signal.signal(signal.SIGTERM, stop)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as at_the_end:
        programs = {name: [Program(name, command, options.xsp, folder, i) for i in range(options.processes)]
                    for name in names}
        everyone = [one for several in programs.values() for one in several]
        at_the_end.callback(end, everyone)
        at_the_end.callback(lambda: report(programs))
        began = time.monotonic()
        if not all([one.start() for one in everyone]):
            sys.exit(1)
        print(f"{len(everyone)} processes, ready after {time.monotonic() - began:.0f} s", file=sys.stderr)
        for one in everyone:
            one.turn(options.calls)
        for _ in range(options.rounds):
            for one in random.sample(everyone, len(everyone)):
                one.times.append(one.turn(options.calls))


main()
