"""Watches for imports of frameworks in a Python process of `xsp run`.

Each framework has its own module here. Its `install` is called after the framework's import has ended,
and its `begin`, if it has one, before the import. This module imports no framework itself.
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
    """The module's own loader, which reports the loaded module afterwards."""

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
    """Finds no module itself: it asks the other finders, and wraps their results."""

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
    # If watching fails, the program must go on as without xsp.
    try:
        tell = getattr(importlib.import_module(watcher), what, None)
        if tell is not None:
            tell(module)
    except Exception as error:
        print(f"xsp: {module.__name__} is not watched: {error}", file=sys.stderr)


def install():
    """Watches the modules that this process has imported, and those that it imports from now on."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    _collections.install()
    # A child that Python itself forks continues the program, while one that is made for another program does
    # not. The trace must show it even before its first span.
    os.register_at_fork(after_in_child=_native.join)
    for name, watcher in _WATCHED.items():
        if name in sys.modules:
            _tell(watcher, "install", sys.modules[name])
