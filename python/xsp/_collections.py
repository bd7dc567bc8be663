"""Python's garbage collector: a collection that walks over all objects is a span, with the phase "gc".

Collections of the young generations take microseconds, and there are many: they are not recorded.
Collections at the interpreter's end are not recorded either, because they are not the program's.
"""

import gc
import sys

from . import _native


def install():
    """Watches the collections of this process."""
    site, owner = _native.know_phase("garbage collection", "gc")
    oldest = len(gc.get_threshold()) - 1
    enter, leave, is_finalizing = _native.enter_phase, _native.leave, sys.is_finalizing
    is_open = False

    def watch(event, info):
        nonlocal is_open
        if event == "start":
            is_wanted = info["generation"] == oldest and not is_finalizing()
            is_open = is_wanted and bool(enter(site, owner))
        elif is_open:
            is_open = False
            leave()

    gc.callbacks.append(watch)
