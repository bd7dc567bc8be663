#!/usr/bin/env python3
"""Exports models of torchvision, timm and transformers, with random weights, for xsp's adapter `torch`.

  tools/export_torch.py resnet50 -o resnet50.pt                        TorchScript
  tools/export_torch.py bert-base --dtype bf16 --device cuda -o b.pt2  AOTInductor package, for that device
  tools/export_torch.py --list                                         the names that have a recipe

Besides these, torchvision/NAME, timm/NAME and transformers/TYPE export every model that those packages can
make without a download. The file has a signature (an extra file of that name in TorchScript, a key of a
package's metadata): a line for each input and output, "input<TAB>NAME<TAB>float32<TAB>batch,3,224,224"; a
word in the shape is a dimension that may vary.

fasterrcnn_resnet50_fpn calls an operator of torchvision's own library, torchvision::nms: it runs with
`xsp profile --option library=FOLDER/torchvision/_C.so`, as a message of the export says.
"""

import argparse
import importlib
import os
import re
import sys
import warnings

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
EXAMPLE_BATCH = 2  # 1 would be taken for a constant

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


class Failure(Exception):
    """The failure's reason, in one line."""


def need(package):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise Failure(f"{package}: not installed ({error}): pip install {package.split('.')[0]}") from error


torch = None  # imported by main: --help and --list work without it


class Input:
    """An input's description; `values` makes an example of it."""

    def __init__(self, name, dtype, shape, high=2):
        self.name, self.dtype, self.shape, self.high = name, dtype, shape, high

    def values(self, batch, device):
        shape = [batch if isinstance(d, str) else d for d in self.shape]
        dtype = getattr(torch, self.dtype)
        if dtype.is_floating_point:
            return torch.rand(shape, device=device).to(dtype)
        return torch.randint(1, self.high, shape, dtype=dtype, device=device)

    def line(self):
        return "\t".join(["input", self.name, self.dtype, ",".join(map(str, self.shape))])


class Recipe:
    """A module, its inputs, and whether only scripting keeps its behaviour (data-dependent control flow)."""

    def __init__(self, module, inputs, scripted=False):
        self.module, self.inputs, self.scripted = module, inputs, scripted


def image(options, size=224):
    return Input("input", DTYPES[options.dtype], ["batch", 3, size, size])


def torchvision_model(name, options):
    models = need("torchvision.models")
    try:
        return Recipe(models.get_model(name, weights=None), [image(options)])
    except ValueError as error:
        raise Failure(f"torchvision/{name}: {error}: see torchvision.models.list_models()") from error


def timm_model(name, options):
    timm = need("timm")
    try:
        module = timm.create_model(name, pretrained=False, exportable=True)
    except RuntimeError as error:
        raise Failure(f"timm/{name}: {error}: see timm.list_models()") from error
    size = module.pretrained_cfg.get("input_size", (3, 224, 224))
    return Recipe(module, [Input("input", DTYPES[options.dtype], ["batch", *size])])


def detector(name, options):
    detection = need("torchvision.models.detection")

    class Detector(torch.nn.Module):
        """Takes a batch as one tensor, and returns the detections of each image."""

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, images: torch.Tensor):
            found = self.model(torch.unbind(images), None)[1]
            return ([image["boxes"] for image in found], [image["scores"] for image in found],
                    [image["labels"] for image in found])

    module = getattr(detection, name)(weights=None, weights_backbone=None)
    return Recipe(Detector(module), [image(options, 800)], scripted=True)


def detector_heads(name, options):
    class Heads(torch.nn.Module):
        """Returns the boxes and class scores of every anchor, [batch, anchor, 4 + classes]. It makes no
        choice among them, because that operator, torchvision::nms, is not part of PyTorch itself.
        """

        def __init__(self, model):
            super().__init__()
            self.backbone, self.head = model.backbone, model.head

        def forward(self, images):
            found = self.head(list(self.backbone(images).values()))
            return torch.cat([found["bbox_regression"], found["cls_logits"]], dim=-1)

    model = getattr(need("torchvision.models.detection"), name)(weights=None, weights_backbone=None)
    return Recipe(Heads(model), [image(options, 300)])


class Logits:
    """Makes a module that returns plain tensors from a transformers model that returns a dictionary."""

    @staticmethod
    def encoder(model):
        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, input_ids, attention_mask):
                return self.model(input_ids=input_ids, attention_mask=attention_mask,
                                  return_dict=True).last_hidden_state

        return Encoder()

    @staticmethod
    def prefill(model):
        class Prefill(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, input_ids):
                return self.model(input_ids=input_ids, use_cache=False, return_dict=True).logits

        return Prefill()

    @staticmethod
    def decode(model):
        cache_type = need("transformers").DynamicCache

        class Decode(torch.nn.Module):
            """Computes one token after `past_key_values`, [layer, key or value, batch, head, position,
            feature].
            """

            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, input_ids, past_key_values):
                cache = cache_type(config=self.model.config)
                for layer, (key, value) in zip(cache.layers, past_key_values):
                    # This is the state after update(), without its copy of the whole past.
                    layer.lazy_initialization(key, value)
                    layer.keys, layer.values = key, value
                return self.model(input_ids=input_ids, past_key_values=cache, use_cache=True,
                                  return_dict=True).logits

        return Decode()


def bert(_, options):
    transformers = need("transformers")
    config = transformers.BertConfig(attn_implementation=options.attention)
    model = transformers.BertModel(config, add_pooling_layer=False)
    shape = ["batch", options.sequence]
    return Recipe(Logits.encoder(model), [Input("input_ids", "int64", shape, config.vocab_size),
                                          Input("attention_mask", "int64", shape)])


def gpt2(name, options):
    transformers = need("transformers")
    config = transformers.GPT2Config(attn_implementation=options.attention)
    model = transformers.GPT2LMHeadModel(config)
    if name == "gpt2-prefill":
        ids = Input("input_ids", "int64", ["batch", options.sequence], config.vocab_size)
        return Recipe(Logits.prefill(model), [ids])
    past = [config.n_layer, 2, "batch", config.n_head, options.sequence, config.n_embd // config.n_head]
    return Recipe(Logits.decode(model), [Input("input_ids", "int64", ["batch", 1], config.vocab_size),
                                         Input("past_key_values", DTYPES[options.dtype], past)])


def transformers_model(name, options):
    transformers = need("transformers")
    try:
        config = transformers.AutoConfig.for_model(name, attn_implementation=options.attention)
    except ValueError as error:
        raise Failure(f"transformers/{name}: {str(error).splitlines()[0][:200]}") from error
    model = transformers.AutoModel.from_config(config)
    shape = ["batch", options.sequence]
    return Recipe(Logits.encoder(model), [Input("input_ids", "int64", shape, config.vocab_size),
                                          Input("attention_mask", "int64", shape)])


RECIPES = {
    "resnet50": torchvision_model,
    "mobilenet_v2": torchvision_model,
    "vit_b_16": torchvision_model,
    "ssd300_vgg16": detector_heads,
    "fasterrcnn_resnet50_fpn": detector,
    "bert-base": bert,
    "gpt2-prefill": gpt2,
    "gpt2-decode": gpt2,
}
PACKAGES = {"torchvision": torchvision_model, "timm": timm_model, "transformers": transformers_model}


def make(options):
    package, _, name = options.model.partition("/")
    if name and package in PACKAGES:
        return PACKAGES[package](name, options)
    if options.model not in RECIPES:
        raise Failure(f"{options.model}: no such recipe: give one of {', '.join(RECIPES)}, or "
                      "torchvision/NAME, timm/NAME, transformers/TYPE")
    return RECIPES[options.model](options.model, options)


def signature(recipe):
    return "".join(i.line() + "\n" for i in recipe.inputs)


def export_torchscript(recipe, options):
    examples = tuple(i.values(EXAMPLE_BATCH, options.device) for i in recipe.inputs)
    if recipe.scripted:
        script = torch.jit.script(recipe.module)
    else:
        script = torch.jit.trace(recipe.module, examples, check_trace=False, strict=False)
    check(script, recipe, options)
    torch.jit.save(script, options.output, _extra_files={"signature": signature(recipe)})


def export_package(recipe, options):
    if recipe.scripted:
        raise Failure(f"{options.model}: its control flow depends on data, which torch.export refuses: "
                      "use --format torchscript")
    import torch._inductor
    examples = tuple(i.values(EXAMPLE_BATCH, options.device) for i in recipe.inputs)
    dynamic = tuple({d: torch.export.Dim.DYNAMIC for d, size in enumerate(i.shape) if isinstance(size, str)}
                    for i in recipe.inputs)
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
    """Checks that the exported model computes for another batch the same as the module."""
    for batch in (1, 3):
        values = [i.values(batch, options.device) for i in recipe.inputs]
        if recipe.scripted:
            exported(*values)
            continue
        expected, found = recipe.module(*values), exported(*values)
        if expected.shape != found.shape:
            raise Failure(f"{options.model}: exported with batch {EXAMPLE_BATCH}, it gives for batch {batch} "
                          f"{list(found.shape)}, not {list(expected.shape)}")
        expected, found = expected.float(), found.float()
        tolerance = 1e-2 if options.dtype == "fp32" else 1e-1
        difference = (expected - found).norm()
        if not difference <= tolerance * expected.norm():
            raise Failure(f"{options.model}: exported, other results for batch {batch}: {difference:.2g}")


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?",
                        help="a recipe's name, or torchvision/, timm/, transformers/ and a name")
    parser.add_argument("-o", "--output", help="the file; its ending chooses the format: .pt or .pt2")
    parser.add_argument("--format", choices=["torchscript", "pt2"])
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="fp32")
    parser.add_argument("--device", help="cpu or cuda, where it is to run; by default a GPU if there is one")
    parser.add_argument("--sequence", type=int, default=128, help="tokens, of language models")
    parser.add_argument("--attention", default="sdpa", help="of transformers: sdpa or eager")
    parser.add_argument("--no-kernel-profile", dest="kernel_profile", action="store_false",
                        help="leave the hooks out of a .pt2 that tell its layers apart")
    parser.add_argument("--list", action="store_true", help="print the recipes' names")
    options = parser.parse_args()
    if options.list:
        return options
    if options.model is None:
        parser.error("which model? see --list")
    if options.format is None:
        options.format = "pt2" if (options.output or "").endswith(".pt2") else "torchscript"
    if options.output is None:
        dtype = "" if options.dtype == "fp32" else "-" + options.dtype
        ending = ".pt2" if options.format == "pt2" else ".pt"
        options.output = options.model.replace("/", "-") + dtype + ending
    return options


def own_library(recipe):
    """Returns the library whose operators a scripted model of torchvision needs; None: PyTorch's suffice."""
    if not recipe.scripted or "torchvision" not in sys.modules:
        return None
    folder = os.path.dirname(sys.modules["torchvision"].__file__)
    return next((os.path.join(folder, name) for name in sorted(os.listdir(folder))
                 if name.startswith("_C") and name.endswith(".so")), None)


def main():
    global torch
    options = parse()
    if options.list:
        print("\n".join(RECIPES))
        return 0
    warnings.filterwarnings("ignore")
    try:
        torch = need("torch")
        options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        if options.device.startswith("cuda") and not torch.cuda.is_available():
            raise Failure("cuda: torch finds no GPU here: use --device cpu")
        torch.manual_seed(0)
        recipe = make(options)
        recipe.module = recipe.module.eval().to(options.device)
        if not recipe.scripted or options.dtype != "fp32":
            recipe.module = recipe.module.to(getattr(torch, DTYPES[options.dtype]))
        with torch.no_grad():
            (export_package if options.format == "pt2" else export_torchscript)(recipe, options)
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
    sys.exit(main())
