"""ONNX Runtime: every run of a session is a model.

Its layers are not recorded: only its own profiler knows them. That has to be chosen when a session is
made, writes a file, and slows every node. `xsp profile` uses it.

Refused: starting that profiler behind the program's back.
"""

import functools
import os

from xsp import _calls, _native


def _name_of(session):
    path = getattr(session, "_model_path", None)
    return os.path.splitext(os.path.basename(path))[0] if isinstance(path, str) else "model"


def install(onnxruntime):
    """Wraps the runs of sessions."""
    version = str(onnxruntime.__version__)

    def watched(function):
        @functools.wraps(function)
        def run(self, *args, **kwargs):
            if not _native.is_known(self):
                _calls.know(self, _name_of(self), "InferenceSession", "onnxruntime", version)
            entered = _native.enter(self)
            try:
                feed = args[1] if len(args) > 1 else kwargs.get("input_feed")
                if isinstance(feed, dict):
                    _calls.note_batch(entered, feed.values())
                return function(self, *args, **kwargs)
            finally:
                _calls.leave(entered)

        return run

    session = onnxruntime.InferenceSession
    for name in ("run", "run_with_iobinding", "run_with_ort_values"):
        if hasattr(session, name):
            setattr(session, name, watched(getattr(session, name)))
