#!/usr/bin/env python3
"""Measures what the tracing of a request costs: its latency at each set of levels against that without spans.

  bench/request_cost.py MODEL [--framework onnxruntime] [--build build/release] [--rounds 40] [--requests 200]

A worker for each set of levels, and one that records nothing, opens the model. In each round all answer the
same load, in an order that is drawn, so a drift of the machine meets all alike. One client waits for each
answer, so whatever a worker does between two answers is in the next latency. Prints the median over the
rounds of the load's median latency, and of its difference to that of the worker without spans in that round;
in brackets the 95 % interval of that median (the ranks that a binomial distribution gives).
"""
import argparse
import math
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A processor has no kernels, so that level records nothing.
SETS = {"nothing": "kernel", "model": "model", "layer": "model,layer", "library": "model,layer,library"}


class Worker:
    """One xsp-worker that answers loads."""

    def __init__(self, arguments, name, levels, folder):
        self.name, self.folder = name, folder / name
        (self.folder / "scratch").mkdir(parents=True)
        lib = arguments.build / "lib/xsp"
        command = [arguments.build / "bin/xsp-worker", "--adapter",
                   lib / f"adapters/{arguments.framework}.so",
                   "--model", arguments.model, "--device", "cpu", "--levels", levels,
                   "--trace", self.folder / "t.xtrace", "--scratch", self.folder / "scratch",
                   "--threads", "1"]
        environment = dict(os.environ)
        if "library" in levels:
            collector = lib / "collectors/library_calls.so"
            command += ["--collector", collector]
            environment["LD_PRELOAD"] = str(collector)
        read, write = os.pipe()
        # The worker's replies come by the descriptor 3.
        shell = ["bash", "-c", f'exec "$@" 3>&{write}', "worker", *map(str, command)]
        self.process = subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, text=True,
                                        pass_fds=[write], env=environment)
        os.close(write)
        self.replies = os.fdopen(read)
        self.reply("ready")

    def reply(self, wanted):
        for line in self.replies:
            fields = line.rstrip("\n").split("\t")
            if fields[0] == wanted:
                return fields
            if fields[0] == "failed":
                raise SystemExit(f"{self.name}: {fields[-1]}")
        raise SystemExit(f"{self.name}: the worker ended")

    def latency_us(self, requests):
        """Lets it answer a load. Returns the median latency."""
        answers = self.folder / "answers"
        load = {"generator": "closed", "requests": requests, "spans": 0 if self.name == "nothing" else 1,
                "answers": answers}
        (self.folder / "load").write_text("".join(f"{key}\t{value}\n" for key, value in load.items()))
        print(f"load\t{self.folder / 'load'}", file=self.process.stdin, flush=True)
        self.reply("loaded")
        times = [line.split("\t") for line in answers.read_text().splitlines()]
        assert len(times) == requests
        return statistics.median((int(one[9]) - int(one[4])) / 1000 for one in times)

    def end(self):
        print("quit", file=self.process.stdin, flush=True)
        dropped = int(self.reply("bye")[2])
        self.process.wait()
        return dropped


def told(values):
    """Returns the median with its 95 % interval."""
    values = sorted(values)
    count = len(values)
    rank = max(0, math.floor(count / 2 - 0.98 * math.sqrt(count)))
    return f"{statistics.median(values):.1f} ({values[rank]:.1f} to {values[count - 1 - rank]:.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--framework", default="onnxruntime")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--requests", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workers = {name: Worker(arguments, name, levels, pathlib.Path(folder))
                   for name, levels in SETS.items()}
        latency = {name: [] for name in workers}
        for worker in workers.values():
            worker.latency_us(arguments.requests)  # the first load is a warm-up
        for _ in range(arguments.rounds):
            order = list(workers)
            random.shuffle(order)
            for name in order:
                latency[name].append(workers[name].latency_us(arguments.requests))
        for name, worker in workers.items():
            dropped = worker.end()
            extra = [a - b for a, b in zip(latency[name], latency["nothing"], strict=True)]
            ratio = [100 * a / b for a, b in zip(extra, latency["nothing"], strict=True)]
            print(f"{name}: latency {told(latency[name])} us; more than without spans: {told(extra)} us, "
                  f"{told(ratio)} %; {dropped} spans lost")


if __name__ == "__main__":
    main()
