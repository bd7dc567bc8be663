#!/usr/bin/env python3
"""The PyTorch of the Python environment: its adapter, built on first use, and models that Python makes.

xsp runs it with that environment's Python:

  torch_local.py status               one line about the PyTorch that is there
  torch_local.py adapter CACHE LIBRARY  the path of its adapter, built below CACHE if it is not there;
                                        nothing if an installed adapter runs it already, from LIBRARY
  torch_local.py export SPEC FOLDER   writes a model as a file that the adapter opens

SPEC is FILE.py:FUNCTION, whose function returns a module and example inputs (a tensor, or a tuple of
tensors); or torchvision/NAME, timm/NAME or transformers/TYPE. `export` prints "model<TAB>FILE", and for each
example input "input<TAB>NAME=@FILE.npy".

local.py has its exit statuses.
"""
# opens: .pt .pth .ts .pt2
# imports: torch torchvision timm transformers
# makes: .py torchvision/ timm/ transformers/

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings

HERE = os.path.dirname(os.path.realpath(__file__))
# This folder holds torch.so, which Python would take for its module torch.
sys.path = [folder for folder in sys.path if os.path.realpath(folder or ".") != HERE]

sys.dont_write_bytecode = True  # the installation is not ours to write to
_spec = importlib.util.spec_from_file_location("xsp_local", os.path.join(HERE, "local.py"))
local = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(local)
Failure, NOT_AVAILABLE = local.Failure, local.NOT_AVAILABLE


class Torch:
    """The PyTorch of this Python, found without importing it, which takes seconds."""

    def __init__(self):
        import importlib.metadata
        spec = importlib.util.find_spec("torch")
        places = spec.submodule_search_locations if spec else None
        if not places:
            raise Failure(f"PyTorch is not installed in {sys.executable}: pip install torch", NOT_AVAILABLE)
        self.folder = places[0]
        self.library = os.path.join(self.folder, "lib", "libtorch_cpu.so")
        try:
            self.version = importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError:
            self.version = "of unknown version"

    def require_headers(self):
        header = os.path.join(self.folder, "include", "ATen", "record_function.h")
        if not os.path.exists(self.library) or not os.path.exists(header):
            raise Failure(f"{self.folder}: this PyTorch has no headers: pip install torch", NOT_AVAILABLE)


def sources():
    """Returns the folder that holds adapters/torch: in xsp's source tree, or as it is installed."""
    for folder in (os.path.join(HERE, "src"), os.path.dirname(HERE)):
        if os.path.exists(os.path.join(folder, "adapters", "torch", "CMakeLists.txt")):
            return folder
    raise Failure(f"{HERE}: the adapter's sources are not there: reinstall xsp")


def key_of(torch, folder):
    """Returns a name that changes with whatever the built adapter depends on."""
    facts = hashlib.sha256()
    stat = os.stat(torch.library)
    facts.update(f"{torch.version} {torch.library} {stat.st_size} {stat.st_mtime_ns}".encode())
    adapters = os.path.join(folder, "adapters")
    names = [os.path.join("torch", name) for name in sorted(os.listdir(os.path.join(adapters, "torch")))]
    for name in [*names, "torch.cc", "torch.cmake"]:
        with open(os.path.join(adapters, name), "rb") as file:
            facts.update(file.read())
    return "torch-" + facts.hexdigest()[:16]


def tell(text, ends=False):
    """Shows progress: on a terminal as one line that changes."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}" + ("\n" if ends else ""))
    elif ends or text.endswith(":"):
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


def run_cmake(words, log, show):
    """Runs a step of the build, and shows its progress. Raises a Failure with the first error."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        log.write(line)
        done = re.match(r"\[ *(\d+)(%|/(\d+))\]", line)
        if done:
            share = int(done[1]) / (100 if done[2] == "%" else int(done[3]))
            show(100 * share)
    if process.wait() == 0:
        return
    log.flush()
    with open(log.name, encoding="utf-8") as file:
        lines = file.read().splitlines()
    errors = [line.strip() for line in lines if "error" in line.lower()] or lines[-1:] or ["no message"]
    raise Failure(f"the adapter for PyTorch cannot be built: {errors[0][:300]}: see {log.name}")


def build(torch, folder, target):
    compiler = next((name for name in ("c++", "g++", "clang++") if shutil.which(name)), None)
    if compiler is None or shutil.which("cmake") is None:
        missing = "a C++ compiler" if compiler is None else "cmake"
        remedy = "apt-get install g++ cmake" if compiler is None else "pip install cmake"
        raise Failure(f"the adapter for PyTorch {torch.version} is built on first use, and {missing} is "
                      f"not installed: {remedy}", NOT_AVAILABLE)
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    part = f"{target}.part-{os.getpid()}"
    what = f"building xsp's adapter for PyTorch {torch.version}, once, in about a minute"
    tell(what + ":")
    os.makedirs(part)
    try:
        with open(target + ".log", "w", encoding="utf-8") as log:
            make = ["-G", "Ninja"] if shutil.which("ninja") else []
            run_cmake(["cmake", "-S", os.path.join(folder, "adapters", "torch"), "-B", part + "/build", *make,
                       f"-DXSP_PREFIX={prefix}", f"-DXSP_TORCH={torch.folder}",
                       f"-DCMAKE_INSTALL_PREFIX={part}"], log, lambda percent: None)
            processors = str(len(os.sched_getaffinity(0)))
            run_cmake(["cmake", "--build", part + "/build", "--parallel", processors], log,
                      lambda percent: tell(f"{what}: {percent:.0f} %"))
        built = os.path.join(part, "build", "torch.so")
        os.replace(built, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    tell(f"built {target}", ends=True)


def adapter(cache, library):
    torch = Torch()
    if library and os.path.realpath(library) == os.path.realpath(torch.library):
        return
    torch.require_headers()
    folder = sources()
    place = os.path.join(cache, key_of(torch, folder))
    target = os.path.join(place, "torch.so")
    if not os.path.exists(target):
        os.makedirs(place, exist_ok=True)
        build(torch, folder, target)
    print(target)


def shape_of(tensor, batch):
    sizes = [str(size) for size in tensor.shape]
    if batch is not None and sizes:
        sizes[0] = "batch"
    return ",".join(sizes)


def tensors_of(torch, output):
    """Returns the tensors that a module returned, whatever holds them."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = output.values()
    elif not isinstance(output, (tuple, list)):
        return []
    return [tensor for part in output for tensor in tensors_of(torch, part)]


def is_close(torch, expected, found):
    """Tells whether tensors of one shape have the same values, but for the order of additions."""
    if expected.is_quantized or not (expected.is_floating_point() or expected.is_complex()):
        return torch.equal(expected, found)
    if expected.layout != torch.strided:
        expected, found = expected.to_dense(), found.to_dense()
    # Half of the digits: another order costs fewer of them, another computation more.
    tolerance = torch.finfo(expected.dtype).eps ** 0.5
    sizes = expected.abs()
    sizes = sizes[torch.isfinite(sizes)]
    scale = float(sizes.max()) if sizes.numel() else 0.0
    return torch.allclose(expected, found, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def computes_the_same(torch, module, trace, inputs):
    """Tells whether a trace does what its module does, on inputs of another size than it was made with."""
    def outputs(run):  # of copies: a module may write to its inputs
        return tensors_of(torch, run(*(tensor.clone() for tensor in inputs)))

    expected, found = outputs(module), outputs(trace)
    if [one.shape for one in expected] != [one.shape for one in found]:
        return False
    unlike = [i for i, one in enumerate(expected) if not is_close(torch, one, found[i])]
    if not unlike:
        return True
    # Values that the module itself does not repeat, as those of a dropout, tell nothing.
    again = outputs(module)
    return not any(is_close(torch, expected[i], again[i]) for i in unlike)


def traced(torch, module, inputs):
    """Returns the module's trace, and the size of the batch, if another size works as well."""
    with torch.no_grad():
        try:
            module = module.eval()
        except NotImplementedError:  # a program of torch.export is as it was exported
            pass
        module(*inputs)  # lazy modules get their parameters at the first call
        trace = torch.jit.trace(module, inputs, check_trace=False)
        sizes = {tensor.shape[0] for tensor in inputs if tensor.dim() > 0}
        if len(sizes) != 1:
            return trace, None
        more = tuple(torch.cat([tensor, tensor]) if tensor.dim() > 0 else tensor for tensor in inputs)
        try:
            return trace, sizes.pop() if computes_the_same(torch, module, trace, more) else None
        except Exception:  # a module may throw anything; then the batch is fixed
            return trace, None


def write_inputs(inputs, names, folder):
    """Writes those inputs whose type NumPy has; the values of others are made up."""
    for name, tensor in zip(names, inputs):
        try:
            import numpy
            file = os.path.join(folder, f"{name}.npy")
            numpy.save(file, tensor.detach().cpu().numpy())
        except (ImportError, TypeError, RuntimeError):  # no NumPy, or no such type
            continue
        print(f"input\t{name}=@{file}")


def export_function(spec, folder):
    path, function = spec.rsplit(":", 1)
    local.require_mine(path, __file__)
    Torch()
    import torch
    module, inputs = local.split_made(local.loaded(path, function))
    if not isinstance(module, torch.nn.Module):
        raise Failure(f"{spec}: returns {type(module).__name__}, no torch.nn.Module", NOT_AVAILABLE)
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    is_good = isinstance(inputs, (tuple, list)) and all(isinstance(one, torch.Tensor) for one in inputs)
    if not is_good or not inputs:
        raise Failure(f"{spec}: returns no example inputs: return the module and a tuple of tensors")
    inputs = tuple(inputs)
    # The format is xsp's choice, so that it is deprecated is not the user's concern.
    warnings.filterwarnings("ignore", message=r"`torch\.jit\.")
    try:
        trace, batch = traced(torch, module, inputs)
    except Exception as error:
        raise Failure(f"{spec}: cannot be traced: {local.first_line(error)}") from error
    names = [argument.name for argument in trace.forward.schema.arguments[1:]]
    lines = [f"input\t{name}\t{str(tensor.dtype).removeprefix('torch.')}\t{shape_of(tensor, batch)}"
             for name, tensor in zip(names, inputs)]
    file = os.path.join(folder, "model.pt")
    torch.jit.save(trace, file, _extra_files={"signature": "\n".join(lines)})
    print(f"model\t{file}")
    write_inputs(inputs, names, folder)


def export_name(spec, folder):
    """Exports a model of torchvision, timm or transformers with random weights."""
    script = os.path.join(sources(), "tools", "export_torch.py")
    file = os.path.join(folder, "model.pt")
    done = subprocess.run([sys.executable, script, spec, "--device", "cpu", "-o", file],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failure((done.stdout.strip().splitlines() or ["it failed"])[-1].removeprefix("error: "))
    print(f"model\t{file}")


def status():
    torch = Torch()
    torch.require_headers()
    print(f"{torch.version} of {torch.folder}, for which the adapter is built on first use")


def export(spec, folder):
    if ".py:" in spec:
        export_function(spec, folder)
    else:
        Torch()
        export_name(spec, folder)


if __name__ == "__main__":
    commands = {"status": (1, status), "adapter": (3, adapter), "export": (3, export)}
    sys.exit(local.run(__doc__, commands, sys.argv[1:]))
