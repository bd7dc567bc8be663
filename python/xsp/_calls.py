"""Calls of whole models in frameworks that report nothing below."""

import sys
import weakref

from . import _native

_references = {}  # by address: a weak reference that reports the object's end
_followers = []
_begins, _ends = [], []
_has_ended = False


def know(value, name, kind, framework, version):
    """Registers an object: its calls are those of a model with this name. Call it once, before the first
    call.
    """
    sites = _native.know_module(value, name, kind, False)
    if sites is not None:
        model, layer = sites
        _native.site_attribute(model, "framework", framework)
        _native.site_attribute(model, "framework_version", version)
        _native.site_attribute(layer, "framework", framework)
    address = id(value)

    def forget(_):
        _references.pop(address, None)
        _native.forget_module(address)

    _references[address] = weakref.ref(value, forget)


def leave(entered):
    """Ends the call that `_native.enter` began."""
    if entered == 1:
        _native.leave()
    elif entered:
        _native.leave_model(entered)


def note_batch(entered, values):
    """Takes the first dimension of the first value that has one as the batch."""
    if entered != 2:
        return
    for value in values:
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape:
            _native.set_batch(int(shape[0]))
            return


def follow_with(function):
    """Calls the function, with whether layers are recorded, before a model of the outermost call begins."""
    if not _followers:
        _native.follow_with(lambda is_wanted: [one(is_wanted) for one in _followers])
    _followers.append(function)


def begin_with(function):
    """Calls the function before a recording begins; now, if there is one."""
    _begins.append(function)
    if not _has_ended:
        function()


def end_with(function):
    """Calls the function before a recording ends while the program goes on."""
    _ends.append(function)


def _call_all(functions):
    for one in functions:
        try:
            one()
        except Exception as error:  # the program must go on as without xsp
            sys.stderr.write(f"xsp: {type(error).__name__}: {error}\n")


def recording_begins():
    global _has_ended
    _has_ended = False
    _call_all(_begins)


def recording_ends():
    global _has_ended
    _has_ended = True
    _call_all(_ends)
