#!/usr/bin/env python3
"""Model latency under xsp against a bare C program that only calls the runtime, interleaved in one run.

  bench/against_bare.py [--build build/release] [--rounds 12] [--seconds 8] [--threads N] MODEL.onnx...

Each round starts three fresh processes: bare_onnxruntime, and an xsp-worker for the levels `model` and
`model,layer`. Their blocks of inferences are interleaved in a changing order; a round's figure is the ratio
of the medians. Fresh processes each round, because memory placement alone moves a process's median by
more than what is looked for. Prints the median over rounds and its 95 % interval, beside the budget.
"""

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time

WARMUP = 5
BUDGET_PERCENT = 1.0


class Bare:
    def __init__(self, build, model, threads):
        self.process = subprocess.Popen(
            [f"{build}/bin/bare_onnxruntime", model, "1", str(threads)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return [int(field) for field in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Worker:
    """The worker as `xsp profile` starts it; its replies come on file descriptor 3."""

    def __init__(self, build, model, levels, threads, folder):
        read_end, write_end = os.pipe()
        command = [f"{build}/bin/xsp-worker", "--adapter", f"{build}/lib/xsp/adapters/onnxruntime.so",
                   "--model", model, "--device", "cpu", "--levels", levels, "--batch", "1",
                   "--threads", str(threads),
                   "--trace", f"{folder}/{levels}.xtrace", "--scratch", folder]
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3>&{write_end}', "sh", *command], stdin=subprocess.PIPE,
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


def measure_round(build, model, threads, seconds, folder):
    programs = {"bare": Bare(build, model, threads)}
    for levels in ("model", "model,layer"):
        programs[levels] = Worker(build, model, levels, threads, folder)
    times = {name: [] for name in programs}
    for program in programs.values():
        program.run(WARMUP)
    block = max(1, int(0.1e9 / statistics.median(programs["bare"].run(3))))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name in random.sample(sorted(programs), len(programs)):
            time.sleep(0.06)  # as between the blocks of `xsp profile`: docs/decisions.md
            times[name] += programs[name].run(block)
    for program in programs.values():
        program.close()
    return {name: statistics.median(values) for name, values in times.items()}


def interval_of_median(values):
    """The order statistics that hold the median with at least 95 % (binomial), and it."""
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
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    print(f"{'model':24} {'bare ms':>9} {'levels':>12} {'slower %':>9} {'95 % interval':>17} {'budget %':>9}")
    for model in arguments.models:
        rounds = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                rounds.append(measure_round(arguments.build, model, arguments.threads,
                                            arguments.seconds, folder))
        bare = statistics.median(values["bare"] for values in rounds) / 1e6
        for levels in ("model", "model,layer"):
            low, middle, high = interval_of_median([100 * (r[levels] / r["bare"] - 1) for r in rounds])
            budget = f"{BUDGET_PERCENT:9.1f}" if levels == "model" else f"{'none':>9}"
            print(f"{os.path.basename(model)[:24]:24} {bare:9.3f} {levels:>12} {middle:9.2f} "
                  f"{low:7.2f} .. {high:6.2f} {budget}", flush=True)


if __name__ == "__main__":
    main()
