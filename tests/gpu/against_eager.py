#!/usr/bin/env python3
"""Compares the results of an exported model in xsp-worker with those of its module in Python.

  tests/gpu/against_eager.py TREE MODEL_FILE RECIPE [--device cuda] [--batch 3]

tools/export_torch.py makes the module again, from the same seed. Prints the relative difference of each
output, in the norm; exit status 1 if one is above the tolerance.
"""

import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 1e-2  # products in TF32, in another order


def exporter():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
    return importlib.import_module("export_torch")


def flattened(value):
    if isinstance(value, (list, tuple)):
        return [tensor for one in value for tensor in flattened(one)]
    return [value]


def from_worker(options, files, folder):
    """Returns the arrays that xsp-worker computes for these inputs."""
    import numpy
    argv = [f"{options.tree}/bin/xsp-worker", "--adapter", f"{options.tree}/lib/xsp/adapters/torch.so",
            "--model", options.file, "--device", options.device, "--levels", "model",
            "--trace", f"{folder}/t.xtrace", "--scratch", folder, "--batch", str(options.batch)]
    for name, path in files.items():
        argv += ["--input", f"{name}=@{path}"]
    commands = f"run\t2\nsave\t{folder}\nquit\n"
    # Without the descriptor for replies, they go to standard output.
    done = subprocess.run(argv, input=commands, capture_output=True, text=True, timeout=140,
                          env={**os.environ, "LD_LIBRARY_PATH": f"{options.tree}/lib"})
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if fields[0] == "failed":
            raise SystemExit(f"error: xsp-worker: {fields[-1]}")
        if fields[0] == "saved":
            return [numpy.load(os.path.join(folder, name)) for name in fields[2:]]
    raise SystemExit(f"error: xsp-worker ended with {done.returncode}: {done.stderr.strip()[-200:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree")
    parser.add_argument("file")
    parser.add_argument("recipe")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--attention", default="sdpa")
    options = parser.parse_args()
    options.model, options.dtype = options.recipe, "fp32"
    import numpy
    import torch
    export = exporter()
    export.torch = torch
    torch.manual_seed(0)
    recipe = export.make(options)
    recipe.module = recipe.module.eval().to(options.device)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        values = [one.values(options.batch, options.device) for one in recipe.inputs]
        files = {}
        for one, value in zip(recipe.inputs, values):
            files[one.name] = os.path.join(folder, f"input_{one.name}.npy")
            numpy.save(files[one.name], value.cpu().numpy())
        expected = [tensor.float().cpu().numpy() for tensor in flattened(recipe.module(*values))]
        found = from_worker(options, files, folder)
    if len(found) != len(expected):
        raise SystemExit(f"error: {len(found)} outputs, not {len(expected)}")
    worst = 0.0
    for one, other in zip(expected, found):
        if one.shape != other.shape:
            raise SystemExit(f"error: an output of shape {other.shape}, not {one.shape}")
        norm = numpy.linalg.norm(one.astype("float64").ravel())
        difference = numpy.linalg.norm((one.astype("float64") - other).ravel()) / (norm if norm > 0 else 1)
        worst = max(worst, float(difference))
    print(f"{len(found)} outputs, largest difference {worst:.2g} of the norm")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
