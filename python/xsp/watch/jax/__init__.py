"""JAX: every call of a function that `jax.jit` has compiled is a model.

On a GPU the call is over when its work has been handed to the device: the kernels tell how long the work
takes. On the CPU it is over when its results are there: JAX is told not to dispatch asynchronously, in
devices that are first used during a recording, unless the program sets that option itself, because a model
would otherwise end before its layers begin. layers.py records the layers, which are instructions of XLA.

Without asynchronous dispatch a program loses the time that it waits (0 to 7 % where it computes,
docs/measurements.md), and XLA's threads sleep between calls, so that the first instruction takes longer; the
evaluation says so. A program that sets the option, or that used the device before a block that it records by
xsp.profile, has layers in no model, and loses those under way at a read. Refused: waiting in the wrapper only
where calls are recorded, because an unrecorded step would end with its dispatch, so that steps of different
levels could not be compared; and a thread that waits for the results, which gets there when the interpreter's
lock is free, up to 5 ms late, and keeps the results alive.
"""

import functools
import importlib
import sys
import types

from xsp import _calls, _native
from xsp._sessions import note

from . import layers

_ASYNC = "jax_cpu_enable_async_dispatch"


class _Jitted:
    """A compiled function. Only its calls are changed."""

    def __init__(self, function, version):
        functools.update_wrapper(self, function, updated=())
        self._function = function
        _calls.know(self, getattr(function, "__name__", "function"), "jit", "jax", version)

    def __call__(self, *args, **kwargs):
        entered = _native.enter(self)
        try:
            _calls.note_batch(entered, args)
            return self._function(*args, **kwargs)
        finally:
            _calls.leave(entered)
            if entered >= 2:
                layers.after_call()

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return getattr(self.__dict__["_function"], name)

    def __repr__(self):
        return repr(self._function)


class _Waiting:
    """Makes calls on the CPU end with their results, while there is a recording. JAX has had the option since
    0.4.31, reads it from no environment variable, and keeps to it from the first use of a device on.
    """

    def __init__(self, jax):
        self._config = jax.config
        self._bridge = importlib.import_module("jax._src.xla_bridge")
        self.is_changed = False

    def begin(self):
        is_late = getattr(self._bridge, "backends_are_initialized", lambda: False)()
        if self._config.values.get(_ASYNC) and not is_late:
            self._config.update(_ASYNC, False)
            self.is_changed = True

    def end(self):
        if self.is_changed:
            self._config.update(_ASYNC, True)
        self.is_changed = False


def install(jax):
    """Wraps the functions that `jax.jit` makes from now on."""
    jit = jax.jit
    version = str(jax.__version__)

    @functools.wraps(jit)
    def watched(*args, **kwargs):
        made = jit(*args, **kwargs)
        # Without a function, jit returns an object that takes one.
        return _Jitted(made, version) if hasattr(made, "lower") else lambda f: watched(f, **kwargs)

    jax.jit = watched
    try:
        waiting = _Waiting(jax)
        _calls.begin_with(waiting.begin)
        _calls.end_with(waiting.end)
        layers.install(jax, waiting)
    except Exception as error:
        text = f"layers of jax {version} are not recorded: {type(error).__name__}: {error}"
        sys.stderr.write(f"xsp: {text}\n")
        note("jax", text)
