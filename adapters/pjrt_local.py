#!/usr/bin/env python3
"""Functions of the JAX of the Python environment, as StableHLO.

xsp runs it with that environment's Python:

  pjrt_local.py status                one line about the JAX that is there
  pjrt_local.py export SPEC FOLDER    writes a function as StableHLO, which the adapter opens

SPEC is FILE.py:FUNCTION, whose function returns a JAX function (compiled by jax.jit or not; a module of
Flax's nnx is one) and its example inputs: an array, or a tuple of arrays and trees of them. `export` prints
"model<TAB>FILE", and for each example input "input<TAB>NAME=@FILE.npy".
"""
# imports: jax flax haiku equinox
# makes: .py

import importlib.metadata
import importlib.util
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
# This folder holds libraries that have names of Python's packages.
sys.path = [folder for folder in sys.path if os.path.realpath(folder or ".") != HERE]
sys.dont_write_bytecode = True  # the installation is not ours to write to
_spec = importlib.util.spec_from_file_location("xsp_local", os.path.join(HERE, "local.py"))
local = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(local)
Failure = local.Failure

RETURN = "return a JAX function, and a tuple of example inputs"


def version_of_jax():
    if importlib.util.find_spec("jax") is None:
        raise Failure(f"JAX is not installed in {sys.executable}: pip install jax", local.NOT_AVAILABLE)
    return importlib.metadata.version("jax")


def status():
    print(f"JAX {version_of_jax()} in {sys.executable}")


def portable(module):
    """Returns the module as bytecode that plugins of XLA read which are older than this JAX."""
    from jaxlib.mlir.dialects import stablehlo
    return stablehlo.serialize_portable_artifact(module, stablehlo.get_minimum_version())


def names_of(module):
    """Returns the names of the arguments of the module's function, as the adapter reads them."""
    text = module.operation.get_asm(enable_debug_info=True, large_elements_limit=16)
    head = next(line for line in text.splitlines() if "@main(" in line)
    places = dict(re.findall(r'^(#loc\d*) = loc\("([^"]*)"', text, re.MULTILINE))
    arguments = re.findall(r"%arg\d+: [^%]*", head.split(" -> ")[0])
    found = [re.search(r'loc\((#loc\d*|"[^"]*")', one) for one in arguments]
    return [places.get(one[1], one[1].strip('"')) if one else None for one in found]


def export(spec, folder):
    path, function = spec.rsplit(":", 1)
    local.require_mine(path, __file__)
    version_of_jax()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # exporting needs no other
    import jax
    made, inputs = local.split_made(local.loaded(path, function))
    if not callable(made) or isinstance(made, type):
        raise Failure(f"{spec}: returns {type(made).__name__}: {RETURN}", local.NOT_AVAILABLE)
    if inputs is None:
        raise Failure(f"{spec}: returns no example inputs: {RETURN}")
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    try:
        lowered = jax.jit(made, keep_unused=True).lower(*inputs)
    except Exception as error:  # a function may throw anything
        raise Failure(f"{spec}: cannot be lowered: {local.first_line(error)}") from error
    module = lowered.compiler_ir("stablehlo")
    file = os.path.join(folder, "model.mlirbc")
    with open(file, "wb") as out:
        out.write(portable(module))
    print(f"model\t{file}")
    leaves = jax.tree_util.tree_leaves(inputs)
    for number, (name, leaf) in enumerate(zip(names_of(module), leaves)):
        local.save_input(name or f"arg{number}", leaf, folder)


if __name__ == "__main__":
    sys.exit(local.run(__doc__, {"status": (1, status), "export": (3, export)}, sys.argv[1:]))
