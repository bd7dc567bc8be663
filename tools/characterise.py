#!/usr/bin/env python3
"""Measures models on a GPU, one after another, for a public table: their latency over batch sizes, then
every level at batch 1 and at the knee.

    tools/characterise.py --xsp XSP --models FOLDER --out FOLDER [--framework torch] [MODEL ...]

MODEL is a name of `xsp models --list`, or NAME=RECIPE of tools/export_torch.py. With PyTorch, each model
that FOLDER lacks is exported before anything is measured, several at once. Other frameworks take the models
that xsp builds. It writes two condensed evaluations of each: NAME.FRAMEWORK.batches.xsp and
NAME.FRAMEWORK.xsp; with --compiled, which exports what torch.compile's compiler makes for the GPU, FRAMEWORK
is `inductor`. A model that is there is left alone, so that the work can go on another day. It begins
no model that the rest of --seconds may not hold. It prints a line for each model, and writes log.csv: how
long each part took, and why a part failed. On a machine of several equal GPUs, --gpus measures as many models
at once, each with a GPU and an equal share of the processors of its own.

A model whose batch is fixed, such as a network on one graph, needs --batches own. --profile adds options to
each xsp profile.

The knee is the smallest batch size from which on no doubling gives over 5 % more inputs per second. It is
the role `knee` of the analysis model_information (XSP, section 3) unless larger sizes gain again. Between
sizes that are further apart, the gain is that of each doubling on the way.
"""
import argparse
import concurrent.futures
import csv
import io
import json
import math
import os
import pathlib
import queue
import shlex
import subprocess
import sys
import threading
import time

GAIN_PCT = 5
ROOT = pathlib.Path(__file__).resolve().parent.parent
FIELDS = ("model", "part", "seconds", "status", "detail")


class Place:
    """A GPU with its share of the processors."""

    def __init__(self, number, count):
        processors = sorted(os.sched_getaffinity(0))
        share = len(processors) // count
        self.processors = processors[number * share:(number + 1) * share] if share else processors
        # A single place leaves the choice of the GPU to the user's own CUDA_VISIBLE_DEVICES.
        self.environment = os.environ | ({"CUDA_VISIBLE_DEVICES": str(number)} if count > 1 else {})

    def occupy(self):
        """Keeps the calling thread, and the programs that it starts, on the place's processors."""
        os.sched_setaffinity(0, self.processors)


def run(command, limit, environment=None):
    """Returns the exit status, 124 for one that took too long, and the last line that the command printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False,
                              env=environment)
    except subprocess.TimeoutExpired:
        return 124, f"took over {limit} s"
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error") or "Error" in line]
    return done.returncode, (errors or lines or [""])[-1][:300]


class Log:
    def __init__(self, path):
        is_new = not path.exists()
        self.lock = threading.Lock()
        self.file = open(path, "a", newline="", encoding="utf-8")
        self.rows = csv.writer(self.file)
        if is_new:
            self.rows.writerow(FIELDS)

    def add(self, *row):
        with self.lock:
            self.rows.writerow(row)
            self.file.flush()


def chosen_models(args):
    """Returns a recipe for each chosen model; None for one that xsp builds."""
    listed = subprocess.run([args.xsp, "models", "--list", "--format", "json"], capture_output=True,
                            text=True, check=True)
    known = {}
    for model in json.loads(listed.stdout):
        kind, _, name = model.get("source", "").partition(" ")
        if kind == ("export" if args.framework == "torch" else "zoo"):
            known[model["name"]] = name if kind == "export" else None
    chosen = {}
    for word in args.names or sorted(known):
        name, _, recipe = word.partition("=")
        if not recipe and name not in known:
            raise SystemExit(f"error: {name}: {args.framework} has no recipe for it: give NAME=RECIPE")
        chosen[name] = recipe or known[name]
    return chosen


def exported(args, name):
    return args.models / f"{name}.{'pt2' if args.compiled else 'pt'}"


def export(args, name, recipe, gpu):
    path = exported(args, name)
    if path.exists():
        return name, 0, 0, ""
    partial = path.with_name(f"{name}.partial{path.suffix}")
    began = time.monotonic()
    environment = os.environ | ({"CUDA_VISIBLE_DEVICES": str(gpu)} if args.gpus > 1 else {})
    device = ["--device", "cuda"] if args.compiled else []
    status, said = run([sys.executable, ROOT / "tools/export_torch.py", recipe, *device, "-o", partial],
                       args.export_seconds, environment)
    if status == 0:
        partial.rename(path)
    else:
        partial.unlink(missing_ok=True)
    return name, time.monotonic() - began, status, said


def knee_of(xsp, path):
    done = subprocess.run([xsp, "analyze", "model_information", path, "--format", "csv"],
                          capture_output=True, text=True, check=True)
    sizes = [(int(row["batch"] or 1), float(row["latency_ns"]))
             for row in csv.DictReader(io.StringIO(done.stdout))]
    knee = 0
    for index, (batch, _) in enumerate(sizes):
        gains = index + 1 < len(sizes) and gain_of_doubling(sizes[index], sizes[index + 1]) > GAIN_PCT
        knee = 0 if gains else knee or batch
    return knee


def gain_of_doubling(small, large):
    """Returns by how many percent a doubling raises the inputs per second, between two batch sizes."""
    (less, its_ns), (more, other_ns) = small, large
    return 100 * ((more / other_ns) / (less / its_ns)) ** (1 / math.log2(more / less)) - 100


def result(args, name, ending):
    return args.out / f"{name}.{'inductor' if args.compiled else args.framework}.{ending}"


def measure(args, log, place, name, recipe):
    subject = exported(args, name) if recipe else name
    whole = args.models / f"{name}.whole.xsp"

    def batches_of(sizes):
        return [] if args.batches == "own" else ["--batch", sizes]

    # ONNX Runtime's threads pin themselves to the machine's first processors, those of another place.
    threads = ["--threads", "1"] if args.framework == "onnxruntime" and args.gpus > 1 else []
    common = [args.xsp, "profile", subject, *shlex.split(args.profile), *threads,
              "--framework", args.framework,
              "--device", "cuda", "--quiet", "--force", "-o", whole,
              # A run that is silent for half of the time is given up; what other runs measured is kept.
              "--timeout", str(max(args.part_seconds // 2, 1))]

    def part(what, more, to):
        began = time.monotonic()
        status, said = run(common + more, args.part_seconds, place.environment)
        if whole.exists():
            condensed, why = run([args.xsp, "condense", whole, "--inferences", "6", "-o", to], 120)
            if condensed != 0:
                status, said = condensed, why
            whole.unlink()
        log.add(name, what, f"{time.monotonic() - began:.1f}", status, said if status else "")
        return to.exists(), said

    batches = result(args, name, "batches.xsp")
    levels = result(args, name, "xsp")
    if not batches.exists():
        # A batch size that does not fit fails, and the others are kept.
        done, said = part("batches", ["--levels", "model", "--counters", "none", "--no-peaks",
                                      *batches_of(args.batches), "--max-time", "9"], batches)
        if not done:
            return f"failed: {said}"
    knee = knee_of(args.xsp, batches)
    done, said = part("levels", ["--levels", "model,layer,kernel", "--counters", "roofline,energy",
                                 *batches_of(f"1,{knee}" if knee > 1 else "1"),
                                 "--iterations", str(args.iterations), "--max-time", "16"], levels)
    if not done:
        return f"knee {knee}; failed: {said}"
    size = levels.stat().st_size + batches.stat().st_size
    return f"knee {knee}, {size / 1e6:.2f} MB"


def export_all(args, log, models):
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        tasks = [pool.submit(export, args, name, recipe, i % args.gpus)
                 for i, (name, recipe) in enumerate(models.items())
                 if recipe and not result(args, name, "xsp").exists()]
        for task in concurrent.futures.as_completed(tasks):
            name, seconds, status, said = task.result()
            if seconds > 0:
                log.add(name, "export", f"{seconds:.1f}", status, said if status else "")
                print(f"export {name}: {seconds:.0f} s{' failed: ' + said if status else ''}", flush=True)


def measure_all(args, log, models, end):
    waiting = queue.SimpleQueue()
    for name, recipe in models.items():
        is_done = result(args, name, "xsp").exists()
        if not is_done and (not recipe or exported(args, name).exists()):
            waiting.put((name, recipe))

    def measure_in(place):
        place.occupy()
        longest = 40.0
        while time.monotonic() + longest < end:
            try:
                name, recipe = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.monotonic()
            said = measure(args, log, place, name, recipe)
            seconds = time.monotonic() - began
            longest = max(longest, seconds)
            print(f"{name}: {seconds:.0f} s, {said}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.gpus) as pool:
        for task in [pool.submit(measure_in, Place(i, args.gpus)) for i in range(args.gpus)]:
            task.result()
    if not waiting.empty():
        print("no time for more", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", required=True, help="the program")
    parser.add_argument("--framework", default="torch",
                        help="what runs them: torch, onnxruntime, pjrt, tensorrt")
    parser.add_argument("--compiled", action="store_true",
                        help="run packages of AOTInductor, torch.compile's compiler, with --framework torch")
    parser.add_argument("--models", required=True, type=pathlib.Path, help="exported models")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the folder of the evaluations")
    parser.add_argument("--seconds", type=float, default=1e9, help="its time")
    parser.add_argument("--gpus", type=int, default=1, help="equal GPUs of this machine, a model on each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="exports at once")
    parser.add_argument("--export-seconds", type=float, default=400,
                        help="gives up an export that takes longer")
    parser.add_argument("--part-seconds", type=int, default=420,
                        help="gives up an evaluation that takes longer")
    parser.add_argument("--batches", default="1,2,4,8,16,32,64,128,256", help="the batch sizes, or own")
    parser.add_argument("--profile", default="", help="more options of xsp profile")
    parser.add_argument("--iterations", type=int, default=40, help="inferences of a run with layers")
    parser.add_argument("--export-only", action="store_true", help="measure nothing")
    parser.add_argument("names", nargs="*", metavar="MODEL", help="a name, or NAME=RECIPE")
    args = parser.parse_args()
    if args.compiled and args.framework != "torch":
        parser.error("--compiled: only PyTorch's models are compiled: leave --framework out")
    if args.gpus < 1:
        parser.error("--gpus: give the number of GPUs, from 1")
    end = time.monotonic() + args.seconds
    for folder in (args.models, args.out):
        folder.mkdir(parents=True, exist_ok=True)
    log = Log(args.out / "log.csv")
    models = chosen_models(args)
    export_all(args, log, models)
    if not args.export_only:
        measure_all(args, log, models, end)


if __name__ == "__main__":
    main()
