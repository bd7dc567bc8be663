#!/usr/bin/env python3
"""Exports the models of tools/export_torch.py, with the same weights, as ONNX, for xsp's adapter
`onnxruntime`.

  tools/export_onnxruntime.py gpt2-generate -o gpt2.onnx

A detector of two stages takes one image at a time; others take any batch.
"""

import re
import sys
import warnings

import export_torch
from recipes.recipe import EXAMPLE_BATCH

OPSET = 17


def dynamic_axes(recipe):
    """Returns the dimensions that vary, for each input and named output."""
    shapes = {one.name: one.shape for one in recipe.inputs}
    for line in recipe.outputs:
        _, name, _, shape = line.split("\t")
        shapes[name] = shape.split(",")
    return {name: {d: size for d, size in enumerate(shape) if re.match("[a-z]", str(size))}
            for name, shape in shapes.items()}


def export_onnx(recipe, options):
    warnings.filterwarnings("ignore")
    # A recipe that PyTorch scripts is a detector. torchvision writes its choice among boxes with ONNX's
    # operators, for one image only.
    batch = 1 if recipe.scripted else EXAMPLE_BATCH
    # This is the exporter by tracing: the newer one needs the package onnxscript.
    export_torch.torch.onnx.export(
        recipe.module, recipe.examples(options, batch), options.output, dynamo=False, opset_version=OPSET,
        input_names=[one.name for one in recipe.inputs],
        output_names=[line.split("\t")[1] for line in recipe.outputs] or None,
        dynamic_axes=None if recipe.scripted else dynamic_axes(recipe))


if __name__ == "__main__":
    sys.exit(export_torch.main({"onnx": (".onnx", export_onnx)}))
