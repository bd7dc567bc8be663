"""JAX: the instructions that XLA made of a function are layers.

On the CPU, XLA's own profiler records when they ran: a session of it is kept open while layers are
recorded, and is read several times a second, between calls. The compiled module, whose text is kept,
describes them (operation, shapes, the name and place of the program's own operation). A process has one
session: a program that starts its own session gets it, and xsp's session does not come back.

On a GPU no session is opened, because it would take CUPTI. XLA reports instructions there by NVTX ranges,
which become layers elsewhere; this module adds the facts of the module to their sites.

The session is read five times a second after a call; within a call when the process has grown by 16 MB, or is
expected to hold 25,000 instructions, if any program so far has a loop, which may execute millions; without a
loop by 64 MB. XLA's profiler gives its record whole, and reading takes five times as long as recording. What
runs while it is read is missing, and so are calls of models by several threads at once. The profiler's clock
is related to xsp's by events of known times. Refused: callbacks in the program, which change what XLA fuses;
and names of kernels on a GPU, as kernels of libraries have none and names of instructions are those of many
programs. On an H200 every kernel of steady calls was in an instruction.
"""

import atexit
import importlib
import os
import sys
import threading
import time

from xsp import _native

from . import hlo

_LAYER = 3
_READ_NS = 200_000_000  # a session is read and restarted at this age
# Limits within a call. A session is read if the process has grown by this much (an instruction takes 0.4 kB,
# and 2 kB more while it is read), or if the session is expected to hold this many instructions. Without loops
# only a few instructions are executed, and the growth is the program's own.
_GROWTH_BYTES = 64 << 20
_LOOP_GROWTH_BYTES = 16 << 20
_INSTRUCTIONS = 25_000
_LOOK_S, _SHORTEST_S, _LONGEST_S = 0.05, 0.005, 10.0
_ANCHORS_MAX = 64  # the limit of emit_xplane
_CONSTANT_BYTES_MAX = 8 << 20
_TEXT_BYTES_MAX = 256 << 20  # for all modules together
_SITES_MAX = 1 << 16


def note(text):
    """Adds a fact of the evaluation; the key is that of collectors, see run_folder.h."""
    _native.site_attribute(_native.site(1, "jax", "framework"), "collector_note.jax", text)


_WAITING = (
    "jax was kept from dispatching asynchronously on the CPU, so that a model lasts until its results are "
    "there: a program that waits for something else meanwhile takes longer than alone"
)


def _give_up(why):
    text = f"layers of jax are not recorded from here on: {why}"
    sys.stderr.write(f"xsp: {text}\n")
    note(text)


def _resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class _Programs:
    """The compiled modules, and the sites of their instructions."""

    def __init__(self):
        self._texts = {}  # by number; the latest also by name
        self._modules = {}
        self._sites = {}
        self._bytes = 0
        self._ranges = _Ranges()
        self.platforms = set()
        self.growth_bytes = _GROWTH_BYTES

    def add(self, executable, platform):
        self.platforms.add(platform)
        for module in executable.hlo_modules():
            text = module.to_string()
            if hlo.has_loop(text):
                self.growth_bytes = _LOOP_GROWTH_BYTES
            self._bytes += len(text)
            if self._bytes > _TEXT_BYTES_MAX:
                return
            self._texts[module.name] = text
            self._modules.pop(module.name, None)
            if platform == "gpu":
                self._ranges.describe(module.name, text)
            elif hlo.constant_bytes(text) <= _CONSTANT_BYTES_MAX:
                number = hlo.module_id(module.as_serialized_hlo_module_proto())
                self._texts[number] = text

    def _module(self, number, name):
        key = number if number in self._texts else name
        if key not in self._modules and key in self._texts:
            self._modules[key] = hlo.Module(self._texts[key])
        return self._modules.get(key)

    def site(self, number, name, instruction):
        """Returns the site of an instruction of a program; negative if others run inside it."""
        key = (number, name, instruction)
        if key not in self._sites:
            if len(self._sites) >= _SITES_MAX:
                return _native.site(_LAYER, "(other instructions)", "hlo")
            module = self._module(number, name)
            known = module.describe(instruction) if module else None
            self._sites[key] = _site(name, instruction, known)
        return self._sites[key]


def _site(module, instruction, known):
    opcode, attributes, counters, is_control = known or ("hlo", {}, {}, False)
    site = _native.site(_LAYER, instruction, opcode, True)
    _native.site_attribute(site, "framework", "jax")
    _native.site_attribute(site, "hlo_module", module)
    _describe(site, attributes, counters)
    return -site if is_control else site


def _describe(site, attributes, counters):
    for key, value in attributes.items():
        _native.site_attribute(site, key, value)
    for key, value in counters.items():
        _native.site_counter(site, key, value)


class _Ranges:
    """Sites of NVTX ranges of instructions, named as in nvtx_names.h. They do not distinguish two programs
    of the same name (a function compiled for two shapes): facts in which these differ are left empty.
    """

    def __init__(self):
        self._known = {}

    def describe(self, program, text):
        module = hlo.Module(text)
        for name in module.executed():
            opcode, attributes, _, _ = module.describe(name)
            place = f"{program}/{name}"
            known = self._known.setdefault(place, {})
            site = _native.site(_LAYER, place, "hlo_op")
            for key, value in [*attributes.items(), ("opcode", opcode)]:
                known[key] = value if known.get(key, value) == value else ""
                _native.site_attribute(site, key, known[key])


class _Sessions:
    """xsp's session of XLA's profiler."""

    def __init__(self, jax, profiler, is_waiting):
        self._is_waiting = is_waiting
        self._annotation = jax.profiler.TraceAnnotation
        self._make = profiler.ProfilerSession
        self._options = profiler.ProfileOptions()
        self._options.python_tracer_level = 0
        self._options.host_tracer_level = 1
        if hasattr(self._options, "enable_hlo_proto"):
            self._options.enable_hlo_proto = False
        self._programs = _Programs()
        self._lock = threading.RLock()
        self._session = None
        self._start_ns = 0
        self._anchors = []
        self._anchored = set()
        self._resident = 0
        self._watch = None
        self._is_over = False
        profiler.ProfilerSession = self._theirs(self._make)
        if hasattr(profiler, "start_server"):
            profiler.start_server = self._theirs(profiler.start_server)

    def _theirs(self, function):
        """Wraps a function that the program calls to get a session: the program gets it."""

        def wrapper(*args, **kwargs):
            self.end("the program uses JAX's profiler itself")
            return function(*args, **kwargs)

        return wrapper

    def compiled(self, executable, platform):
        with self._lock:
            if platform == "cpu" and self._is_waiting:
                note(_WAITING)
                self._is_waiting = False
            self._programs.add(executable, platform)

    def follow(self, is_wanted):
        """Runs before a call of a model, whose layers are wanted or not."""
        if self._is_over or (not is_wanted and self._session is None):
            return
        try:
            with self._lock:
                if not is_wanted:
                    self._read()
                elif self._session is None and self._programs.platforms == {"cpu"}:
                    self._begin()
                if self._session is not None:
                    self._anchor()
        except Exception as error:
            self.end(f"{type(error).__name__}: {error}")

    def after_call(self):
        if self._session is None or _native.now_ns() - self._start_ns < _READ_NS:
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
            _give_up(why)

    def before_exit(self, leave):
        def wrapper(status):
            self.end()
            leave(status)

        return wrapper

    def forget(self):
        """Runs in the child of a fork: the session belongs to the parent."""
        self._session = None
        self._is_over = True

    def _begin(self):
        self._anchors.clear()
        self._anchored.clear()
        self._session = self._make(self._options)
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
            if self._session is None or (age_ns < period_ns and grown < self._programs.growth_bytes):
                continue
            try:
                with self._lock:
                    if self._session is None:
                        continue
                    count = max(self._read(), 1)
                    period_ns = min(age_ns * _INSTRUCTIONS / count, _LONGEST_S * 1e9)
                    if count > 1 and not has_said:
                        has_said = True
                        note("layers of jax are incomplete: a call takes long, or executes too many")
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
            event = self._annotation(f"xsp {len(self._anchors)}")
            before = _native.now_ns()
            with event:
                inside = _native.now_ns()
            self._anchors.append((thread, before, inside, _native.now_ns()))

    def _read(self):
        session, self._session = self._session, None
        if session is None:
            return 0
        return _native.emit_xplane(session.stop(), self._anchors, self._programs.site)


_sessions = None


def after_call():
    """Runs after a model's call."""
    if _sessions is not None:
        _sessions.after_call()


def _profiler_of(jax):
    """Returns the module with ProfilerSession: jaxlib's own, by its name in this release."""
    for name in ("jax._src.lib", "jaxlib.xla_client"):
        library = importlib.import_module(name)
        for part in ("_profiler", "profiler"):
            module = getattr(library, part, None)
            if hasattr(module, "ProfilerSession") and hasattr(module, "ProfileOptions"):
                return module
    raise AttributeError(f"jaxlib's profiler is not found in jax {jax.__version__}")


def _hear_of_compilations(sessions):
    compiler = importlib.import_module("jax._src.compiler")
    for name in ("compile_or_get_cached", "backend_compile_and_load", "backend_compile"):
        compile_it = getattr(compiler, name, None)
        if compile_it is not None:
            break
    else:
        raise AttributeError("jax._src.compiler does not compile as is known")

    def compiled(backend, *args, **kwargs):
        executable = compile_it(backend, *args, **kwargs)
        try:
            sessions.compiled(executable, backend.platform)
        except Exception as error:
            sessions.end(f"{type(error).__name__}: {error}")
        return executable

    setattr(compiler, name, compiled)


def install(jax, is_waiting):
    """Watches the programs of this JAX. `is_waiting`: their calls on the CPU now wait for their results."""
    global _sessions
    sessions = _Sessions(jax, _profiler_of(jax), is_waiting)
    _hear_of_compilations(sessions)
    _native.follow_with(sessions.follow)
    atexit.register(sessions.end)
    os._exit = sessions.before_exit(os._exit)
    os.register_at_fork(after_in_child=sessions.forget)
    _sessions = sessions
