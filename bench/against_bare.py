#!/usr/bin/env python3
"""Compares model latency under xsp with that of a bare program that only calls the framework, interleaved in
one run.

  bench/against_bare.py [--build build/release] [--rounds 12] [--seconds 8] [--threads N] MODEL.onnx...
  bench/against_bare.py --bare "bare_torch {model} cuda 1,3,224,224" --framework torch --device cuda
  MODEL.pt

Each round starts fresh processes: the bare program, and an xsp-worker for each set of --levels. Their
blocks of inferences are interleaved in a changing order; a round's figure is the ratio of the medians. The
processes are new in each round, because memory placement alone moves a process's median by more than the
overhead in question. Prints the median over rounds and its 95 % interval, beside the budget; with fewer
than six rounds, which have no such interval, their range.
"""

import argparse
import os
import random
import shlex
import statistics
import subprocess
import tempfile
import time

WARMUP = 5
BUDGET_PERCENT = 1.0


class Bare:
    def __init__(self, arguments, model):
        command = (arguments.bare or
                   f"{arguments.build}/bin/bare_onnxruntime {{model}} 1 {arguments.threads}")
        self.process = subprocess.Popen(
            [word.format(model=model) for word in shlex.split(command)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return [int(field) for field in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Worker:
    """Represents the worker as `xsp profile` starts it; its replies come on file descriptor 3."""

    def __init__(self, arguments, model, levels, folder):
        read_end, write_end = os.pipe()
        build = arguments.build
        command = [f"{build}/bin/xsp-worker",
                   "--adapter", f"{build}/lib/xsp/adapters/{arguments.framework}.so", "--model", model,
                   "--device", arguments.device, "--levels", levels, "--batch", "1",
                   "--threads", str(arguments.threads),
                   "--trace", f"{folder}/{levels}.xtrace", "--scratch", folder]
        if "kernel" in levels or "api" in levels:
            command += ["--collector", f"{build}/lib/xsp/collectors/cupti.so"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3>&{write_end}', "bash", *command], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[write_end], text=True)
        os.close(write_end)
        self.replies = os.fdopen(read_end)
        self.expect("ready")

    def expect(self, word):
        for line in self.replies:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == word:
                return fields
            if fields[0] == "failed":
                raise SystemExit(f"error: {line.strip()}")
        raise SystemExit("error: the worker ended")

    def run(self, count):
        self.process.stdin.write(f"run\t{count}\n")
        self.process.stdin.flush()
        return [int(field) for field in self.expect("ran")[2:]]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure_round(arguments, model, folder):
    programs = {"bare": Bare(arguments, model)}
    for levels in arguments.levels:
        programs[levels] = Worker(arguments, model, levels, folder)
    times = {name: [] for name in programs}
    for program in programs.values():
        program.run(WARMUP)
    block = max(1, int(0.1e9 / statistics.median(programs["bare"].run(3))))
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        for name in random.sample(sorted(programs), len(programs)):
            time.sleep(0.06)  # as between the blocks of `xsp profile`: docs/decisions.md
            times[name] += programs[name].run(block)
    for program in programs.values():
        program.close()
    return {name: statistics.median(values) for name, values in times.items()}


def interval_of_median(values):
    """Returns the order statistics that contain the median with at least 95 % (binomial), and the median."""
    values, n = sorted(values), len(values)
    rank, tail, term = 0, 0.0, 0.5 ** n
    while rank < n // 2 and tail + term <= 0.025:
        tail += term
        term = term * (n - rank) / (rank + 1)
        rank += 1
    low = max(rank - 1, 0)
    return values[low], statistics.median(values), values[n - 1 - low]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--threads", type=int, default=0, help="intra-op; 0: the runtime's default")
    parser.add_argument("--bare", help="command of the bare program; {model} is the model's file")
    parser.add_argument("--framework", default="onnxruntime")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--levels", action="append", help="a set, such as model,layer; any number of times")
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    arguments.levels = arguments.levels or ["model", "model,layer"]
    spread = "95 % interval" if arguments.rounds >= 6 else "range"
    print(f"{'model':24} {'bare ms':>9} {'levels':>24} {'slower %':>9} {spread:>17} {'budget %':>9}")
    for model in arguments.models:
        rounds = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                rounds.append(measure_round(arguments, model, folder))
        bare = statistics.median(values["bare"] for values in rounds) / 1e6
        for levels in arguments.levels:
            low, middle, high = interval_of_median([100 * (r[levels] / r["bare"] - 1) for r in rounds])
            budget = f"{BUDGET_PERCENT:9.1f}" if levels == "model" else f"{'none':>9}"
            print(f"{os.path.basename(model)[:24]:24} {bare:9.3f} {levels:>24} {middle:9.2f} "
                  f"{low:7.2f} .. {high:6.2f} {budget}", flush=True)


if __name__ == "__main__":
    main()
