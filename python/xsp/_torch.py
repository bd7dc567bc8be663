"""PyTorch: every call of a torch.nn.Module is a span.

The outermost call on a thread is the model (level model, an iteration each), those inside it are
layers: named by their path in the outermost module, typed by their class. The call itself is
wrapped, `torch.nn.Module.__call__`, as hooks would send every module down PyTorch's slower path.

While torch.compile traces a model the wrapper stands aside, and what was compiled runs as one span:
its modules are not there any more.
"""

import weakref

from . import LAYER, MODEL, _native

# By id of the module: the sites of its calls as the model and as a layer, and what forgets it.
_known = {}


def _forget(key):
    return lambda _: _known.pop(key, None)


def _sites_of(module, path):
    name = path or type(module).__name__
    kind = type(module).__name__
    layer = _native.site(LAYER, name, kind, True)
    own = sum(p.numel() * p.element_size() for p in module._parameters.values() if p is not None)
    _native.site_counter(layer, "parameter_bytes", own)
    return _native.site(MODEL, name, kind), layer


def _name_all(root, version):
    """Names the modules of a module that nobody has named yet."""
    for path, module in root.named_modules():
        key = id(module)
        if key in _known:
            continue
        model, layer = _sites_of(module, path)
        _native.site_attribute(model, "framework", "torch")
        _native.site_attribute(model, "framework_version", version)
        _known[key] = (model, layer, weakref.ref(module, _forget(key)))
    return _known[id(root)]


def install(torch):
    """Wraps the calls of this torch's modules."""
    call = torch.nn.Module.__call__
    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", lambda: False)
    version = str(torch.__version__)
    begin, end, known = _native.begin_module, _native.end, _known

    def __call__(self, *args, **kwargs):
        if is_compiling():
            return call(self, *args, **kwargs)
        sites = known.get(id(self)) or _name_all(self, version)
        begin(sites[0], sites[1])
        try:
            return call(self, *args, **kwargs)
        finally:
            end()

    torch.nn.Module.__call__ = __call__
