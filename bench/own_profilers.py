#!/usr/bin/env python3
"""Compares layer times of xsp's adapters with those of the frameworks' own profilers for the same model.

  bench/own_profilers.py [--xsp build/release/bin/xsp] [--rounds 3] [--runs 10] [FRAMEWORK...]

For each framework a plain program of its own, without xsp, runs ResNet-50 (batch 1, one thread) with the
framework's profiler on: ONNX Runtime's JSON, MXNet's aggregate statistics, OpenCV's getPerfProfile. It
takes turns with `xsp profile` of the same file. Prints, over all rounds: layers, the sum of their times by
either, and the median and range of the ratios xsp / own, layer by layer (MXNet: operator by operator,
because its table has no layers); once for medians, once for minima (MXNet's table has only averages, which
are compared with averages). If other programs share the machine, a layer that lost its processor a few
times has another median in the other program; its minimum is that of an undisturbed execution. Such layers
change from round to round, and their times have two modes, a time slice of the other program apart. OpenCV
also reports its own count of flops (getFLOPS), which is compared with xsp's from shapes. The adapters of
TensorFlow and ggml read those frameworks' own tools (step statistics, a callback), so that there is no second
tool to compare them with.

onnxruntime needs a Python that imports onnxruntime and numpy (--python), opencv_dnn its headers.
"""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
SHAPE = (1, 3, 224, 224)
FORMATS = {"onnxruntime": ("onnx", "resnet50.onnx"), "mxnet": ("mxnet", "resnet50-symbol.json"),
           "opencv_dnn": ("caffe", "resnet50.prototxt")}

def by_name(pairs):
    """Returns all ns of each name."""
    times = collections.defaultdict(list)
    for name, duration in pairs:
        times[name].append(duration)
    return times


# ---- The frameworks' own programs: print NAME<TAB>NS -------------------------------------------------------

def own_onnxruntime(model, runs):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(model.parent / "own")
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    for _ in range(runs):
        session.run(None, {session.get_inputs()[0].name: numpy.full(SHAPE, 0.5, numpy.float32)})
    for event in json.loads(pathlib.Path(session.end_profiling()).read_text()):
        if event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
            print(event["name"].removesuffix("_kernel_time"), event["dur"] * 1000, sep="\t")


def own_mxnet(model, runs):
    os.environ.update(MXNET_ENGINE_TYPE="NaiveEngine", MXNET_EXEC_BULK_EXEC_INFERENCE="0",
                      OMP_NUM_THREADS="1")
    mx = ctypes.CDLL(str(CACHE / "xsp/frameworks/mxnet/mxnet/libmxnet.so"))
    mx.MXGetLastError.restype = ctypes.c_char_p
    handle = ctypes.c_void_p

    def call(function, *arguments):
        if getattr(mx, function)(*arguments) != 0:
            sys.exit(f"{function}: {mx.MXGetLastError().decode()}")

    def texts(function, symbol):
        count, names = ctypes.c_uint32(), ctypes.POINTER(ctypes.c_char_p)()
        call(function, symbol, ctypes.byref(count), ctypes.byref(names))
        return [names[i].decode() for i in range(count.value)]

    def strings(values):
        return (ctypes.c_char_p * len(values))(*[value.encode() for value in values])

    symbol = handle()
    call("MXSymbolCreateFromFile", str(model).encode(), ctypes.byref(symbol))
    count, name_count = ctypes.c_uint32(), ctypes.c_uint32()
    arrays, names = ctypes.POINTER(handle)(), ctypes.POINTER(ctypes.c_char_p)()
    params = str(model).replace("-symbol.json", "-0000.params").encode()
    call("MXNDArrayLoad", params, ctypes.byref(count), ctypes.byref(arrays), ctypes.byref(name_count),
         ctypes.byref(names))
    loaded = {names[i].decode().split(":", 1)[1]: arrays[i] for i in range(count.value)}
    image = handle()
    call("MXNDArrayCreateEx", (ctypes.c_uint32 * 4)(*SHAPE), 4, 1, 0, 0, 0, ctypes.byref(image))
    values = (ctypes.c_float * (3 * 224 * 224))(*([0.5] * (3 * 224 * 224)))
    call("MXNDArraySyncCopyFromCPU", image, values, ctypes.c_size_t(len(values)))
    arguments = [loaded.get(name, image.value) for name in texts("MXSymbolListArguments", symbol)]
    states = [loaded[name] for name in texts("MXSymbolListAuxiliaryStates", symbol)]
    executor = handle()
    many = handle * len(arguments)
    call("MXExecutorBind", symbol, 1, 0, len(arguments), many(*arguments), many(),
         (ctypes.c_uint32 * len(arguments))(), len(states), (handle * len(states))(*states),
         ctypes.byref(executor))
    keys = {"profile_symbolic": "1", "profile_imperative": "0", "profile_memory": "0", "profile_api": "0",
            "aggregate_stats": "1", "filename": str(model.parent / "own.json")}
    call("MXSetProcessProfilerConfig", len(keys), strings(list(keys)), strings(list(keys.values())), None)
    outputs, output_count = ctypes.POINTER(handle)(), ctypes.c_uint32()
    for run in range(runs + 1):
        if run == 1:  # values from the preparation in the first run are dropped
            call("MXSetProcessProfilerState", 1, 0, None)
        call("MXExecutorForward", executor, 0)
        call("MXExecutorOutputs", executor, ctypes.byref(output_count), ctypes.byref(outputs))
        call("MXNDArrayWaitToRead", handle(outputs[0]))
    call("MXSetProcessProfilerState", 0, 0, None)
    table = ctypes.c_char_p()
    call("MXAggregateProfileStatsPrint", ctypes.byref(table), 0)
    for line in table.value.decode().splitlines():  # name, count, total, min, max, average in ms
        row = re.match(r"(\S+)\s+(\d+)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s*$", line)
        if row and int(row[2]) % runs == 0:
            print(row[1], round(float(row[3]) * 1e6 / runs), sep="\t")
    sys.stdout.flush()
    os._exit(0)  # MXNet's threads may outlive its statics


def own_opencv_dnn(model, runs):
    program = model.parent / "own_opencv"
    if not program.exists():
        source = ROOT / "bench/own_profilers/opencv.cc"
        subprocess.run(["g++", "-std=c++17", "-O1", "-I/usr/include/opencv4", str(source), "-o",
                        str(program), "-lopencv_dnn", "-lopencv_core"], check=True)
    subprocess.run([str(program), str(model.with_suffix("")), str(runs)], check=True)


# ---- The comparison ----------------------------------------------------------------------------------------

def own_times(options, framework, model):
    python = options.python if framework == "onnxruntime" else sys.executable
    command = [*options.prefix.split(), python, __file__, "--own", framework, "--model", str(model)]
    done = subprocess.run([*command, "--runs", str(options.runs)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"error: {framework}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    pairs = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    return by_name((name, float(ns)) for name, ns in pairs)


def xsp_times(options, framework, model, key):
    file = model.parent / "t.xsp"
    words = f"--framework {framework} --batch 1 --threads 1 --levels model,layer --max-time 5 --no-peaks"
    subprocess.run([*options.prefix.split(), options.xsp, "profile", str(model), *words.split(),
                    "-o", str(file)], capture_output=True, check=False)
    sql = (f"SELECT {key} AS name, iteration, sum(duration_ns) AS ns FROM span "
           "WHERE level = 3 AND iteration >= 0 GROUP BY ALL")
    rows = subprocess.run([options.xsp, "query", str(file), "--format", "json", sql], capture_output=True,
                          text=True, check=True).stdout
    return by_name((row["name"], row["ns"]) for row in json.loads(rows))


def compare(options, framework, folder):
    kind, name = FORMATS[framework]
    model = folder / name
    subprocess.run([options.xsp, "models", "build", "resnet50", "--format", kind, "--force"], cwd=folder,
                   capture_output=True, check=True)
    own, ours = collections.defaultdict(list), collections.defaultdict(list)
    key = "type" if framework == "mxnet" else "name"
    for _ in range(options.rounds):
        for times, of_round in ((own, own_times(options, framework, model)),
                                (ours, xsp_times(options, framework, model, key))):
            for name, values in of_round.items():
                times[name] += values
    flops = own.pop("flops", None)
    has_runs = framework != "mxnet"
    cells = [ratios(own, ours, statistics.median if has_runs else statistics.mean)]
    cells += [ratios(own, ours, min) if has_runs else "not told | "]
    count = sum(name in ours for name in own)
    print(f"| {framework} | {count} of {len(ours)} | {' | '.join(cells)} |" +
          (f" getFLOPS {flops[0]:.0f}" if flops else ""), flush=True)


def ratios(own, ours, of):
    """Returns the sums and the ratios of each layer's `of` (such as the median) of its times."""
    pairs = [(of(own[name]), of(ours[name])) for name in own if name in ours]
    pairs = [pair for pair in pairs if pair[0] > 0]
    by_layer = sorted(ours / own for own, ours in pairs)
    sums = [sum(pair[i] for pair in pairs) / 1e6 for i in (0, 1)]
    return (f"{sums[0]:.1f}, {sums[1]:.1f}: {sums[1] / sums[0]:.3f} | {statistics.median(by_layer):.3f} "
            f"({by_layer[0]:.2f} to {by_layer[-1]:.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", default="build/release/bin/xsp")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--prefix", default="", help="put before each program: taskset -c 1")
    parser.add_argument("--own", help=argparse.SUPPRESS)
    parser.add_argument("--model", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("frameworks", nargs="*")
    options = parser.parse_args()
    if options.own:
        globals()["own_" + options.own](options.model, options.runs)
        return
    options.xsp = str(pathlib.Path(options.xsp).resolve())
    print("| framework | compared | medians, ms: own, xsp, ratio | ratio by layer: median (range) "
          "| minima, ms | ratio by layer |")
    print("|---|---|---|---|---|---|")
    for framework in options.frameworks or FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            compare(options, framework, pathlib.Path(folder))


if __name__ == "__main__":
    main()
