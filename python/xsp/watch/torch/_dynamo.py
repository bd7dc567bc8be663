"""torch.compile: while it traces, modules are called through a function that it can trace.

The object that otherwise replaces `torch.nn.Module.__call__` is written in C (see __init__.py).
"""

import functools

_calls = None  # the class of modules, its call in C, its call in Python


def calls_are(module, traceable):
    """Stores the class's present call and the traceable one. Call it once the present one is in place."""
    global _calls
    _calls = (module, module.__call__, traceable)


def _replace(before, after):
    if _calls is not None and _calls[0].__call__ is _calls[before]:
        _calls[0].__call__ = _calls[after]


def _traceable_before(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        # The replacement stays: a program may compile its code again later.
        _replace(1, 2)
        return function(*args, **kwargs)

    wrapper.is_watched = True
    return wrapper


def begin(_):
    """Runs before the import, which saves the present call, to see later whether it was changed."""
    _replace(1, 2)


def install(dynamo):
    """Notices when torch's compiler gets code to compile, and when it begins to trace."""
    begins = (
        (getattr(dynamo.eval_frame, "_TorchDynamoContext", None), "__call__"),
        (type(getattr(dynamo, "callback_handler", None)), "install_callbacks"),
    )
    if not all(hasattr(owner, name) for owner, name in begins):
        return  # this release is not known: keep the traceable call
    for owner, name in begins:
        function = getattr(owner, name)
        if not hasattr(function, "is_watched"):
            setattr(owner, name, _traceable_before(function))
    _replace(2, 1)
