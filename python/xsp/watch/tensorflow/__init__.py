"""TensorFlow: every call of a `tf.function`, or of a function of a SavedModel, is a model, and the operations
that it executes are layers (layers.py). keras/__init__.py has what Keras calls without a function.
"""

import functools
import importlib
import re
import sys

from xsp import _calls, _native
from xsp._sessions import note

from . import layers

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function."
# TensorFlow makes names of these: __inference_signature_wrapper_6750
_MADE_NAME = re.compile(r"^__(?:inference|forward)_(.*?)_\d+$")


def batch_of(args):
    """Returns values whose shapes are tuples, as note_batch takes them."""
    for one in args:
        parts = one.values() if isinstance(one, dict) else one if isinstance(one, (list, tuple)) else (one,)
        for part in parts:
            rank = getattr(getattr(part, "shape", None), "rank", None)
            shape = part.shape.as_list() if rank else getattr(part, "shape", None)
            if shape and shape[0]:
                return [_Shaped(tuple(shape))]
    return []


class _Shaped:
    def __init__(self, shape):
        self.shape = shape


def name_of(function):
    """Returns the name of a function: Keras's steps have that of their model (keras/__init__.py)."""
    name = getattr(function, "_xsp_name", None) or getattr(function, "_name", None)
    name = name or getattr(function, "name", None) or "function"
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    made = _MADE_NAME.match(str(name))
    return made.group(1) if made else str(name)


def watch(kind, know, sessions, is_call=lambda args: True):
    """Lets every call of the objects of a class, outside of other calls, be that of a model. `know` registers
    an object, and `is_call` tells by the arguments whether a call executes anything.
    """
    call, context = kind.__call__, importlib.import_module("tensorflow.python.eager.context")

    def recorded(self, args, kwargs):
        if not _native.is_known(self):
            know(self)
        sessions.graphs.begin()
        entered = _native.enter(self)
        start = _native.now_ns()
        try:
            if entered == 2:
                _calls.note_batch(entered, batch_of((*args, *kwargs.values())))
            return call(self, *args, **kwargs)
        finally:
            _calls.leave(entered)
            sessions.graphs.end(self)
            if entered >= 2:
                sessions.called(start, _native.now_ns(), self)

    # A call that becomes part of a graph is not executed now. AutoGraph then rewrites this function, as it
    # does the one that it stands for.
    @functools.wraps(call)
    def watched(self, *args, **kwargs):
        if context.executing_eagerly() and is_call(args):
            return recorded(self, args, kwargs)
        return call(self, *args, **kwargs)

    kind.__call__ = watched


def install(tensorflow):
    """Watches the functions of this TensorFlow."""
    version = str(tensorflow.__version__)
    try:
        sessions = layers.install(tensorflow)
        functions = importlib.import_module(_FUNCTIONS + "polymorphic_function")
        concrete = importlib.import_module(_FUNCTIONS + "concrete_function")

        def know(function):
            _calls.know(function, name_of(function), "tf.function", "tensorflow", version)

        for kind in (functions.Function, concrete.ConcreteFunction):
            watch(kind, know, sessions)
        if "keras" in sys.modules:
            importlib.import_module("xsp.watch.keras").install(sys.modules["keras"])
    except Exception as error:
        text = f"layers of tensorflow {version} are not recorded: {type(error).__name__}: {error}"
        sys.stderr.write(f"xsp: {text}\n")
        note("tensorflow", text)
