"""PyTorch: calls of modules and operators are spans.

The outermost call of a torch.nn.Module on a thread is the model (level model, one iteration each).
Modules inside it (and losses) are layers: their name is their path in the outermost module, their type is
their class. The call itself is wrapped, `torch.nn.Module.__call__`, because hooks would send every module
down PyTorch's slower path. Operators are layers inside their module; torch's own observers report them
(see observer.h).

While torch.compile traces a model the wrapper does nothing, and compiled code runs as one span: its
modules no longer exist.

Refused: global forward hooks, for that reason; and LD_PRELOAD into libtorch, whose C++ interface changes with
every release. torch.compile would trace a wrapper in C as a break of its graph, so _dynamo.py gives it one in
Python that asks torch.compiler.is_compiling(), which the tracer knows to be true. Sites of operators are told
apart by their module and phase, and named as the adapter `torch` names them (conv1/conv2d), so that analyses
tell two convolutions apart.
"""

import functools
import os
import re
import sys
import weakref

from xsp import _native

from . import _dynamo, phases

# observer.c knows the observers of these releases of torch. For a later release, its header decides.
_OLDEST, _NEWEST = (1, 13), (2, 15)
_OBSERVER = (
    "private: StartCallback start_; EndCallback end_; double sampling_prob_ = 1.0; "
    "std::array<bool, static_cast<size_t>(RecordScope::NUM_SCOPES)> scopes_ = {}; "
    "bool needs_inputs_ = false; bool needs_outputs_ = false; bool needs_ids_ = false; };"
)

_references = {}  # by a module's address: a weak reference that reports its end


def _follow(module):
    """Lets a known module be forgotten at its end."""
    address = id(module)

    def forget(_):
        _references.pop(address, None)
        _native.forget_module(address)

    _references[address] = weakref.ref(module, forget)


def _told(owner, name):
    """Returns an attribute of torch's settings; None: there is none, or reading it fails (with any
    exception).
    """
    try:
        return getattr(owner, name)
    except Exception:
        return None


def _settings(torch):
    """Returns whether 32-bit convolutions and products may run in TF32 on a GPU. Unknown settings are left
    out.
    """
    found = {}
    backends = _told(torch, "backends")
    matmul, cudnn = _told(_told(backends, "cuda"), "matmul"), _told(backends, "cudnn")
    for key, owner in (("cudnn_tf32", _told(cudnn, "conv") or cudnn), ("matmul_tf32", matmul)):
        # Releases that have the newer setting warn when the old one is read.
        precision = _told(owner, "fp32_precision")
        allowed = _told(owner, "allow_tf32") if precision is None else None
        if precision in ("tf32", "ieee"):
            found[key] = str(precision == "tf32").lower()
        elif allowed is not None:
            found[key] = str(bool(allowed)).lower()
    precision = _told(torch, "get_float32_matmul_precision")
    if precision is not None and matmul is not None and _told(matmul, "fp32_precision") is None:
        found["float32_matmul_precision"] = precision()
    return found


def _own_bytes(module):
    return sum(p.numel() * p.element_size() for p in module._parameters.values() if p is not None)


def _namer(torch):
    version = str(torch.__version__)
    # A module that compares a model's result with the expected one is no model.
    loss = torch.nn.modules.loss._Loss

    def name_all(root):
        """Names the modules of a module that are not yet named."""
        settings, root_bytes = None, None
        named = list(root.named_modules())
        for path, module in named:
            if _native.is_known(module):
                continue
            if root_bytes is None:
                root_bytes = sum(_own_bytes(one) for _, one in named)
            own_bytes = _own_bytes(module)
            # A layer of a model that is gone is not one of another model, where these tell them apart.
            more = type(root).__name__, root_bytes, own_bytes
            sites = _native.know_module(
                module, path, type(module).__name__, isinstance(module, loss), more
            )
            _follow(module)
            if sites is None:
                continue
            model, layer = sites
            _native.site_counter(layer, "parameter_bytes", own_bytes)
            if model == 0:
                continue
            _native.site_attribute(model, "framework", "torch")
            _native.site_attribute(model, "framework_version", version)
            settings = _settings(torch) if settings is None else settings
            for key, value in settings.items():
                _native.site_attribute(model, f"setting.{key}", value)

    return name_all


def _first_dimension(value):
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    return None


def _note_batch(args, kwargs):
    """Sets the batch to the first dimension of the first tensor among the arguments, also in lists and
    dicts.
    """
    waiting = [*args, *kwargs.values()]
    for value in waiting:
        batch = _first_dimension(value)
        if batch is not None:
            _native.set_batch(batch)
            return
        if isinstance(value, (list, tuple)):
            waiting.extend(value[:8])
        elif isinstance(value, dict):
            waiting.extend(list(value.values())[:8])
        if len(waiting) > 64:
            return


def _in_python(call, is_compiling, note):
    """Returns a replacement of this call, as a function that torch.compile can trace."""
    enter, leave, leave_model = _native.enter_with, _native.leave, _native.leave_model

    def __call__(self, *args, **kwargs):
        if is_compiling():
            return call(self, *args, **kwargs)
        entered = enter(self, args, kwargs)
        if not entered:
            return call(self, *args, **kwargs)
        try:
            if entered == 2:
                note(*args, **kwargs)
            return call(self, *args, **kwargs)
        finally:
            if entered == 1:
                leave()
            else:
                leave_model(entered)

    return __call__


def _in_c(call, note):
    """Returns the same at a tenth of the cost, or None; torch.compile cannot trace it."""
    caller = _native.caller(call, note)
    if caller is not None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            setattr(caller, name, getattr(call, name, None))
        caller.__wrapped__ = call
    return caller


def _wrap_modules(torch):
    is_traced = torch._C._get_tracing_state

    def note(*args, **kwargs):
        if not is_traced():
            _note_batch(args, kwargs)

    module = torch.nn.Module
    call = module.__call__
    traceable = _in_python(call, phases.compiling_of(torch), note)
    module.__call__ = _in_c(call, note) or traceable
    _dynamo.calls_are(module, traceable)


def _wrap_replicas(torch):
    module = torch.nn.Module
    replicate = getattr(module, "_replicate_for_data_parallel", None)
    if replicate is None:
        return  # the replicas of such a release are models

    @functools.wraps(replicate)
    def _replicate_for_data_parallel(self):
        replica = replicate(self)
        if _native.know_replica(replica, self):
            _follow(replica)
        return replica

    module._replicate_for_data_parallel = _replicate_for_data_parallel


def _library_of():
    """Returns the libtorch_cpu that this process has loaded."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").split(" ", 5)[-1].strip()
            if os.path.basename(path).startswith("libtorch_cpu.so"):
                return path
    return None


def _is_as_known(torch):
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version <= _NEWEST:
        return version >= _OLDEST
    header = os.path.join(os.path.dirname(torch.__file__), "include/ATen/record_function.h")
    try:
        with open(header) as lines:
            return _OBSERVER in " ".join(lines.read().split())
    except OSError:
        return False


def _observe_operators(torch):
    """Returns why the operators cannot be observed, or None."""
    if not _is_as_known(torch):
        return "how its observers are called is not known of this release"
    library = _library_of()
    if library is None:
        return "its library was not found"
    with torch.enable_grad():
        examples = [
            torch.ones(shape, dtype=kind, device="cpu", requires_grad=True)
            for shape, kind in (
                ((2, 3, 4, 5), torch.float32),
                ((7, 6), torch.float64),
                ((3,), torch.bfloat16),
            )
        ]
        addresses = (getattr(one, "_cdata", 0) for one in examples)
        why = _native.observe(library, torch.Tensor, examples[0], *addresses)
        if why is not None:
            return why
        try:
            for one in examples:
                torch.exp(one)
            torch.cat([examples[0], examples[0]])
        finally:
            why = _native.observe()
    return why


def install(torch):
    """Wraps the calls of this torch's modules, and observes its operators."""
    _native.name_with(_namer(torch))
    _wrap_modules(torch)
    _wrap_replicas(torch)
    phases.install(torch)
    why = _observe_operators(torch)
    if why is not None:
        note = f"operators of torch {torch.__version__} are not recorded: {why}"
        sys.stderr.write(f"xsp: {note}\n")
        # This is a fact of the evaluation; the key is that of collectors, see run_folder.h.
        site = _native.site(1, "torch", "framework")
        _native.site_attribute(site, "collector_note.torch", note)
