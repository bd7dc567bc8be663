#!/usr/bin/env python3
"""Measures how often the gate of xsp diff errs, on a machine that other programs disturb.

    bench/gate.py                       a real model beside two busy processes: about half an hour
    bench/gate.py --quick               the made-up model of the adapter fake: two minutes
    bench/gate.py --parts files --profiles 16

It measures, beside --load busy processes:
  files   the model is profiled --profiles times; every ordered pair of the files is gated. All are of one
          model, so each pair that trips is a false alarm. The spread between the processes is printed, too:
          it is the allowance of xsp diff for files that have one process each (process_spread of
          src/desk/compare/compare.h).
  same    xsp diff --run of the model against itself, --runs times: each that trips is a false alarm.
  slower  xsp diff --run of the model against one that is made --slowdown percent slower: each that trips is
          found. An ONNX model is slowed down by one more convolution of its input, whose width is
          calibrated beforehand, by the fastest twentieth of the inferences, which no load disturbs.
  found   every file of `files` is gated against --profiles files of the slower model.

The 95 % interval of every share is printed (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934). Pairs
of files share files, so they are not independent, and the interval of `files` and `found` is too narrow.
"""

import argparse
import itertools
import json
import math
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time


def upper_tail(k, n, p):
    """Returns P(X >= k) of a binomial distribution."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def clopper_pearson(k, n):
    def solve(f):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) < 0.025 else (low, middle)
        return low

    low = 0.0 if k == 0 else solve(lambda p: upper_tail(k, n, p))
    high = 1.0 if k == n else 1 - solve(lambda p: upper_tail(n - k, n, p))
    return low, high


def told(what, k, n):
    if n == 0:
        return f"{what}: none"
    low, high = clopper_pearson(k, n)
    return f"{what}: {k} of {n} = {100 * k / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


class Load:
    """Runs processes that only keep a processor busy."""

    def __init__(self, count):
        self.count = count
        self.processes = []

    def __enter__(self):
        work = "while True: pass"
        self.processes = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(self.count)]
        return self

    def __exit__(self, *_):
        for one in self.processes:
            one.kill()
            one.wait()


# ---- A slower model: protocol buffers that are written behind each other are merged ----------------


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def with_convolution(model, input_name, channels):
    """Returns the ONNX model with one more convolution of its input, from 3 to `channels` channels, and its
    output."""
    weights = struct.pack("<f", 0.01) * (channels * 3 * 3 * 3)
    shape = b"".join(field(1, d) for d in (channels, 3, 3, 3))
    tensor = shape + field(2, 1) + field(8, "slower_weights") + field(9, weights)
    node = field(1, input_name) + field(1, "slower_weights") + field(2, "slower_output")
    node += field(3, "slower") + field(4, "Conv")
    output = field(1, "slower_output") + field(2, field(1, field(1, 1)))
    return model + field(7, field(1, node) + field(5, tensor) + field(12, output))


class Bench:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.folder = folder

    def xsp(self, *words, accept=(0,)):
        command = [self.arguments.xsp, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in accept:
            sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
        return done

    def profile(self, model, name):
        path = os.path.join(self.folder, name + ".xsp")
        self.xsp("profile", model, "--levels", "model", "--no-peaks", "--quiet", "--max-time",
                 self.arguments.time, "-o", path, *self.threads())
        return path

    def row(self, done):
        return json.loads(done.stdout)["model"][0]

    def gated(self, *words):
        """Returns whether the gate has tripped, and the row of the comparison."""
        done = self.xsp("diff", *words, "--format", "json", "--fail-on-regression", self.arguments.limit,
                        accept=(0, 3))
        return done.returncode == 3, self.row(done)

    def gated_run(self, a, b, seed):
        return self.gated("--run", a, b, "--quiet", "--pairs", self.arguments.pairs, "--seed", seed,
                          *self.run_time(), *self.threads())

    def run_time(self):
        return ["--max-time", self.arguments.run_time] if self.arguments.run_time else []

    def threads(self):
        return ["--threads", self.arguments.threads] if self.arguments.threads else []

    def fastest_ns(self, file):
        """Returns the time of an undisturbed inference: nearly the least of all."""
        done = self.xsp("query", file, "SELECT quantile_cont(duration_ns, 0.05) FROM span WHERE level = 2"
                        " AND iteration >= 0", "--format", "csv")
        return float(done.stdout.split("\n")[1])

    def slower_model(self, model):
        """Returns the slower model's path, and the ratio of the undisturbed latencies."""
        percent = self.arguments.slowdown
        if model.startswith("fake:"):
            us = int(model.split("us=")[1].split(",")[0])
            return model.replace(f"us={us}", f"us={round(us * (1 + percent / 100))}"), 1 + percent / 100
        source = model if os.path.exists(model) else os.path.join(self.folder, "model.onnx")
        if source != model:
            self.xsp("models", "build", model, "-o", source)
        first = self.profile(model, "inputs")
        name = self.xsp("query", first, "SELECT key FROM evaluation WHERE key LIKE 'input.%' LIMIT 1",
                        "--format", "csv").stdout.split("\n")[1][len("input."):].strip()
        with open(source, "rb") as file:
            content = file.read()
        path = os.path.join(self.folder, "slower.onnx")
        channels, ratio = 48, 1.0
        for _ in range(4):
            with open(path, "wb") as file:
                file.write(with_convolution(content, name, channels))
            kept = os.path.join(self.folder, "calibration")
            self.xsp("diff", "--run", model, path, "--quiet", "--max-time", 30, "--width", 0, "-o", kept,
                     *self.threads())
            fastest = [self.fastest_ns(os.path.join(kept, name)) for name in ("a.xsp", "b.xsp")]
            ratio = fastest[1] / fastest[0]
            print(f"  a convolution of {channels} channels: ratio {ratio:.4f}", flush=True)
            wanted = max(8, round(channels * (percent / 100) / max(ratio - 1, 0.005) / 8) * 8)
            if wanted == channels or abs(ratio - 1 - percent / 100) < 0.005:
                break
            channels = min(wanted, 4 * channels)
        return path, ratio

    def files(self, model):
        files = [self.profile(model, f"same{i}") for i in range(self.arguments.profiles)]
        pairs = list(itertools.permutations(files, 2))
        results = [self.gated(*pair) for pair in pairs]
        latencies = [self.row(self.xsp("diff", f, f, "--format", "json", "--table", "model")) for f in files]
        logs = [math.log(one["latency_a_ns"]) for one in latencies]
        within = []
        for one in latencies:
            half = (one["high_a_ns"] - one["low_a_ns"]) / 2 / one["latency_a_ns"]
            within.append((half / 1.96) ** 2)
        spread = math.sqrt(max(0.0, statistics.variance(logs) - statistics.mean(within)))
        query = "SELECT max(value) FROM evaluation WHERE key = 'machine.other_load_pct'"
        said = [self.xsp("query", f, query, "--format", "csv").stdout.split("\n")[1] for f in files]
        loads = [float(one or "nan") for one in said]
        print(told("files, false alarms", sum(tripped for tripped, _ in results), len(results)))
        mean_ns = statistics.mean(one["latency_a_ns"] for one in latencies)
        print(f"  latency {mean_ns / 1e6:.3f} ms;"
              f" sd between profiles {100 * statistics.stdev(logs):.2f} %,"
              f" of which within them {100 * math.sqrt(statistics.mean(within)):.2f} %:"
              f" between processes {100 * spread:.2f} %;"
              f" others used {statistics.mean(loads):.0f} % of the processors", flush=True)
        return files

    def found(self, files, slower):
        others = [self.profile(slower, f"slower{i}") for i in range(self.arguments.profiles)]
        results = [self.gated(a, b)[0] for a in files for b in others]
        print(told("found, by files", sum(results), len(results)), flush=True)

    def runs(self, what, a, b):
        results = []
        for seed in range(1, self.arguments.runs + 1):
            results.append(self.gated_run(a, b, seed))
            tripped, row = results[-1]
            ends = f"[{row['ratio_low_b']:.4f}, {row['ratio_high_b']:.4f}]"
            print(f"  {what} {seed}: {row['ratio_b']:.4f} {ends} by {row['blocks_a']} pairs"
                  f"{' tripped' if tripped else ''}, load {os.getloadavg()[0]:.1f}", flush=True)
        rows = [row for _, row in results]
        halves = [math.log(row["ratio_high_b"] / row["ratio_low_b"]) / 2 for row in rows]
        mean = math.exp(statistics.mean(math.log(row["ratio_b"]) for row in rows))
        print(told(what, sum(tripped for tripped, _ in results), len(results)))
        half = 100 * statistics.mean(halves)
        print(f"  ratio on average {mean:.4f}, interval on average ±{half:.2f} %")
        covered = sum(row["ratio_low_b"] <= mean <= row["ratio_high_b"] for row in rows)
        print(told("  intervals that hold this average", covered, len(rows)), flush=True)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--xsp", default=os.path.join(root, "build/release/bin/xsp"))
    parser.add_argument("--model", help="a model of xsp models, or an ONNX file; else mobilenet_v2")
    parser.add_argument("--quick", action="store_true", help="a made-up model, and less of everything")
    parser.add_argument("--parts", default="files,same,slower,found")
    parser.add_argument("--load", type=int, default=2, help="busy processes")
    parser.add_argument("--profiles", type=int)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--threads", type=int, help="of a layer; needed where taskset allows fewer"
                        " processors than the machine has, because a framework may make a thread for each")
    parser.add_argument("--time", type=float, help="--max-time of a profile")
    parser.add_argument("--run-time", type=float, help="--max-time of xsp diff --run; else its default")
    parser.add_argument("--limit", type=float, default=5, help="of the gate, percent")
    parser.add_argument("--slowdown", type=float, default=10, help="percent")
    parser.add_argument("--slower", help="the slower model, kept from before: it is not calibrated anew")
    parser.add_argument("--keep", help="where the slower model is kept")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the load ends, too
    quick = arguments.quick
    model = arguments.model or ("fake:layers=3,us=300" if quick else "mobilenet_v2")
    arguments.profiles = arguments.profiles or (4 if quick else 8)
    arguments.runs = arguments.runs or (3 if quick else 20)
    arguments.time = arguments.time or (4 if quick else 30)
    if quick and not arguments.run_time:
        arguments.run_time = 16
    parts = arguments.parts.split(",")
    started = time.time()
    print(f"{model}, {os.cpu_count()} processors, {arguments.load} busy processes, load average before"
          f" {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        slower = None
        if {"slower", "found"} & set(parts):
            slower = arguments.slower
            if not slower:
                slower, ratio = bench.slower_model(model)
                print(f"the slower model: ratio {ratio:.4f} of the fastest inferences", flush=True)
            if arguments.keep:
                shutil.copy(slower, arguments.keep)
        with Load(arguments.load):
            files = bench.files(model) if {"files", "found"} & set(parts) else []
            if "same" in parts:
                bench.runs("same, false alarms", model, model)
            if "slower" in parts:
                bench.runs("slower, found", model, slower)
            if "found" in parts:
                bench.found(files, slower)
    print(f"load average after {os.getloadavg()[0]:.1f}; {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
