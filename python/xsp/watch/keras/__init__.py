"""Keras on TensorFlow: a model that is called without a function is a model, and its Keras layers are layers.
The operations below them, and what `predict`, `fit` and other functions execute, are TensorFlow's.
"""

import functools
import importlib

from xsp import _calls


def _functions_in(function):
    """Returns the functions of TensorFlow that this is, or that this function of Python calls."""
    if not isinstance(function, type(_functions_in)):
        return [] if function is None else [function]
    inside = []
    for cell in function.__closure__ or ():
        try:
            inside.append(cell.cell_contents)
        except ValueError:  # it is empty
            continue
    return [one for one in inside if hasattr(one, "get_concrete_function")]


def _named(model, step, make):
    """Lets the function that Keras makes for a step have its model's name."""
    attribute = f"{step}_function"

    @functools.wraps(make)
    def made(self, *args, **kwargs):
        answer = make(self, *args, **kwargs)
        for function in _functions_in(getattr(self, attribute, None)):
            function._xsp_name = f"{self.name}.{step}"
        return answer

    setattr(model, f"make_{attribute}", made)


def install(keras):
    """Watches the layers of this Keras, if it runs on TensorFlow.

    Either may be imported by the other, so it is called at the end of both imports, and acts at the second.
    """
    if getattr(keras, "Layer", None) is None or keras.backend.backend() != "tensorflow":
        return
    tensorflow = importlib.import_module("xsp.watch.tensorflow")
    if tensorflow.layers.sessions is None or hasattr(keras.Layer.__call__, "_xsp_watched"):
        return
    version = str(keras.__version__)

    def know(layer):
        _calls.know(layer, layer.name, type(layer).__name__, "tensorflow", version)

    def is_call(args):  # a call while a model is put together executes nothing
        return not any(isinstance(one, keras.KerasTensor) for one in args)

    tensorflow.watch(keras.Layer, know, tensorflow.layers.sessions, is_call)
    keras.Layer.__call__._xsp_watched = True
    for step in ("predict", "train", "test"):
        make = getattr(keras.Model, f"make_{step}_function", None)
        if make is not None:
            _named(keras.Model, step, make)
