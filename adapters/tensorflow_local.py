#!/usr/bin/env python3
"""Models that Python makes with the TensorFlow or Keras of its environment.

xsp runs it with that environment's Python:

  tensorflow_local.py status                the variable, as below, and one line about its TensorFlow
  tensorflow_local.py export SPEC FOLDER    writes a model as a SavedModel, which the adapter opens

SPEC is FILE.py:FUNCTION, whose function returns a Keras model, a `tf.function` or a `tf.Module`; alone if its
inputs have known shapes, else with example inputs (a tensor or array, or a tuple of them). `export` prints
"variable<TAB>NAME<TAB>VALUE", by which the adapter finds this TensorFlow, "model<TAB>FOLDER", and for each
example input "input<TAB>NAME=@FILE.npy".
"""
# imports: tensorflow keras tf_keras
# makes: .py

import importlib.metadata
import importlib.util
import os
import shutil
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
# This folder holds tensorflow.so, which Python would take for its module tensorflow.
sys.path = [folder for folder in sys.path if os.path.realpath(folder or ".") != HERE]
sys.dont_write_bytecode = True  # the installation is not ours to write to
_spec = importlib.util.spec_from_file_location("xsp_local", os.path.join(HERE, "local.py"))
local = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(local)
Failure = local.Failure

RETURN = "return a Keras model or a tf.function, and a tuple of example inputs"


def folder_of_tensorflow():
    spec = importlib.util.find_spec("tensorflow")
    places = spec.submodule_search_locations if spec else None
    if not places:
        raise Failure(f"TensorFlow is not installed in {sys.executable}: pip install tensorflow-cpu",
                      local.NOT_AVAILABLE)
    return places[0]


def status():
    folder = folder_of_tensorflow()
    for name in ("tensorflow", "tensorflow-cpu"):
        try:
            version = importlib.metadata.version(name)
            break
        except importlib.metadata.PackageNotFoundError:
            version = "of unknown version"
    print(f"variable\tXSP_TENSORFLOW\t{folder}")
    print(f"TensorFlow {version} of {folder}")


def input_specs(tf, model, inputs):
    """Returns a tf.TensorSpec for each input of the model."""
    if inputs is None:
        known = getattr(model, "input_signature", None)  # of a tf.function
        known = known or getattr(model, "inputs", None)  # of a Keras model that has been built
        if not known:
            return None
        tensors = tf.nest.flatten(known)
        return [tf.TensorSpec(one.shape, one.dtype, one.name) for one in tensors]
    arrays = [tf.convert_to_tensor(one) for one in inputs]
    sizes = {array.shape[0] for array in arrays if array.shape.rank}
    specs = []
    for array in arrays:
        shape = array.shape.as_list()
        if len(sizes) == 1 and shape:
            shape[0] = None  # the batch
        specs.append(tf.TensorSpec(shape, array.dtype))
    return specs


def named(specs, tf):
    """Returns the specs with names that may be those of a signature, each another."""
    done = []
    for number, spec in enumerate(specs):
        name = "".join(c if c.isalnum() else "_" for c in spec.name or "").strip("_")
        if not name or name in [one.name for one in done]:
            name = f"input_{number}"
        done.append(tf.TensorSpec(spec.shape, spec.dtype, name))
    return done


def called(tf, model):
    """Returns the function that calls the model, for answers and not for training, with named results."""
    is_layer = hasattr(model, "trainable_variables") and hasattr(model, "call")
    is_listed = is_layer and len(getattr(model, "inputs", None) or []) > 1  # it takes its inputs as one list

    def call(*args):
        values = (list(args),) if is_listed else args
        answer = model(*values, training=False) if is_layer else model(*values)
        return {f"output_{number}": one for number, one in enumerate(tf.nest.flatten(answer))}

    return call


def concrete(tf, model, specs, inputs, spec):
    """Returns the graph of the model: for any batch, or for that of the example inputs if it needs it."""
    try:
        return tf.function(called(tf, model)).get_concrete_function(*specs)
    except Exception as error:  # a model may throw anything
        if inputs is None:
            raise Failure(f"{spec}: cannot be made a graph: {local.first_line(error)}") from error
    fixed = [tf.TensorSpec(tf.convert_to_tensor(value).shape, one.dtype, one.name)
             for one, value in zip(specs, inputs)]
    try:
        return tf.function(called(tf, model)).get_concrete_function(*fixed)
    except Exception as error:
        raise Failure(f"{spec}: cannot be made a graph: {local.first_line(error)}") from error


def keep_log(folder):
    """Lets what TensorFlow's libraries print go to a file: some of it comes before any variable silences it.
    What Python prints is still seen.
    """
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    log = os.open(os.path.join(folder, "tensorflow.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(log, 2)
    os.close(log)


def export(spec, folder):
    path, function = spec.rsplit(":", 1)
    local.require_mine(path, __file__)
    place = folder_of_tensorflow()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # exporting needs none
    keep_log(folder)
    import tensorflow as tf
    model, inputs = local.split_made(local.loaded(path, function))
    if not callable(model) or isinstance(model, type):
        raise Failure(f"{spec}: returns {type(model).__name__}: {RETURN}", local.NOT_AVAILABLE)
    if inputs is not None and not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    specs = input_specs(tf, model, inputs)
    if specs is None:
        raise Failure(f"{spec}: returns no example inputs, and the model's own are not known: {RETURN}")
    specs = named(specs, tf)
    made = concrete(tf, model, specs, inputs, spec)
    holder = tf.Module()
    holder.model_variables = list(made.variables)
    if isinstance(model, tf.Module):
        holder.model = model
    file = os.path.join(folder, "model")
    shutil.rmtree(file, ignore_errors=True)
    tf.saved_model.save(holder, file, signatures=made)
    print(f"variable\tXSP_TENSORFLOW\t{place}")
    print(f"model\t{file}")
    for one, array in zip(specs, inputs or ()):
        local.save_input(one.name, array, folder)


if __name__ == "__main__":
    sys.exit(local.run(__doc__, {"status": (1, status), "export": (3, export)}, sys.argv[1:]))
