"""ONNX Runtime: every run of a session is a model, and the nodes that it executes are layers (layers.py)."""

import functools
import os

from xsp import _calls, _native

from . import layers


def _name_of(session):
    path = getattr(session, "_model_path", None)
    return os.path.splitext(os.path.basename(path))[0] if isinstance(path, str) else "model"


def install(onnxruntime):
    """Wraps the runs of sessions."""
    version = str(onnxruntime.__version__)
    session = onnxruntime.InferenceSession
    twins = layers.Twins(session)

    def watched(function, has_twin):
        @functools.wraps(function)
        def run(self, *args, **kwargs):
            if not _native.is_known(self):
                _calls.know(self, _name_of(self), "InferenceSession", "onnxruntime", version)
            twins.begin(self if has_twin else None)
            entered = _native.enter(self)
            try:
                feed = args[1] if len(args) > 1 else kwargs.get("input_feed")
                if isinstance(feed, dict):
                    _calls.note_batch(entered, feed.values())
                twin = twins.take() if entered >= 2 else None
                if twin is not None:
                    return twin.call(function, self, args, kwargs)
                return function(self, *args, **kwargs)
            finally:
                _calls.leave(entered)

        return run

    for name in ("run", "run_with_iobinding", "run_with_ort_values"):
        if hasattr(session, name):
            # A binding belongs to the session that made it.
            setattr(session, name, watched(getattr(session, name), name != "run_with_iobinding"))
