"""PyTorch: the phases of a training besides the forward pass.

Loading a batch, the backward pass and the optimiser's step are spans of level application, type "phase",
with the attribute `phase`; calls inside them have the same attribute.
"""

import functools
import sys

from xsp import _native


def compiling_of(torch):
    """Returns a function that says whether torch.compile is tracing the caller; a tracer knows the answer to
    be True.
    """
    compiler = getattr(torch, "compiler", None)
    for name in ("is_dynamo_compiling", "is_compiling"):  # the first one costs half as much
        if hasattr(compiler, name):
            return getattr(compiler, name)
    return lambda: False


def _in_phase(function, name, phase, is_compiling):
    """Returns the function as a span of this phase."""
    site, owner = _native.know_phase(name, phase)
    enter, leave = _native.enter_phase, _native.leave

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if is_compiling() or not enter(site, owner):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            leave()

    wrapper.is_watched = True
    return wrapper


def _as_step(function, is_compiling):
    """Returns the function; its end is the end of a training step, whatever is recorded."""
    step = _native.step

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        finally:
            if not is_compiling():
                step(2)

    wrapper.is_watched = True
    return wrapper


def _wrap_optimizers(torch, is_compiling):
    optimizer = torch.optim.Optimizer
    init = optimizer.__init__

    # Each class has its own step, which torch itself wraps when the first object is made.
    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        init(self, *args, **kwargs)
        step = getattr(type(self), "step", None)
        if step is not None and not getattr(step, "is_watched", False):
            name = f"{type(self).__name__}.step"
            watched = _in_phase(step, name, "optimizer", is_compiling)
            type(self).step = _as_step(watched, is_compiling)

    optimizer.__init__ = __init__


def install(torch):
    """Wraps the functions of this torch that are phases."""
    is_compiling = compiling_of(torch)
    torch.autograd.backward = _in_phase(torch.autograd.backward, "backward", "backward", is_compiling)
    torch.autograd.grad = _in_phase(torch.autograd.grad, "grad", "backward", is_compiling)
    _wrap_optimizers(torch, is_compiling)
    loader = sys.modules.get("torch.utils.data.dataloader")
    if loader is None:
        return
    iterator = loader._BaseDataLoaderIter
    iterator.__next__ = _in_phase(iterator.__next__, "next batch", "data", is_compiling)
    # In a process that prepares batches, no call is a model.
    worker = loader._utils.worker
    worker._worker_loop = _in_phase(worker._worker_loop, "prepare batches", "data", is_compiling)
