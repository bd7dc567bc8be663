"""A session of a framework's own profiler, kept open while layers are recorded.

It is read several times a second, between calls of models; and within a call when the process has grown by
`growth_bytes`, or is expected to hold 25,000 records. Such profilers give their record whole, so what runs
while it is read is missing, and so are calls of models by several threads at once. A process has one session:
a program that starts its own session gets it, and xsp's session does not come back.

The profiler's clock is related to xsp's by anchors, events of known times which xsp puts into the record.
"""

import atexit
import os
import sys
import threading
import time

from xsp import _calls, _native

_READ_NS = 200_000_000  # a session is read and restarted at this age
# Limits within a call. A session is read if the process has grown by this much (an instruction of XLA takes
# 0.4 kB, and 2 kB more while it is read), or if the session is expected to hold this many records. Without
# loops only a few are made, and the growth is the program's own.
GROWTH_BYTES = 64 << 20
_RECORDS = 25_000
_LOOK_S, _SHORTEST_S, _LONGEST_S = 0.05, 0.005, 10.0
_ANCHORS_MAX = 64  # the limit of emit_xplane


def note(framework, text):
    """Adds a fact of the evaluation; the key is that of collectors, see run_folder.h."""
    _native.site_attribute(_native.site(1, framework, "framework"), f"collector_note.{framework}", text)


def _resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Sessions:
    """The sessions of one framework. A subclass tells how one is opened and read; install() begins."""

    growth_bytes = GROWTH_BYTES

    def __init__(self, framework):
        self._framework = framework
        self._lock = threading.RLock()
        self._session = None
        self._start_ns = 0
        self._anchors = []
        self._anchored = set()
        self._resident = 0
        self._watch = None
        self._is_over = False

    # ---- What a subclass tells ----

    def is_possible(self):
        """Returns whether a session may be opened now."""
        raise NotImplementedError

    def open(self):
        """Returns a new session of the profiler."""
        raise NotImplementedError

    def anchor(self, name):
        """Returns a context during which the session has an event of this name."""
        raise NotImplementedError

    def emit(self, session, anchors):
        """Ends the session, and emits its layers. Returns their number. The anchor named "xsp I" is the I-th
        (thread, before_ns, inside_ns, after_ns): it began between the first two times, and ended between the
        last two.
        """
        raise NotImplementedError

    # ---- What the framework's module calls ----

    def install(self):
        _calls.follow_with(self.follow)
        _calls.end_with(self.read)
        atexit.register(self.end)
        os._exit = self._before_exit(os._exit)
        os.register_at_fork(after_in_child=self._forget)

    def theirs(self, function, what):
        """Wraps a function that the program calls to get a session: the program gets it."""

        def wrapper(*args, **kwargs):
            self.end(f"the program uses {what} itself")
            return function(*args, **kwargs)

        return wrapper

    def follow(self, is_wanted):
        """Runs before a call of a model, whose layers are wanted or not."""
        if self._is_over or (not is_wanted and self._session is None):
            return
        try:
            with self._lock:
                if not is_wanted:
                    self._read()
                elif self._session is None and self.is_possible():
                    self._begin()
                if self._session is not None:
                    self._anchor()
        except Exception as error:
            self.end(f"{type(error).__name__}: {error}")

    def after_call(self):
        """Runs after a call of a model."""
        if self._session is not None and _native.now_ns() - self._start_ns >= _READ_NS:
            self.read()

    def read(self):
        """Ends the session, if there is one, and emits its layers; a new one may begin."""
        if self._session is None:
            return
        try:
            with self._lock:
                self._read()
        except Exception as error:
            self.end(f"{type(error).__name__}: {error}")

    def end(self, why=None):
        """Ends the session for good. Its contents are kept, unless reading them fails."""
        if self._is_over:
            return
        self._is_over = True
        try:
            with self._lock:
                self._read()
        except Exception:
            self._session = None
        if why is not None:
            text = f"layers of {self._framework} are not recorded from here on: {why}"
            sys.stderr.write(f"xsp: {text}\n")
            note(self._framework, text)

    # ---- The session ----

    def _before_exit(self, leave):
        def wrapper(status):
            self.end()
            leave(status)

        return wrapper

    def _forget(self):
        """Runs in the child of a fork: the session belongs to the parent."""
        self._session = None
        self._is_over = True

    def _begin(self):
        self._anchors.clear()
        self._anchored.clear()
        self._session = self.open()
        self._start_ns = _native.now_ns()
        self._resident = _resident_bytes()
        if self._watch is None:
            self._watch = threading.Thread(target=self._bound, name="xsp", daemon=True)
            self._watch.start()

    def _bound(self):
        """Reads a session that has become large within one call: a loop may execute millions of
        instructions. Instructions that run during the reading are not recorded.
        """
        has_said, period_ns = False, _LONGEST_S * 1e9
        while not self._is_over:
            time.sleep(min(_LOOK_S, max(period_ns / 4e9, _SHORTEST_S)))
            age_ns = _native.now_ns() - self._start_ns
            grown = _resident_bytes() - self._resident
            if self._session is None or (age_ns < period_ns and grown < self.growth_bytes):
                continue
            try:
                with self._lock:
                    if self._session is None:
                        continue
                    count = max(self._read(), 1)
                    period_ns = min(age_ns * _RECORDS / count, _LONGEST_S * 1e9)
                    if count > 1 and not has_said:
                        has_said = True
                        note(self._framework, f"layers of {self._framework} are incomplete: a call takes "
                             "long, or executes too many")
                    self._begin()
                    self._anchor()
            except Exception as error:
                self.end(f"{type(error).__name__}: {error}")

    def _anchor(self):
        """Puts xsp's own event into the session, once for each thread that calls models."""
        thread = threading.get_native_id()
        if thread in self._anchored or len(self._anchors) >= _ANCHORS_MAX - 4:
            return
        self._anchored.add(thread)
        for _ in range(4):
            event = self.anchor(f"xsp {len(self._anchors)}")
            before = _native.now_ns()
            with event:
                inside = _native.now_ns()
            self._anchors.append((thread, before, inside, _native.now_ns()))

    def _read(self):
        session, self._session = self._session, None
        return 0 if session is None else self.emit(session, self._anchors)
