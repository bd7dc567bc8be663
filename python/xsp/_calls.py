"""Calls of whole models in frameworks that tell of nothing below."""

import weakref

from . import _native

_references = {}  # by address: what tells us of an object's end


def know(value, name, kind, framework, version):
    """The object's calls are those of a model with this name; to be said once, before the first."""
    model, layer = _native.know_module(value, name, kind, False)
    _native.site_attribute(model, "framework", framework)
    _native.site_attribute(model, "framework_version", version)
    _native.site_attribute(layer, "framework", framework)
    address = id(value)

    def forget(_):
        _references.pop(address, None)
        _native.forget_module(address)

    _references[address] = weakref.ref(value, forget)


def leave(entered):
    """Ends what `_native.enter` began."""
    if entered == 1:
        _native.leave()
    elif entered:
        _native.leave_model(entered)


def note_batch(entered, values):
    """The first dimension of the first of these that has one is the batch."""
    if entered != 2:
        return
    for value in values:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:
            _native.set_batch(int(shape[0]))
            return
