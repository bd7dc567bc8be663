#!/usr/bin/env python3
"""Counts the instructions that `xsp run` adds to a call of a module, and to an operator, in an eager PyTorch
program.

    eager_instructions.py XSP [--python PYTHON] [--levels "SET SET..."] [--calls N] [--keep FOLDER]

valgrind's callgrind counts them, so that other load does not matter. The parts are modules that do
nothing, a module of many operators, the same while the graph of a backward pass is made, and that pass.
The counts include all work of the process, bare and watched, as the mean of N calls of a model (64: one in
32 is examined), by one thread on a CPU, without looks at stacks. --keep leaves callgrind's files, for
callgrind_annotate. The PYTHON (/usr/bin/python3) needs torch. Each set of levels takes about a minute and
a half.
"""
import argparse
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

MODULES, OPERATORS = 100, 200
# The bench counts the instructions within calls of this function of libffi. ctypes calls through it; so does
# torch when it is imported.
COUNTED = "ffi_call"
WARM = 8
PARTS = ("call of a module", "operator", "operator with a graph", "operator of a backward pass")


def counted(function):
    """Calls the function within COUNTED."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: function() or 0)
    one = ctypes.c_size_t(1)
    given = ctypes.byref(one)
    ctypes.CDLL(None).lfind(given, given, given, ctypes.c_size_t(8), compare)


def compute(calls):
    import torch
    from torch import nn

    class Nothing(nn.Module):
        def forward(self, x):
            return x

    class Calls(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList(Nothing() for _ in range(MODULES))

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    class Operators(nn.Module):
        def forward(self, x):
            for _ in range(OPERATORS):
                x = x * x
            return x

    torch.set_num_threads(1)
    x, leaf = torch.ones(4), torch.ones(4, requires_grad=True)
    modules, operators = Calls(), Operators()
    results = []

    def repeat(function, count):
        for _ in range(count):
            function()

    def forward():
        results.append(operators(leaf).sum())

    def backward():
        results.pop().backward()

    for function in (lambda: modules(x), lambda: operators(x)):
        repeat(function, WARM)
        counted(lambda function=function: repeat(function, calls))
    repeat(forward, WARM)
    repeat(backward, WARM)
    counted(lambda: repeat(forward, calls))
    counted(lambda: repeat(backward, calls))


def totals(folder, xsp, levels, options):
    """Returns the instructions of each part, in the order of PARTS; without levels (None) those of the bare
    program."""
    file = os.path.join(folder, levels or "bare")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", f"--toggle-collect={COUNTED}",
               f"--dump-after={COUNTED}", options.python, os.path.abspath(__file__), "--compute",
               str(options.calls)]
    if levels is not None:
        command = [xsp, "run", "--quiet", "--no-stacks", "--leveled=no", "--levels", levels, "-o",
                   file + ".xsp", "--", *command]
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    files = sorted(glob.glob(f"{glob.escape(file)}.[0-9]*"), key=lambda name: int(name.rpartition(".")[2]))
    counts = []
    for name in files[-len(PARTS):]:
        with open(name) as lines:
            counts.append(int(re.search(r"^totals: (\d+)", lines.read(), re.M)[1]))
    if len(counts) < len(PARTS):
        sys.exit(f"callgrind counted nothing: {(done.stdout + done.stderr).strip()[-500:]}")
    return counts


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("xsp", nargs="?")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--levels", default="application model,layer all")
    parser.add_argument("--calls", type=int, default=64)
    parser.add_argument("--keep")
    parser.add_argument("--compute", type=int)
    options = parser.parse_args()
    if options.compute:
        return compute(options.compute)
    if options.xsp is None:
        parser.error("which xsp?")
    each = [MODULES + 1, OPERATORS, OPERATORS, OPERATORS]
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or folder
        os.makedirs(folder, exist_ok=True)
        bare = None
        print(f"{'instructions':14}" + "".join(f"{part:>28}" for part in PARTS))
        for levels in (None, *options.levels.split()):
            counts = totals(folder, os.path.abspath(options.xsp), levels, options)
            own = [count / options.calls / number for count, number in zip(counts, each)]
            bare = bare or own
            cells = (f"{one:.0f}" + (f" (+{one - first:.0f})" if levels else "")
                     for one, first in zip(own, bare))
            print(f"{levels or 'bare':14}" + "".join(f"{cell:>28}" for cell in cells), flush=True)


main()
