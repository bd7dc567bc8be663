"""Python's garbage collector: a collection that walks over all objects is a span, with the phase "gc".

Those of the young generations take microseconds, and there are many: they are not recorded.
"""

import gc

from . import _native


def install():
    """Watches the collections of this process."""
    site, owner = _native.know_phase("garbage collection", "gc")
    oldest = len(gc.get_threshold()) - 1
    is_open = False

    def watch(event, info):
        nonlocal is_open
        if event == "start":
            is_open = info["generation"] == oldest and bool(_native.enter_phase(site, owner))
        elif is_open:
            is_open = False
            _native.leave()

    gc.callbacks.append(watch)
