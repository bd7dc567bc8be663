"""ONNX Runtime: the nodes that a session executes are layers.

Only ONNX Runtime's own profiler knows them. It is chosen when a session is made, slows every node, and tells
nothing before it ends. So a session gets a twin of the same model, with the profiler, when layers of it are
first wanted. A call whose layers are recorded runs in the twin; all others run in the program's own session,
whose times stay as they are. The twin costs the memory of a second session, and the time to make it, which
passes before a call and not in it.

A twin is read when it is full, and when the recording or the program ends. The profiler's clock is that of
UNIX time, in microseconds. A node is shown on the thread that called the session, within the call.

There is no twin, and a note says why, of a session that is not of the CPU alone, that runs nodes in parallel,
or that the program profiles itself. Refused: the profiler in the program's own session, because every call
would be slowed by it, also those that are measured without layers.
"""

import atexit
import json
import os
import shutil
import sys
import tempfile
import threading
import weakref

from xsp import _calls, _native

_LAYER = 3
_NODES = 50_000  # that a twin records; ONNX Runtime keeps 0.4 kB for each
_FILLED = 4  # twins of a session that may become full
_SUFFIX = "_kernel_time"
_BLOCKED = "_nchwc"  # ends the name of a node that ONNX Runtime changed to work on blocks of channels
_DTYPES = {"float": "float32", "double": "float64"}


def _note(text):
    """Adds a fact of the evaluation; the key is that of collectors, see run_folder.h."""
    site = _native.site(1, "onnxruntime", "framework")
    _native.site_attribute(site, "collector_note.onnxruntime", text)


def _give_up(why):
    text = f"layers of onnxruntime are not recorded: {why}"
    sys.stderr.write(f"xsp: {text}\n")
    _note(text)


def _values(listed):
    """Returns the shapes and the element types of [{"float": [1, 3]}, ...]."""
    pairs = [pair for one in listed for pair in one.items()]
    return [shape for _, shape in pairs], [_DTYPES.get(dtype, dtype) for dtype, _ in pairs]


def _site(name, arguments):
    site = _native.site(_LAYER, name, arguments.get("op_name", ""), True)
    _native.site_attribute(site, "framework", "onnxruntime")
    for side in ("input", "output"):
        shapes, dtypes = _values(arguments.get(f"{side}_type_shape", []))
        _native.site_attribute(site, f"{side}_shapes", json.dumps(shapes, separators=(",", ":")))
        _native.site_attribute(site, f"{side}_dtypes", json.dumps(dtypes, separators=(",", ":")))
    for key, given in (("parameter_bytes", "parameter_size"), ("activation_bytes", "activation_size"),
                       ("output_bytes", "output_size")):
        if str(arguments.get(given, "")).isdigit():
            _native.site_counter(site, key, int(arguments[given]))
    return site


class _Twin:
    """A session with the profiler, and the calls that ran in it."""

    def __init__(self, make, session, sites):
        options = session.get_session_options()
        prefix = options.profile_file_prefix
        self._folder = tempfile.mkdtemp(prefix="xsp-onnxruntime-")
        self._sites = sites
        self._calls = []  # (thread, start_ns, end_ns)
        self._lock = threading.Lock()
        model = session._model_path or session._model_bytes
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(self._folder, "nodes")
        try:
            self._session = make(model, options, providers=["CPUExecutionProvider"])
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        finally:
            options.enable_profiling = False
            options.profile_file_prefix = prefix

    def call(self, function, own, args, kwargs):
        """Runs the call; in the program's own session if another thread has just read the twin."""
        session = self._session or own
        start = _native.now_ns()
        try:
            return function(session, *args, **kwargs)
        finally:
            with self._lock:
                self._calls.append((threading.get_native_id(), start, _native.now_ns()))

    def calls(self):
        return len(self._calls)

    def read(self):
        """Ends the profiler, and emits the layers. Returns how many nodes it recorded."""
        try:
            start = self._session.get_profiling_start_time_ns()
            with open(self._session.end_profiling(), "rb") as file:
                events = json.load(file)
            return self._emit(start, [event for event in events if event.get("cat") == "Node"])
        finally:
            self._session = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def _emit(self, start, events):
        of_thread = {}
        for thread, begin, end in self._calls:
            of_thread.setdefault(thread, []).append((begin, end))
        place = dict.fromkeys(of_thread, 0)
        for event in sorted(events, key=lambda one: one["ts"]):
            name, thread = event["name"], event["tid"]
            calls = of_thread.get(thread)
            if calls is None or not name.endswith(_SUFFIX):
                continue
            begin = start + 1000 * event["ts"]
            end = begin + 1000 * event["dur"]
            while place[thread] < len(calls) - 1 and calls[place[thread]][1] <= begin:
                place[thread] += 1
            first, last = calls[place[thread]]
            begin, end = max(begin, first), min(end, last)
            name = name[: -len(_SUFFIX)]
            if name.endswith(_BLOCKED):
                name = name[: -len(_BLOCKED)]
            if begin <= end:
                _native.emit(self._site_of(name, event["args"]), begin, 0, end, thread)
        return len(events)

    def _site_of(self, name, arguments):
        key = (name, json.dumps(arguments.get("input_type_shape")))
        if key not in self._sites:
            self._sites[key] = _site(name, arguments)
        return self._sites[key]


class _Of:
    """What is known about one session of the program."""

    def __init__(self):
        self.twin = None
        self.sites = {}  # by name and shapes
        self.nodes = 0  # of a call
        self.filled = 0  # twins of this recording
        self.is_over = False


class Twins:
    """The twins of the program's sessions."""

    def __init__(self, make):
        self._make = make
        self._known = weakref.WeakKeyDictionary()  # by session: what is known about it
        self._open = set()
        self._lock = threading.RLock()
        self._call = threading.local()
        _calls.follow_with(self._follow)
        _calls.end_with(self.read)
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forget)

    def begin(self, session):
        """Runs before a call of a session, or of something that has no twin (None), begins as a model."""
        self._call.session, self._call.twin = session, None

    def take(self):
        """Returns the twin in which the call that has begun is to run, or None."""
        twin, self._call.twin, self._call.session = self._call.twin, None, None
        return twin

    def _follow(self, is_wanted):
        session = getattr(self._call, "session", None)
        if is_wanted and session is not None:
            self._call.twin = self._of(session)

    def _of(self, session):
        with self._lock:
            known = self._known.get(session)
            if known is None:
                known = self._known[session] = _Of()
                # A twin lives as long as its session. At the end of the program, end() reads it.
                weakref.finalize(session, self._end_one, known).atexit = False
                self._open.add(known)
            if known.is_over:
                return None
            try:
                self._turn(known)
                if known.twin is None and known.filled < _FILLED:
                    why = self._obstacle(session)
                    if why is not None:
                        raise ValueError(why)
                    known.twin = _Twin(self._make, session, known.sites)
            except Exception as error:
                known.is_over, known.twin = True, None
                is_known = isinstance(error, ValueError)
                _give_up(str(error) if is_known else f"{type(error).__name__}: {error}")
            return known.twin

    def read(self):
        """Reads all twins before a recording ends. In the next one their sessions get others."""
        with self._lock:
            for known in list(self._open):
                twin, known.twin, known.filled = known.twin, None, 0
                self._read(known, twin)

    def end(self):
        """Reads all twins, for good."""
        with self._lock:
            for known in list(self._open):
                self._end_one(known)

    def _end_one(self, known):
        with self._lock:
            self._open.discard(known)
            twin, known.twin, known.is_over = known.twin, None, True
            self._read(known, twin)

    def _forget(self):
        """Runs in the child of a fork: the twins belong to the parent."""
        self._known.clear()
        self._open.clear()

    def _turn(self, known):
        """Reads a full twin: after its first call, which tells the number of nodes, and then when that many
        calls make it full."""
        twin = known.twin
        if twin is None or twin.calls() * max(known.nodes, 1) < (_NODES if known.nodes else 1):
            return
        is_first = known.nodes == 0
        known.twin = None
        self._read(known, twin)
        known.filled += not is_first
        if known.filled == _FILLED:
            _note(f"layers of onnxruntime are those of the first {_FILLED * _NODES} nodes")

    @staticmethod
    def _read(known, twin):
        if twin is None:
            return
        try:
            nodes, calls = twin.read(), twin.calls()
            known.nodes = max(nodes // max(calls, 1), 1)
        except Exception as error:
            _give_up(f"{type(error).__name__}: {error}")

    @staticmethod
    def _obstacle(session):
        if session.get_providers() != ["CPUExecutionProvider"]:
            return f"the session runs by {', '.join(session.get_providers())}"
        options = session.get_session_options()
        if options.enable_profiling:
            return "the program profiles the session itself"
        if "SEQUENTIAL" not in str(options.execution_mode):
            return "the session runs nodes in parallel"
        return None
