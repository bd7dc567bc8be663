"""What the recipes of models share. PyTorch is imported when a model is made, so that the names of all
recipes can be listed without it."""

import importlib

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
EXAMPLE_BATCH = 2  # 1 would be taken for a constant


class Failure(Exception):
    """The failure's reason, in one line."""


def need(package):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise Failure(f"{package}: not installed ({error}): pip install {package.split('.')[0]}") from error


def line_of(kind, name, dtype, shape, below=None):
    """Returns a line of the signature; integers are `below` that, if it is given."""
    return "\t".join([kind, name, dtype, ",".join(map(str, shape)), *([f"<{below}"] if below else [])])


class Input:
    """An input's description; `values` makes an example of it."""

    def __init__(self, name, dtype, shape, high=None):
        """Integers are below `high`; without it, they are ones."""
        self.name, self.dtype, self.shape, self.high = name, dtype, shape, high

    def values(self, batch, device, lengths=None):
        """`lengths` has the sizes of dimensions that vary besides the batch."""
        torch = need("torch")
        sizes = {"batch": batch, **(lengths or {})}
        shape = [sizes[d] if isinstance(d, str) else d for d in self.shape]
        dtype = getattr(torch, self.dtype)
        if dtype.is_floating_point:
            return torch.rand(shape, device=device).to(dtype)
        return torch.randint(1, self.high or 2, shape, dtype=dtype, device=device)

    def line(self):
        return line_of("input", self.name, self.dtype, self.shape, self.high)


class Recipe:
    """A module and its inputs; whether only scripting keeps its behaviour (data-dependent control flow); its
    outputs, as lines of the signature, if they have names; the lengths of the example and of the check, if
    more than the batch varies."""

    def __init__(self, module, inputs, scripted=False, outputs=(), lengths=None,
                 checked_lengths=(None, None)):
        self.module, self.inputs, self.scripted, self.outputs = module, inputs, scripted, outputs
        self.lengths, self.checked_lengths = lengths, checked_lengths

    def examples(self, options, batch=EXAMPLE_BATCH):
        return tuple(i.values(batch, options.device, self.lengths) for i in self.inputs)


def image(options, height=224, width=None):
    return Input("input", DTYPES[options.dtype], ["batch", 3, height, width or height])


def tokens(name, options, high, length=None):
    """Returns an input of token numbers below `high`."""
    return Input(name, "int64", ["batch", length or options.sequence], high)


def calling(model, names, parts=(), **fixed):
    """Returns a module that gives its inputs to `model` by these names, with the fixed arguments, and returns
    those parts of the result; without parts, the result itself."""
    torch = need("torch")

    class Calling(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            result = self.model(**dict(zip(names, inputs, strict=True)), **fixed)
            found = tuple(result[part] for part in parts)
            return result if not parts else found[0] if len(found) == 1 else found

    return Calling()
