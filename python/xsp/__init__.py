"""xsp: an across-stack profiler, from Python.

    import xsp

    with xsp.span("load images"):           # a span of your own, where something is recorded
        ...

    with xsp.span("net", level="model", batch=8):   # an inference of a model of your own
        with xsp.span("conv1", level="layer", type="Conv"):
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

# These names are loaded only at their first use, because every Python under `xsp run` imports this module.
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


_LEVELS = {"application": APPLICATION, "model": MODEL, "layer": LAYER, "library": LIBRARY}
_NAMES = ", ".join(_LEVELS)
_LEVELS.update({number: number for number in _LEVELS.values()})


def _no_level(level: object) -> int:
    raise ValueError(f"level {level!r}: there is none of that name: one of {_NAMES}, or its number")


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'xsp' has no attribute '{name}'")
    module, attribute = _ELSEWHERE[name]
    value = getattr(importlib.import_module(f"xsp.{module}"), attribute)
    globals()[name] = value
    return value


def step() -> None:
    """Marks the end of an iteration of the program's main loop: call it at the end of each.

    `xsp run` switches the recorded levels between two steps. Without this call, steps are the calls of
    the model, or of the optimiser.
    """
    _native.step()


class span:
    """A span of this name around a block: `with xsp.span("decode"):`.

    It may be entered on one thread and left on another, and in coroutines.

    An outermost span at level model is an inference. Inferences are counted by xsp, and where no
    `xsp.step` says otherwise they are the program's steps, between which `xsp run` switches levels.

    Args:
        name: what the block does.
        level: "application", "model", "layer" or "library", or its number, such as xsp.MODEL.
        type: the kind of thing, e.g. an operator's name.
        batch: how many inputs the inference has, at level model; None: it is not known.
    """

    __slots__ = ("_batch", "_entered", "_level", "_name", "_site", "_start_ns", "_type")

    def __init__(
        self,
        name: str,
        level: "int | str" = APPLICATION,
        type: "str | None" = None,
        batch: "int | None" = None,
    ) -> None:
        self._level = _LEVELS.get(level) or _no_level(level)
        if batch is not None and batch < 1:
            raise ValueError(f"batch {batch}: is no number of inputs: give one from 1, or None")
        self._name = name
        self._type = type
        self._batch = batch or 0
        self._site = self._entered = self._start_ns = 0

    def __enter__(self) -> "span":
        self._site = 0
        if _native.is_recorded(self._level):
            # `xsp run` may switch levels in enter_model().
            self._entered = _native.enter_model() if self._level == MODEL else 0
            self._site = _native.site(self._level, self._name, self._type)
            self._start_ns = _native.now_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._site:
            _native.emit(self._site, self._start_ns, self._batch)
        if self._entered:
            _native.leave_own_model(self._entered)
            self._entered = 0
