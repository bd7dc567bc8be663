#!/usr/bin/env python3
"""Exports models of torchvision, timm and transformers, with random weights, for xsp's adapter `torch`.

  tools/export_torch.py resnet50 -o resnet50.pt                        TorchScript
  tools/export_torch.py bert-base --dtype bf16 --device cuda -o b.pt2  AOTInductor package, for that device
  tools/export_torch.py --list                                         the names that have a recipe

gpt2-generate and llama-generate keep a cache (tools/generation_models.py), for `xsp evaluate --scenario
generation`. Besides these, torchvision/NAME, timm/NAME and transformers/TYPE export every model that those
packages can make without a download. The file has a signature (an extra file of that name in TorchScript, a
key of a package's metadata): a line for each input and output,
"input<TAB>NAME<TAB>float32<TAB>batch,3,224,224"; a word in the shape is a dimension that may vary.

fasterrcnn_resnet50_fpn calls an operator of torchvision's own library, torchvision::nms: it runs with
`xsp profile --option library=FOLDER/torchvision/_C.so`, as a message of the export says.
"""

import argparse
import difflib
import inspect
import os
import re
import sys
import warnings

import recipes
from recipes.recipe import DTYPES, EXAMPLE_BATCH, Failure, need

# This code goes into a package beside AOTInductor's hooks, which report no tensors of a library call: xsp
# reads the shapes of convolutions and products from them.
TENSORS_CODE = """
namespace xsp_hooks {
// Those arguments of a call that are tensors, as torch's observers take them.
class Tensors {
 public:
  template <typename... Args>
  explicit Tensors(const Args&... args) { (add(args), ...); }
  const std::vector<C10IValueHandle>& handles() const { return handles_; }

 private:
  template <typename T>
  void add(const T& value) {
    if constexpr (std::is_same_v<T, AtenTensorHandle*>) {  // an optional one
      if (value != nullptr) take(*value);
    } else if constexpr (std::is_convertible_v<const T&, AtenTensorHandle> &&
                         !std::is_same_v<T, std::nullptr_t>) {
      take(value);
    }
  }
  void take(AtenTensorHandle tensor) {
    C10IValueHandle value = nullptr;
    if (tensor == nullptr || aoti_torch_tensor_to_ivalue(tensor, &value) != AOTI_TORCH_SUCCESS) return;
    owned_.emplace_back(value);
    handles_.push_back(value);
  }
  std::vector<torch::aot_inductor::RAIIC10IValueHandle> owned_;
  std::vector<C10IValueHandle> handles_;
};
}
"""


torch = None  # imported by main: --help and --list work without it
RECIPES, PACKAGES = recipes.collect()


def find(model):
    """Returns the function of the recipe and its first argument, without making the model."""
    package, _, name = model.partition("/")
    if name and package in PACKAGES:
        return PACKAGES[package], name
    if model not in RECIPES:
        near = difflib.get_close_matches(model, RECIPES, 1)
        packages = ", ".join(f"{package}/NAME" for package in PACKAGES)
        all_names = f"give one of {', '.join(RECIPES)}, or {packages}"
        raise Failure(f"{model}: no such recipe: " + (f"did you mean '{near[0]}'?" if near else all_names))
    return RECIPES[model], model


def make(options):
    function, name = find(options.model)
    return function(name, options)


def signature(recipe):
    return "".join(line + "\n" for line in [*(i.line() for i in recipe.inputs), *recipe.outputs])


def export_torchscript(recipe, options):
    examples = recipe.examples(options)
    if recipe.scripted:
        script = torch.jit.script(recipe.module)
    else:
        script = torch.jit.trace(recipe.module, examples, check_trace=False, strict=False)
    # The check runs the module once a batch size: compiling kernels for it would take minutes on a GPU.
    with torch.jit.optimized_execution(False):
        check(script, recipe, options)
    torch.jit.save(script, options.output, _extra_files={"signature": signature(recipe)})


def export_package(recipe, options):
    if recipe.scripted:
        raise Failure(f"{options.model}: its control flow depends on data, which torch.export refuses: "
                      "use --format torchscript")
    import torch._inductor
    examples = recipe.examples(options)
    dynamic = tuple({d: torch.export.Dim.DYNAMIC for d, size in enumerate(i.shape) if isinstance(size, str)}
                    for i in recipe.inputs)
    # torch.export takes all arguments of *inputs for one.
    takes = inspect.signature(recipe.module.forward).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in takes):
        dynamic = (dynamic,)
    try:
        program = torch.export.export(recipe.module, examples, dynamic_shapes=dynamic)
    except Exception as error:
        raise Failure(f"{options.model}: torch.export: {first_line(error)}") from error
    configs = {"aot_inductor.metadata": {"signature": signature(recipe)}}
    if options.kernel_profile:
        configs["cpp.enable_kernel_profile"] = True
        leave_out_kernel_contexts()
        tell_tensors_of_library_calls()
    # The package is not loaded for a check: in a python process, torch 2.11 crashes in the std::regex of a
    # package.
    torch._inductor.aoti_compile_and_package(program, package_path=os.path.abspath(options.output),
                                             inductor_configs=configs)


def leave_out_kernel_contexts():
    """Switches kernel contexts off. With the hooks, torch 2.11 also reports the source lines of each
    generated kernel, in a block of its own. That is slow, and the sizes of a variable dimension, declared
    in the first such block, are unknown in the next.
    """
    from torch._inductor.codegen import cpp_wrapper_cpu
    for part in ("_begin", "", "_end"):
        name = "write_kernel_context_guard" + part
        if hasattr(cpp_wrapper_cpu.CppWrapperCpu, name):
            setattr(cpp_wrapper_cpu.CppWrapperCpu, name, lambda *_, **__: None)


def tell_tensors_of_library_calls():
    """Gives the hooks of library calls the same data as those of generated kernels: the tensors that are
    read. The written tensors follow in a hook of their own, within the first, named xsp_outputs.
    """
    from torch._inductor.codegen import cpp_wrapper_cpu
    wrapper = cpp_wrapper_cpu.CppWrapperCpu
    needed = ("write_header", "generate_c_shim_extern_kernel_call", "get_c_shim_func_name", "writelines")
    if not all(hasattr(wrapper, name) for name in needed):
        return
    write_header, generate_call = wrapper.write_header, wrapper.generate_c_shim_extern_kernel_call

    def write_header_too(self, *args, **kwargs):
        write_header(self, *args, **kwargs)
        if not torch._inductor.virtualized.V.graph.is_const_graph:
            self.header.splice(TENSORS_CODE)

    def generate_call_with_tensors(self, kernel, args, device, **kwargs):
        shim = self.get_c_shim_func_name(kernel, device)
        texts = [str(arg) for arg in args]
        results = [text[1:] for text in texts if re.fullmatch(r"&\w+_handle", text)]
        read = [text for text in texts if not re.fullmatch(r"&\w+_handle", text)]
        if shim.endswith("_out"):
            results, read = read[:1], read[1:]
        write = self.writelines

        def write_with_tensors(lines):
            lines = list(lines)
            hook = f'record_{shim}_("{shim}", nullptr);'
            at = next((i for i, line in enumerate(lines) if str(line).endswith(hook)), None)
            if at is not None:
                inputs = f"const xsp_hooks::Tensors xsp_inputs({', '.join(read)});"
                lines[at] = lines[at].replace("nullptr);", "nullptr, xsp_inputs.handles());")
                lines.insert(at, inputs)
                lines[-1:-1] = [f"const xsp_hooks::Tensors xsp_outputs({', '.join(results)});",
                                'RAIIAtenRecordFunctionHandle record_xsp_outputs_'
                                '("xsp_outputs", nullptr, xsp_outputs.handles());']
            write(lines)

        self.writelines = write_with_tensors
        try:
            generate_call(self, kernel, args, device, **kwargs)
        finally:
            del self.writelines

    wrapper.write_header = write_header_too
    wrapper.generate_c_shim_extern_kernel_call = generate_call_with_tensors


def check(exported, recipe, options):
    """Checks that the exported model computes the same as the module for another batch and other lengths."""
    for batch, lengths in zip((1, 3), recipe.checked_lengths):
        values = [i.values(batch, options.device, lengths) for i in recipe.inputs]
        if recipe.scripted:
            exported(*values)
            continue
        expected, found = recipe.module(*values), exported(*values)
        if isinstance(expected, torch.Tensor):
            expected, found = [expected], [found]
        for wanted, given in zip(expected, found, strict=True):
            check_output(wanted, given, batch, options)


def check_output(wanted, given, batch, options):
    if wanted.shape != given.shape:
        raise Failure(f"{options.model}: exported with batch {EXAMPLE_BATCH}, it gives for batch {batch} "
                      f"{list(given.shape)}, not {list(wanted.shape)}")
    wanted, given = wanted.float(), given.float()
    tolerance = 1e-2 if options.dtype == "fp32" else 1e-1
    difference = (wanted - given).norm()
    if not difference <= tolerance * wanted.norm():
        raise Failure(f"{options.model}: exported, other results for batch {batch}: {difference:.2g}")


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


# The ending of each format's files, and what writes one. The first one is the default.
FORMATS = {"torchscript": (".pt", export_torchscript), "pt2": (".pt2", export_package)}


def parse(formats):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?",
                        help="a recipe's name, or torchvision/, timm/, transformers/ and a name")
    endings = " or ".join(ending for ending, _ in formats.values())
    parser.add_argument("-o", "--output", help=f"the file; its ending chooses the format: {endings}; without "
                        "one, it gets that of the first")
    parser.add_argument("--format", choices=list(formats))
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="fp32")
    parser.add_argument("--device", help="cpu or cuda, where it is to run; by default a GPU if there is one")
    parser.add_argument("--sequence", type=int, default=128, help="tokens, of language models")
    parser.add_argument("--attention", help="of transformers: sdpa, which needs PyTorch 2, or eager; else "
                        "eager of models that generate, and transformers' choice of others")
    parser.add_argument("--no-kernel-profile", dest="kernel_profile", action="store_false",
                        help="leave the hooks out of a .pt2 that tell its layers apart")
    parser.add_argument("--list", action="store_true", help="print the recipes' names")
    parser.add_argument("--check", action="store_true", help="check that the recipe exists; make nothing")
    options = parser.parse_args()
    if options.list:
        return options
    if options.model is None:
        parser.error("which model? see --list")
    named = [name for name, (ending, _) in formats.items() if (options.output or "").endswith(ending)]
    options.format = options.format or (named or list(formats))[0]
    if options.output is None:
        dtype = "" if options.dtype == "fp32" else "-" + options.dtype
        options.output = options.model.replace("/", "-") + dtype
    if not named:
        options.output += formats[options.format][0]
    return options


def own_library(recipe):
    """Returns the library whose operators a scripted model of torchvision needs; None: PyTorch's suffice."""
    if not recipe.scripted or "torchvision" not in sys.modules:
        return None
    folder = os.path.dirname(sys.modules["torchvision"].__file__)
    return next((os.path.join(folder, name) for name in sorted(os.listdir(folder))
                 if name.startswith("_C") and name.endswith(".so")), None)


def main(formats):
    global torch
    options = parse(formats)
    if options.list:
        print("\n".join(RECIPES))
        return 0
    warnings.filterwarnings("ignore")
    try:
        find(options.model)
        if options.check:
            return 0
        torch = need("torch")
        options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        if options.device.startswith("cuda") and not torch.cuda.is_available():
            raise Failure("cuda: torch finds no GPU here: use --device cpu")
        if hasattr(torch.backends, "mha"):  # else a whole attention is one operator, which tells no parts
            torch.backends.mha.set_fastpath_enabled(False)
        torch.manual_seed(0)
        recipe = make(options)
        recipe.module = recipe.module.eval().to(options.device)
        if not recipe.scripted or options.dtype != "fp32":
            recipe.module = recipe.module.to(getattr(torch, DTYPES[options.dtype]))
        with torch.no_grad():
            formats[options.format][1](recipe, options)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except Exception as error:  # torch or a model may throw any exception
        if os.environ.get("XSP_EXPORT_TRACEBACK"):
            raise
        print(f"error: {options.model}: {type(error).__name__}: {first_line(error)}: "
              "set XSP_EXPORT_TRACEBACK=1 to see where", file=sys.stderr)
        return 1
    print(f"{options.output}: {os.path.getsize(options.output)} bytes", file=sys.stderr)
    library = own_library(recipe)
    if library:
        print(f"it calls operators of torchvision: xsp profile ... --option library={library}",
              file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(FORMATS))
