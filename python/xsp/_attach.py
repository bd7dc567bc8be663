"""Watches for imports of frameworks in a Python process of `xsp run`.

The files of `xsp.watch` tell which modules are watched, and record them. This module imports no framework
itself.
"""

import importlib
import importlib.abc
import os
import sys

from xsp import _collections, _native
from xsp.watch import watched


class _Loader(importlib.abc.Loader):
    """The module's own loader, which reports the loaded module afterwards."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        _tell("begin", module)
        self._loader.exec_module(module)
        _tell("install", module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds no module itself: it asks the other finders, and wraps their results."""

    def __init__(self, names):
        self._names = names

    def find_spec(self, name, path=None, target=None):
        if name not in self._names:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


def _tell(what, module):
    # If watching fails, the program must go on as without xsp.
    try:
        tell = getattr(importlib.import_module("xsp.watch." + module.__name__), what, None)
        if tell is not None:
            tell(module)
    except Exception as error:
        print(f"xsp: {module.__name__} is not watched: {error}", file=sys.stderr)


def install():
    """Watches the modules that this process has imported, and those that it imports from now on."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    names = watched()
    sys.meta_path.insert(0, _Finder(names))
    _collections.install()
    # A child that Python itself forks continues the program, while one that is made for another program does
    # not. The trace must show it even before its first span.
    os.register_at_fork(after_in_child=_native.join)
    for name in sorted(names):  # a package comes before its modules
        if name in sys.modules:
            _tell("install", sys.modules[name])
