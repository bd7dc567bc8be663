#!/usr/bin/env python3
"""Measures the same model in each framework that is installed, in turn: latency and layers, one thread, batch
1.

  bench/across_frameworks.py [--xsp build/release/bin/xsp] [--rounds 5] [--time 3] [--prefix "taskset -c
  1"]
                             [--torch MODEL.pt] [--other NAME=XSP,FRAMEWORK,FILE[,KEY=VALUE...] ...]

The model is ResNet-50 as `xsp models build` writes it for each framework; PyTorch takes a TorchScript file
of the same network (tools/export_torch.py resnet50). --other adds a row, for example of another xsp with
another version of a framework. Each round profiles each of them for a few seconds at the levels model and
layer. The numbers are over all rounds: for latencies the least and the median of the rounds' medians, from
the runs at the level model; for layers the sums of each one's least time. If other programs share the
machine, the least shows the framework's own speed, and the medians show how much the others took.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile

FORMATS = {"onnxruntime": ("onnx", "resnet50.onnx", []), "mxnet": ("mxnet", "resnet50-symbol.json", []),
           "tensorflow": ("tensorflow", "resnet50.pb", ["inter_op_threads=1"]),
           "opencv_dnn": ("caffe", "resnet50.prototxt", []), "pjrt": ("stablehlo", "resnet50.mlir", [])}
CONVOLUTION = "lower(type) LIKE '%conv%'"


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows(xsp, file, sql):
    done = run([xsp, "query", str(file), "--format", "json", sql])
    return json.loads(done.stdout) if done.returncode == 0 else []


class Row:
    def __init__(self, name, xsp, framework, file, options):
        self.name, self.xsp, self.framework, self.file, self.options = name, xsp, framework, file, options
        self.version, self.why = "", ""
        self.medians, self.least_ns = [], []
        self.layers = collections.defaultdict(lambda: float("inf"))
        self.convolutions = set()

    def profile(self, prefix, seconds, folder):
        out = folder / "t.xsp"
        out.unlink(missing_ok=True)
        words = f"--framework {self.framework} --batch 1 --threads 1 --levels model,layer --no-peaks"
        options = [word for option in self.options for word in ("--option", option)]
        done = run([*prefix.split(), self.xsp, "profile", str(self.file), *words.split(), *options,
                    "--max-time", str(seconds), "-o", str(out)])
        found = rows(self.xsp, out, "SELECT duration_ns AS ns FROM span JOIN run USING (run_id) WHERE "
                     "level = 2 AND iteration >= 0 AND levels = 'model'")
        if not found:
            self.why = (done.stderr.strip().splitlines() or ["no inference"])[-1]
            return
        times = [row["ns"] for row in found]
        self.medians.append(statistics.median(times))
        self.least_ns.append(min(times))
        for fact in rows(self.xsp, out, "SELECT value FROM evaluation WHERE key = 'framework_version'"):
            self.version = fact["value"]
        # A layer that runs twice in an inference counts as two.
        for row in rows(self.xsp, out, f"SELECT name, nth, min(ns) AS ns, bool_or({CONVOLUTION}) AS is_conv "
                        "FROM (SELECT name, type, duration_ns AS ns, row_number() OVER (PARTITION BY run_id, "
                        "iteration, name ORDER BY start_ns) AS nth, type FROM span WHERE level = 3 AND "
                        "iteration >= 0 AND coalesce(self_ns, duration_ns) >= 0 AND NOT EXISTS (FROM span c "
                        "WHERE c.run_id = span.run_id AND c.parent_id = span.span_id AND c.level = 3)) "
                        "GROUP BY name, nth"):
            key = (row["name"], row["nth"])
            self.layers[key] = min(self.layers[key], row["ns"])
            if row["is_conv"]:
                self.convolutions.add(key)

    def line(self):
        if not self.medians:
            return f"| {self.name} | not measured: {self.why} | | | |"
        whole = sum(self.layers.values()) / 1e6
        part = sum(self.layers[key] for key in self.convolutions) / 1e6
        layers = f"{whole:.1f} ({len(self.layers)}) | {part:.1f}" if self.layers else "not measured | "
        return (f"| {self.name} {self.version} | {min(self.least_ns) / 1e6:.1f} | "
                f"{statistics.median(self.medians) / 1e6:.1f} | {layers} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", default="build/release/bin/xsp")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", type=float, default=3, help="seconds of each profile")
    parser.add_argument("--prefix", default="", help="put before each profile: taskset -c 1")
    parser.add_argument("--torch", help="a TorchScript file of the network")
    parser.add_argument("--other", action="append", default=[])
    options = parser.parse_args()
    xsp = str(pathlib.Path(options.xsp).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        table = []
        for framework, (kind, file, own) in FORMATS.items():
            subprocess.run([xsp, "models", "build", "resnet50", "--format", kind, "--force"], cwd=folder,
                           capture_output=True, check=False)
            table.append(Row(framework, xsp, framework, folder / file, own))
        if options.torch:
            table.append(Row("torch", xsp, "torch", options.torch, []))
        for other in options.other:
            title, _, words = other.partition("=")
            program, framework, file, *more = words.split(",")
            table.append(Row(title, program, framework, file, more))
        for _ in range(options.rounds):
            for row in table:
                row.profile(options.prefix, options.time, folder)
    print("| framework | latency, least ms | median ms | layers, least ms each | convolutions |")
    print("|---|---|---|---|---|")
    print(*(row.line() for row in table), sep="\n")


if __name__ == "__main__":
    main()
