"""torch.compile: while it traces, calls of modules are those of a function that it can see into.

What takes the place of `torch.nn.Module.__call__` elsewhere is written in C (see _torch.py).
"""

import functools

_calls = None  # the class of modules, its call in C, its call in Python


def calls_are(module, traceable):
    """The class's call now, and the one that can be traced; to be said once it is in place."""
    global _calls
    _calls = (module, module.__call__, traceable)


def _replace(before, after):
    if _calls is not None and _calls[0].__call__ is _calls[before]:
        _calls[0].__call__ = _calls[after]


def _traceable_before(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        # For good: what a program has compiled once, it may compile anew.
        _replace(1, 2)
        return function(*args, **kwargs)

    wrapper.is_watched = True
    return wrapper


def begin(_):
    """Before its import, which notes what a call is, to know later whether somebody changed it."""
    _replace(1, 2)


def install(dynamo):
    """Sees when torch's compiler is given something to compile, and when it begins to trace."""
    begins = (
        (getattr(dynamo.eval_frame, "_TorchDynamoContext", None), "__call__"),
        (type(getattr(dynamo, "callback_handler", None)), "install_callbacks"),
    )
    if not all(hasattr(owner, name) for owner, name in begins):
        return  # of this release it is not known: the call stays one that can be traced
    for owner, name in begins:
        function = getattr(owner, name)
        if not hasattr(function, "is_watched"):
            setattr(owner, name, _traceable_before(function))
    _replace(2, 1)
