"""xsp: spans of your own, in the trace of `xsp run`.

    import xsp

    with xsp.span("load images"):
        ...

Where nothing is recorded, a span costs one call. See `xsp run --help`.
"""

from . import _native

__all__ = ["APPLICATION", "MODEL", "LAYER", "LIBRARY", "span"]

APPLICATION, MODEL, LAYER, LIBRARY = 1, 2, 3, 4


class span:
    """A span of this name around a block: `with xsp.span("decode"):`.

    It may be entered on one thread and left on another, and in coroutines.

    Args:
        name: what the block does.
        level: one of APPLICATION, MODEL, LAYER, LIBRARY.
        type: the kind of thing, e.g. an operator's name.
    """

    __slots__ = ("_site", "_start_ns")

    def __init__(self, name, level=APPLICATION, type=None):
        self._site = _native.site(level, name, type) if _native.is_recorded(level) else 0
        self._start_ns = 0

    def __enter__(self):
        if self._site:
            self._start_ns = _native.now_ns()
        return self

    def __exit__(self, *exception):
        if self._site:
            _native.emit(self._site, self._start_ns)
