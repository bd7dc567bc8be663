"""JAX: the instructions that XLA made of a function are layers.

On the CPU, XLA's own profiler records when they ran (xsp._sessions). The compiled module, whose text is kept,
describes them (operation, shapes, the name and place of the program's own operation).

On a GPU no session is opened, because it would take CUPTI. XLA reports instructions there by NVTX ranges,
which become layers elsewhere; this module adds the facts of the module to their sites.

A session is read within a call when the process has grown by 16 MB if any program so far has a loop, which
may execute millions of instructions; without a loop by 64 MB. Reading takes five times as long as recording.
Refused: callbacks in the program, which change what XLA fuses; and names of kernels on a GPU, as kernels of
libraries have none and names of instructions are those of many programs. On an H200 every kernel of steady
calls was in an instruction.
"""

import importlib

from xsp import _native
from xsp._sessions import GROWTH_BYTES, Sessions, note

from . import hlo

_LAYER = 3
_LOOP_GROWTH_BYTES = 16 << 20
_CONSTANT_BYTES_MAX = 8 << 20
_TEXT_BYTES_MAX = 256 << 20  # for all modules together
_SITES_MAX = 1 << 16

_WAITING = (
    "jax was kept from dispatching asynchronously on the CPU, so that a model lasts until its results are "
    "there: a program that waits for something else meanwhile takes longer than alone"
)


class _Programs:
    """The compiled modules, and the sites of their instructions."""

    def __init__(self):
        self._texts = {}  # by number; the latest also by name
        self._modules = {}
        self._sites = {}
        self._bytes = 0
        self._ranges = _Ranges()
        self.platforms = set()
        self.growth_bytes = GROWTH_BYTES

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


class _Sessions(Sessions):
    """xsp's session of XLA's profiler."""

    def __init__(self, jax, profiler, waiting):
        super().__init__("jax")
        self._waiting = waiting
        self._has_said = False
        self._annotation = jax.profiler.TraceAnnotation
        self._make = profiler.ProfilerSession
        self._options = profiler.ProfileOptions()
        self._options.python_tracer_level = 0
        self._options.host_tracer_level = 1
        if hasattr(self._options, "enable_hlo_proto"):
            self._options.enable_hlo_proto = False
        self._programs = _Programs()
        profiler.ProfilerSession = self.theirs(self._make, "JAX's profiler")
        if hasattr(profiler, "start_server"):
            profiler.start_server = self.theirs(profiler.start_server, "JAX's profiler")

    def compiled(self, executable, platform):
        with self._lock:
            if platform == "cpu" and self._waiting.is_changed and not self._has_said:
                note("jax", _WAITING)
                self._has_said = True
            self._programs.add(executable, platform)

    @property
    def growth_bytes(self):
        return self._programs.growth_bytes

    def is_possible(self):
        return self._programs.platforms == {"cpu"}

    def open(self):
        return self._make(self._options)

    def anchor(self, name):
        return self._annotation(name)

    def emit(self, session, anchors):
        return _native.emit_xplane(session.stop(), anchors, self._programs.site)


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


def install(jax, waiting):
    """Watches the programs of this JAX. `waiting.is_changed`: their calls on the CPU wait for their results
    because of xsp.
    """
    global _sessions
    sessions = _Sessions(jax, _profiler_of(jax), waiting)
    _hear_of_compilations(sessions)
    sessions.install()
    _sessions = sessions
