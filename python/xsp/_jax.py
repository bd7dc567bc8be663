"""JAX: every call of a function that `jax.jit` has compiled is a model.

The call is over when its work has been handed to the device: how long that takes, the kernels tell.
What XLA made of the function's own operations it does not tell the process as it runs.
"""

import functools
import types

from . import _calls, _native


class _Jitted:
    """A compiled function; all but its calls is its own."""

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

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name):
        return getattr(self.__dict__["_function"], name)

    def __repr__(self):
        return repr(self._function)


def install(jax):
    """Wraps what `jax.jit` makes from now on."""
    jit = jax.jit
    version = str(jax.__version__)

    @functools.wraps(jit)
    def watched(*args, **kwargs):
        made = jit(*args, **kwargs)
        # Without a function it makes what takes one.
        return _Jitted(made, version) if hasattr(made, "lower") else lambda f: watched(f, **kwargs)

    jax.jit = watched
