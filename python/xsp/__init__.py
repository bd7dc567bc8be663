"""xsp: an across-stack profiler, from Python.

    import xsp

    with xsp.span("load images"):           # a span of your own, where something is recorded
        ...

    with xsp.profile("infer.xsp"):          # records this block, without `xsp run`
        model(batch)

    xsp.open("infer.xsp").analysis("layer_information").to_pandas()

Under `xsp run` all of this process is recorded, and this package is there without being installed.
Where nothing is recorded, a span costs one call.
"""

import importlib
from typing import Any

from . import _native

__all__ = [
    "APPLICATION",
    "LAYER",
    "LIBRARY",
    "MODEL",
    "Evaluation",
    "Table",
    "analyses",
    "open",
    "profile",
    "span",
    "step",
]

# What is loaded only where it is used: every Python under `xsp run` imports this module.
_ELSEWHERE = {
    "Evaluation": ("_evaluation", "Evaluation"),
    "Table": ("_evaluation", "Table"),
    "analyses": ("_evaluation", "analyses"),
    "open": ("_evaluation", "open_file"),
    "profile": ("_profile", "profile"),
}

APPLICATION: int = 1
MODEL: int = 2
LAYER: int = 3
LIBRARY: int = 4


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'xsp' has no attribute '{name}'")
    module, attribute = _ELSEWHERE[name]
    value = getattr(importlib.import_module(f"xsp.{module}"), attribute)
    globals()[name] = value
    return value


def step() -> None:
    """Says that an iteration of the program's main loop has ended: call it at the end of each.

    It is between two steps that `xsp run` switches what is recorded. Without it, steps are the calls
    of the model, or the optimiser's.
    """
    _native.step()


class span:
    """A span of this name around a block: `with xsp.span("decode"):`.

    It may be entered on one thread and left on another, and in coroutines.

    Args:
        name: what the block does.
        level: one of APPLICATION, MODEL, LAYER, LIBRARY.
        type: the kind of thing, e.g. an operator's name.
    """

    __slots__ = ("_site", "_start_ns")

    def __init__(self, name: str, level: int = APPLICATION, type: "str | None" = None) -> None:
        self._site = _native.site(level, name, type) if _native.is_recorded(level) else 0
        self._start_ns = 0

    def __enter__(self) -> "span":
        if self._site:
            self._start_ns = _native.now_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._site:
            _native.emit(self._site, self._start_ns)
