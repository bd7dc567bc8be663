#!/usr/bin/env python3
"""Measures the memory, time and disk space that `xsp run` takes, beside its budgets.

  bench/bounds.py [--build build/release] [--spans 5000000] [--threads 2] [--pause 100000]

A program of steps emits spans, alone and watched: see bench/steady_spans.c. Its memory is compared at its
largest, and between the middle and the end of its life, since a program may live for long. The time to
stop is from the end of its work to the end of its process, and to the end of `xsp run`, which has by then
written the .xsp file. The last line is a run whose traces may take a tenth of their size without a limit.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import threading
import time

MEMORY_BYTES = 200e6
GROWTH_BYTES = 1e6
STOP_S, STOP_SPANS_PER_S = 2, 5e6
LAYERS = 58


class Traces(threading.Thread):
    """Watches the total size of the files below a folder."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.peak, self.ends = folder, 0, False

    def run(self):
        while not self.ends:
            total = 0
            for path in pathlib.Path(self.folder).rglob("*.xtrace"):
                try:
                    total += path.stat().st_blocks * 512
                except FileNotFoundError:
                    pass
            self.peak = max(self.peak, total)
            time.sleep(0.02)


def run(arguments, watched, options=()):
    """Runs the program. Returns its output, and how it ended."""
    program = [f"{arguments.build}/bin/steady_spans",
               *map(str, (arguments.threads, arguments.spans, LAYERS, arguments.pause))]
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/t.xsp"
        xsp = f"{arguments.build}/bin/xsp"
        command = [xsp, "run", "--leveled=no", "-o", file, *options, "--", *program] if watched else program
        traces = Traces(folder)
        traces.start()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=os.environ | {"TMPDIR": folder})
        out, said = process.communicate()
        end = time.monotonic_ns()
        traces.ends = True
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if process.returncode != 0:
            raise SystemExit(f"{command}: {said}")
        lines = [line.split() for line in out.splitlines()]
        rss = [int(value) for name, value in lines if name == "rss"]
        at = {name: int(value) for name, value in lines if name != "rss"}
        found = {"peak": max(rss), "growth": rss[-1] - rss[len(rss) // 2], "traces": traces.peak,
                 "exit_s": (at["exit"] - at["end"]) / 1e9, "stop_s": (end - at["end"]) / 1e9, "said": said,
                 "largest": largest}
        if watched:
            query = ("SELECT count(*) AS spans, (SELECT coalesce(sum(count), 0)::BIGINT FROM loss) AS lost, "
                     "(SELECT count(*) FROM span WHERE type = 'step') AS steps FROM span")
            rows = subprocess.run([xsp, "query", file, query, "--format", "json"], capture_output=True,
                                  text=True, check=True)
            found |= json.loads(rows.stdout)[0]
        return found


def row(what, figure, budget, unit, scale=1.0):
    over = "  over" if figure > budget else ""
    print(f"{what:52} {figure / scale:10.2f} {budget / scale:10.2f} {unit:3} {figure / budget:6.2f}{over}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--spans", type=int, default=5_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pause", type=int, default=100_000, help="ns between two model spans of a thread")
    arguments = parser.parse_args()
    alone = run(arguments, False)
    watched = run(arguments, True)
    print(f"{watched['spans']} spans of {arguments.threads} threads, {watched['lost']} lost; the traces took "
          f"{watched['traces'] / 1e6:.1f} MB; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':52} {'figure':>10} {'budget':>10}     {'ratio':>6}")
    beyond = {key: watched[key] - alone[key] for key in ("peak", "growth")}
    row("memory of the program, beyond what it takes alone", beyond["peak"], MEMORY_BYTES, "MB", 1e6)
    row("growth of that in the second half of its life", beyond["growth"], GROWTH_BYTES, "MB", 1e6)
    print(f"{'memory of xsp run, as it writes the file':52} {watched['largest'] / 1e6:10.2f}")
    stop_s = STOP_S + watched["spans"] / STOP_SPANS_PER_S
    row("from the end of its work to the end of its process", watched["exit_s"], stop_s, "s")
    row("from the end of its work to the end of xsp run", watched["stop_s"], stop_s, "s")
    limit = max(watched["traces"] // 10, 100_000)
    small = run(arguments, True, options=("--max-size", str(limit)))
    row("size of the traces, with --max-size", small["traces"], limit, "MB", 1e6)
    print(f"  of {watched['steps']} steps {small['steps']} were recorded: {small['said'].splitlines()[0]}")


if __name__ == "__main__":
    main()
