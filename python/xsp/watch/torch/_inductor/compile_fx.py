"""torch.compile: each kernel that Inductor generated, and each library call, is a layer that names the
modules for which it stands.

Inductor writes a program in Python for each graph. When the program is loaded, its functions are replaced
by copies in which every launch is a span. Inductor reports the operations of a launch while it generates
code, if it is asked to (its provenance tracking, which xsp switches on), and comments of the program give
some of them. The graph that is being compiled tells the module of an operation. The facts about a program
are kept in a file of xsp's cache, because Inductor's own cache skips the generation next time.

Code that is not understood is left unchanged.

A compiled region is a layer itself, as torch reports it (`Torch-Compiled Region`, `CompiledFunction`).

Refused: a pass of xsp's in Inductor, which would be a part of its cache's key; and names of kernels alone,
which give operators and no modules. Provenance tracking is no part of that key, and is extended to the calls
that it leaves out; a view counts as its module, too. The facts are kept in ~/.cache/xsp/inductor.
"""

import ast
import functools
import hashlib
import json
import os
import re
import sys
import threading

from xsp import _native

_HANDLE = re.compile(r"# \[Provenance debug handles\] (\S+:\d+)")
_SOURCE = re.compile(r"# (?:Topologically Sorted|Unsorted) Source Nodes: \[([^\]]*)\]")
_MODULE = re.compile(r"(?:_modules|_parameters)\['([^']*)'\]")
_INDEX = re.compile(r"\[['\"]?([^\]'\"]*)['\"]?\]")
# Nodes that only view data differently, or that Inductor's passes made: they have no module of their own.
_VIEWS = re.compile(
    r"^(view|_?unsafe_view|reshape|permute|transpose|t|expand|squeeze|unsqueeze|getitem|slice|select"
    r"|clone|alias|detach|as_strided|copy_|full|full_default|scalar_tensor|le)(_\d+)?$"
)
_LAUNCHERS = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")
_ALLOCATE = ("_alloc_from_pool", "empty", "reinterpret", "assert_")

_local = threading.local()


def path_of(text):
    """Returns a module's path as in Module.named_modules, from "L['self']._modules['layers'][0].up"."""
    text = _MODULE.sub(r"\1", re.sub(r"^L\['\w+'\]|^self\b", "", text))
    text = re.sub(r"\.+", ".", _INDEX.sub(r".\1", text)).strip(".")
    return re.sub(r"^_orig_mod\b\.?", "", text)


def _module_of(node):
    """Returns (path, class) of the innermost module from which a node of a graph comes, or None."""
    for key in ("nn_module_stack", "fwd_nn_module_stack"):
        stack = node.meta.get(key)
        if stack:
            path, kind = list(stack.values())[-1]
            kind = kind.rsplit(".", 1)[-1] if isinstance(kind, str) else kind.__name__
            return path_of(path), kind
    return None


def _modules_of(graph_module):
    """Returns the module of every node that has one, in the graph's order."""
    nodes = getattr(getattr(graph_module, "graph", None), "nodes", ())
    found = {}
    for node in nodes:
        module = _module_of(node) if node.op.startswith("call_") else None
        if module:
            found[node.name] = module
    return found


class _Graphs:
    """The modules of nodes: of the program's own graph (`source`), and of the graph made from it
    (`lowered`).
    """

    def __init__(self, source):
        self.source = source
        self.lowered = {}


def _unique(modules):
    return list(dict.fromkeys(modules))


def _stands_for(graphs, nodes):
    """Returns the modules of a kernel's operations, in the graph's order."""
    nodes = set(nodes)
    known = [name for name in graphs.lowered if name in nodes]
    working = [name for name in known if not _VIEWS.match(name)]
    return _unique(graphs.lowered[name] for name in working or known)


class Launch:
    """A statement of a generated program that launches a kernel or calls a library."""

    def __init__(self, statement, name, is_kernel, handle, sources):
        self.statement = statement
        self.name = name
        self.is_kernel = is_kernel  # generated, otherwise from a library
        self.handle = handle
        self.sources = sources


def _name_of(function):
    try:
        return ast.unparse(function)
    except Exception:
        return ""


def _kernels_of(tree):
    """Returns the names that the program gives to kernels that it generates."""
    names = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            if _name_of(statement.value.func).startswith("async_compile."):
                names.update(t.id for t in statement.targets if isinstance(t, ast.Name))
    return names


def _launch_of(statement, kernels):
    """Returns (name, whether it is a generated kernel), or None."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(statement.value, ast.Call):
        return None
    name = _name_of(statement.value.func)
    own = name[:-4] if name.endswith(".run") else name
    if own in kernels:
        return own, True
    last = name.rsplit(".", 1)[-1]
    if name.startswith(_LAUNCHERS) and not last.startswith(_ALLOCATE) and "[" not in name:
        return name, False
    return None


def _bodies(function):
    """Yields the lists of statements of a function, in the order of the text."""
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield body


def launches_of(text):
    """Returns the functions of a program that launch kernels, and their launches: [(def, [Launch])]."""
    tree = ast.parse(text)
    lines = text.splitlines()
    kernels = _kernels_of(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Runner":
            functions += [part for part in node.body if isinstance(part, ast.FunctionDef)]
    found = []
    for function in functions:
        if function.name != "call" and not function.name.startswith("partition_"):
            continue
        statements = [
            (one, _launch_of(one, kernels)) for body in _bodies(function) for one in body
        ]
        ours = sorted(((s, k) for s, k in statements if k), key=lambda one: one[0].lineno)
        above, launches = function.lineno, []
        for statement, (name, is_kernel) in ours:
            comments = "\n".join(lines[above : statement.lineno - 1])
            handles, sources = _HANDLE.findall(comments), _SOURCE.findall(comments)
            names = re.findall(r"\w+", sources[-1]) if sources else []
            launches.append(
                Launch(statement, name, is_kernel, handles[-1] if handles else None, names)
            )
            above = statement.end_lineno
        if launches:
            found.append((function, launches))
    return found


def _modules_of_launch(launch, nodes, graphs, is_backward):
    known = _stands_for(graphs, nodes[launch.handle]) if launch.handle in nodes else []
    # The comments of a backward pass also name the forward operations whose results it reads.
    if not known and not is_backward:
        known = _unique(graphs.source[name] for name in launch.sources if name in graphs.source)
    # The operation of a library call comes last, behind those whose results it reads.
    return known if launch.is_kernel else known[-1:]


def _make_site(launch, modules, phase):
    paths = [path for path, _ in modules]
    if launch.is_kernel or not modules:
        name = launch.name
        kind = re.sub(r"_\d+$", "", launch.name)
    else:
        name, kind = modules[-1][0] or modules[-1][1], modules[-1][1]
    owner_path, owner_kind = modules[-1] if len(modules) == 1 else ("", "")
    handle, site = _native.know_launch(name, kind, owner_path, owner_kind, phase)
    _native.site_attribute(site, "framework", "torch")
    _native.site_attribute(site, "compiled", launch.name)
    if modules:
        _native.site_attribute(site, "source_layers", json.dumps(paths))
    return handle


def _phase_of(text):
    match = re.search(r"# AOT ID: \['\d+_(\w+)'\]", text)
    return "backward" if match and match.group(1) == "backward" else "forward"


def _as_span(launch, handle):
    text = f"_xsp_open = _xsp_enter({handle})\ntry: pass\nfinally:\n if _xsp_open: _xsp_leave()"
    opened, attempt = ast.parse(text).body
    for part in (opened, attempt):
        for node in ast.walk(part):
            if hasattr(node, "lineno"):
                ast.copy_location(node, launch.statement)
    attempt.body = [launch.statement]
    return opened, attempt


def _replace(module, path, function, launches, handles):
    """Gives the loaded program a function whose launches are spans."""
    for launch, handle in zip(launches, handles):
        for body in _bodies(function):
            if launch.statement in body:
                at = body.index(launch.statement)
                body[at : at + 1] = _as_span(launch, handle)
                break
    tree = ast.Module([function], [])
    ast.fix_missing_locations(tree)
    made = {}
    exec(compile(tree, path, "exec"), module.__dict__, made)
    made = made[function.name]
    runner = getattr(module, "runner", None)
    if function.name == "call" and runner is not None:
        type(runner).call = made
        module.call = runner.call
        return
    before = getattr(module, function.name, None)
    setattr(module, function.name, made)
    if runner is not None and before in runner.partitions:
        runner.partitions[runner.partitions.index(before)] = made


class _Memory:
    """Stores Inductor's report on a program, by the program's file and its graph."""

    def __init__(self):
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self._folder = os.path.join(cache, "xsp", "inductor")

    def _place(self, path, graphs):
        key = json.dumps([os.path.basename(path), graphs.source], sort_keys=True)
        return os.path.join(self._folder, hashlib.sha256(key.encode()).hexdigest() + ".json")

    def keep(self, path, graphs, modules):
        try:
            os.makedirs(self._folder, exist_ok=True)
            place = self._place(path, graphs)
            with open(f"{place}.{os.getpid()}", "w") as file:
                json.dump(modules, file)
            os.replace(file.name, place)
        except OSError:
            pass  # it is known at least this time

    def find(self, path, graphs):
        try:
            with open(self._place(path, graphs)) as file:
                return [[tuple(m) for m in one] for one in json.load(file)]
        except (OSError, ValueError):
            return None


_memory = _Memory()


def annotate(module, path, graphs, nodes):
    """Makes the launches of a loaded program spans. `nodes` has the nodes of a launch by its handle, as
    Inductor has just reported them; it has none if the program comes from Inductor's cache.
    """
    with open(path) as file:
        text = file.read()
    phase = _phase_of(text)
    functions = launches_of(text)
    all_launches = [launch for _, launches in functions for launch in launches]
    modules = None
    is_told = any(launch.handle in nodes for launch in all_launches)
    if not is_told:
        modules = _memory.find(path, graphs)
    if modules is None or len(modules) != len(all_launches):
        modules = [
            _modules_of_launch(launch, nodes, graphs, phase == "backward") for launch in all_launches
        ]
    if is_told:
        _memory.keep(path, graphs, modules)
    module._xsp_enter, module._xsp_leave = _native.enter_launch, _native.leave
    handles = iter([_make_site(l, m, phase) for l, m in zip(all_launches, modules)])
    for function, launches in functions:
        _replace(module, path, function, launches, [next(handles) for _ in launches])


def _compile_with(graphs, function):
    """Returns the function, which runs with these graphs as the ones that are being compiled."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        before = getattr(_local, "graphs", None)
        _local.graphs = graphs
        try:
            return function(*args, **kwargs)
        finally:
            _local.graphs = before

    return wrapper


def _watch_compile(compiler):
    compile_fx = compiler.compile_fx

    @functools.wraps(compile_fx)
    def watched(model, inputs, *args, **kwargs):
        graphs = _Graphs(_modules_of(model))
        if not args and graphs.source:
            inner = kwargs.get("inner_compile", compiler.compile_fx_inner)

            def lower(lowered, *rest, **more):
                graphs.lowered.update(_modules_of(lowered))
                return _compile_with(graphs, inner)(lowered, *rest, **more)

            kwargs["inner_compile"] = functools.wraps(inner)(lower)
        return _compile_with(graphs, compile_fx)(model, inputs, *args, **kwargs)

    compiler.compile_fx = watched


def _watch_loading(codecache, debug):
    load = codecache.PyCodeCache.load_by_key_path.__func__

    @functools.wraps(load)
    def watched(cls, key, path, *args, **kwargs):
        module = load(cls, key, path, *args, **kwargs)
        graphs = getattr(_local, "graphs", None)
        if graphs is None or hasattr(module, "_xsp_enter") or not hasattr(module, "call"):
            return module
        try:
            nodes = getattr(debug, "_inductor_triton_kernel_to_post_grad_node_info", {})
            annotate(module, path, graphs, nodes)
        except Exception as error:  # the program runs on as it was generated
            sys.stderr.write(f"xsp: compiled kernels are not told apart by module: {error}\n")
        return module

    codecache.PyCodeCache.load_by_key_path = classmethod(watched)


def _tell_of_all_calls(ir, debug):
    """Makes Inductor report all library calls: without this, it reports only those that write to a given
    place.
    """
    tell = getattr(debug, "set_kernel_post_grad_provenance_tracing", None)
    if tell is None:
        return
    comment = ir.ExternKernel.codegen_comment

    @functools.wraps(comment)
    def watched(self, wrapper, *args, **kwargs):
        result = comment(self, wrapper, *args, **kwargs)
        try:
            if not isinstance(self, ir.ExternKernelOut):
                name = self.get_kernel_name()
                wrapper.write_provenance_debug_handle(name, tell(self, name, is_extern=True))
        except Exception:
            pass  # then its modules are not known
        return result

    ir.ExternKernel.codegen_comment = watched


def install(compiler):
    """Watches Inductor; `compiler` is torch._inductor.compile_fx."""
    inductor = sys.modules["torch._inductor"]
    trace = inductor.config.trace
    debug = sys.modules.get("torch._inductor.debug")
    if getattr(trace, "provenance_tracking_level", None) == 0:
        trace.provenance_tracking_level = 1
        _tell_of_all_calls(sys.modules["torch._inductor.ir"], debug)
    _watch_compile(compiler)
    _watch_loading(sys.modules["torch._inductor.codecache"], debug)
