"""What `xsp run` does in a Python process: watches for frameworks that are imported.

Each framework has a module of its own here; its `install` is called once the framework's own
import has ended, its `begin`, if it has one, before. Nothing of theirs is imported by us.
"""

import importlib
import importlib.abc
import os
import sys

from xsp import _collections, _native

_WATCHED = {
    "torch": "xsp._torch",
    "torch._dynamo": "xsp._dynamo",
    "torch._inductor.compile_fx": "xsp._inductor",
    "jax": "xsp._jax",
    "onnxruntime": "xsp._onnxruntime",
}


class _Loader(importlib.abc.Loader):
    """The module's own loader; what it loads is told of afterwards."""

    def __init__(self, loader, watcher):
        self._loader = loader
        self._watcher = watcher

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        _tell(self._watcher, "begin", module)
        self._loader.exec_module(module)
        _tell(self._watcher, "install", module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing by itself: asks the others, and wraps what they find."""

    def find_spec(self, name, path=None, target=None):
        watcher = _WATCHED.get(name)
        if watcher is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, watcher)
                return spec
        return None


def _tell(watcher, what, module):
    # Whatever goes wrong with watching, the program goes on as it would alone.
    try:
        tell = getattr(importlib.import_module(watcher), what, None)
        if tell is not None:
            tell(module)
    except Exception as error:
        print(f"xsp: {module.__name__} is not watched: {error}", file=sys.stderr)


def install():
    """Watches what this process has imported, and what it imports from now on."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    _collections.install()
    # A child that Python itself forks goes on, where one that is made for another program does not:
    # what it does before its first span is to be seen, too.
    os.register_at_fork(after_in_child=_native.join)
    for name, watcher in _WATCHED.items():
        if name in sys.modules:
            _tell(watcher, "install", sys.modules[name])
