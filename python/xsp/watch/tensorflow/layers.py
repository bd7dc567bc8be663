"""TensorFlow: the operations that a call executes are layers.

TensorFlow's own profiler records them (xsp._sessions). Operations of a function run on threads of
TensorFlow's own while the caller waits: they are shown on the caller's thread, inside the call, and those
that overlap on lanes of it. Operations outside of a function run on the caller's thread.

The profiler has names and times alone. Shapes come from the graph that TensorFlow executes, after its own
optimisation, which it hands out when it prepares a function: so the first calls of a function are watched for
it, recorded or not. A dimension that the graph leaves open is unknown.

On a GPU no session is opened, because it would take CUPTI: there the kernels tell how long the work takes.
Refused: `RunMetadata.step_stats`, which has shapes and threads, because only graphs of TensorFlow 1 fill it;
and a profiled twin of a function, because its variables would be updated twice.
"""

import bisect
import importlib
import json
import re

from xsp import _native
from xsp._sessions import Sessions, note

_LAYER = 3
_SITES_MAX = 1 << 16
_THREAD_BITS, _LANES = 22, 1023  # see Lanes in xsp/adapter.hpp
_EAGER_OP = "EagerLocalExecute: "
# These only pass on tensors.
_NO_WORK = ("Const", "HostConst", "NoOp", "_Arg", "_Retval", "VarHandleOp", "_EagerConst")
# The names of a function's operations begin with the name of its call in the graph.
_INLINED = re.compile(r"^(?:(?:Stateful)?PartitionedCall(?:_\d+)?/)+")
_GRAPH_NODES_MAX = 200_000  # of all functions together


def _shape(tensor):
    rank = tensor.shape.rank
    return [-1] if rank is None else [-1 if size is None else size for size in tensor.shape.as_list()]


def _bytes(tensors):
    """Returns the size of tensors, or None if a dimension is unknown."""
    total = 0
    for tensor in tensors:
        if tensor.shape.num_elements() is None:
            return None
        total += tensor.shape.num_elements() * tensor.dtype.size
    return total


class _Node:
    """What the graph tells of an operation."""

    def __init__(self, operation):
        inputs = [one for one in operation.inputs if one.dtype.name != "resource"]
        outputs = [one for one in operation.outputs if one.dtype.name != "resource"]
        weights = [one for one in inputs if one.op.type in ("ReadVariableOp", "Const")]
        others = [one for one in inputs if one.op.type not in ("ReadVariableOp", "Const")]
        self.attributes, self.counters = {}, {}
        for side, tensors in (("input", inputs), ("output", outputs)):
            shapes = [_shape(tensor) for tensor in tensors]
            self.attributes[f"{side}_shapes"] = json.dumps(shapes, separators=(",", ":"))
            self.attributes[f"{side}_dtypes"] = json.dumps([tensor.dtype.name for tensor in tensors])
        for key, tensors in (("parameter_bytes", weights), ("activation_bytes", others),
                             ("output_bytes", outputs)):
            size = _bytes(tensors)
            if size is not None:
                self.counters[key] = size


class Graphs:
    """The graphs that TensorFlow executes, by the function that was called."""

    def __init__(self, tensorflow):
        self._tensorflow = tensorflow
        self._context = importlib.import_module("tensorflow.python.eager.context")
        self._summary = importlib.import_module("tensorflow.python.ops.summary_ops_v2")
        self._nodes = {}  # by the function's address: {name: _Node}
        self._traces = {}  # by the function's address: how often it had been traced
        self._depth = 0
        self._count = 0

    @staticmethod
    def _traced(function):
        count = getattr(function, "experimental_get_tracing_count", None)
        return count() if count is not None else 1

    def begin(self):
        """Runs before a call: asks for the graphs that TensorFlow prepares in it."""
        self._depth += 1
        if self._depth == 1 and self._is_free():
            self._context.context().enable_run_metadata()

    def _is_free(self):
        # tf.summary.trace_on uses the same place.
        is_traced = getattr(self._summary, "_current_trace_context", None) is not None
        return not is_traced and self._count < _GRAPH_NODES_MAX

    def end(self, function):
        """Runs after a call: keeps the graphs, if there are new ones."""
        self._depth -= 1
        if self._depth > 0 or not self._is_free():
            return
        try:
            context, traced = self._context.context(), self._traced(function)
            if self._traces.get(id(function)) != traced:
                self._traces[id(function)] = traced
                metadata = context.export_run_metadata()
                for graph in [one for each in metadata.function_graphs for one in each.partition_graphs]:
                    # A graph of one operation outside of functions has a name that cannot be imported.
                    if not any(node.name.startswith("_") for node in graph.node):
                        self._keep(id(function), graph)
            context.disable_run_metadata()
        except Exception as error:
            self._count = _GRAPH_NODES_MAX
            why = f"{type(error).__name__}: {error}"
            note("tensorflow", f"shapes of tensorflow's layers are not recorded: {why}")

    def _keep(self, address, definition):
        graph = self._tensorflow.Graph()
        with graph.as_default():
            self._tensorflow.graph_util.import_graph_def(definition, name="")
        nodes = self._nodes.setdefault(address, {})
        for operation in graph.get_operations():
            nodes[operation.name] = _Node(operation)
        self._count += len(nodes)

    def node(self, address, name):
        return self._nodes.get(address, {}).get(name)


class _Events:
    """The record of a session, whose times count from its start."""

    def __init__(self, record, anchors):
        trace = importlib.import_module("tensorflow.tsl.profiler.protobuf.trace_events_pb2").Trace()
        trace.ParseFromString(record)
        self.threads = {}  # by line: the system's thread
        self.operations = {}  # by line: [(start_ps, end_ps, name, type)]
        self.regions = {}  # by line: [(start_ps, end_ps, execution)]
        self.callers = {}  # by execution: its line
        low, high = None, None
        for event in trace.trace_events:
            name, start, line = event.name, event.timestamp_ps, event.resource_id
            end = start + event.duration_ps
            if name.startswith("xsp ") and name[4:].isdigit() and int(name[4:]) < len(anchors):
                thread, before, inside, after = anchors[int(name[4:])]
                self.threads[line] = thread
                bounds = (max(before - start // 1000, inside - end // 1000),
                          min(inside - start // 1000, after - end // 1000))
                if low is None or bounds[0] > high or bounds[1] < low:
                    low, high = bounds  # the system's clock was set meanwhile: the latest anchor counts
                else:
                    low, high = max(low, bounds[0]), min(high, bounds[1])
            elif name == "FunctionRun":
                self.callers[event.args["id"]] = line
            elif name == "ExecutorState::Process":
                self.regions.setdefault(line, []).append((start, end, event.args["id"]))
            elif name.startswith(_EAGER_OP):
                kind = name[len(_EAGER_OP):]
                if not kind.startswith("__"):
                    self.operations.setdefault(line, []).append((start, end, kind, kind))
            elif "long_name" in event.args:
                node, _, kind = event.args["long_name"].rpartition(":")
                if node:
                    self.operations.setdefault(line, []).append((start, end, node, kind))
        self.zero_ns = None if low is None else low + (high - low) // 2

    def caller_of(self, line, start):
        """Returns the thread that called what runs on this line then, or None."""
        if line in self.threads:
            return self.threads[line]
        regions = self.regions.get(line, ())
        at = bisect.bisect_right(regions, (start, float("inf"))) - 1
        if at < 0 or regions[at][1] < start:
            return None
        return self.threads.get(self.callers.get(regions[at][2]))


def _only_caller(calls, begin):
    """Returns the thread that was in a call then, if it is the only one. The record lacks the region of a
    thread that has not left it when the call, and so the session, ends.
    """
    threads = []
    for thread, listed in calls.items():
        at = bisect.bisect_right(listed, (begin, float("inf"))) - 1
        if at >= 0 and begin <= listed[at][1]:
            threads.append(thread)
    return threads[0] if len(threads) == 1 else None


class _Lanes:
    """Shows operations that overlap beside each other, on lanes of the calling thread. One that runs inside
    another, on the same line of the record, is shown inside it.
    """

    def __init__(self, thread):
        self._thread = thread
        self._open = [[]]  # by lane: (end, line) of the open operations

    def place(self, start, end, line):
        for lane, inside in enumerate(self._open):
            while inside and inside[-1][0] <= start:
                inside.pop()
            if not inside or (inside[-1][1] == line and end <= inside[-1][0]):
                break
        else:
            lane = len(self._open)
            if lane > _LANES:
                return self._thread
            self._open.append([])
        self._open[lane].append((end, line))
        return self._thread | lane << _THREAD_BITS


class _Sessions(Sessions):
    """xsp's session of TensorFlow's profiler."""

    def __init__(self, tensorflow):
        super().__init__("tensorflow")
        self.graphs = Graphs(tensorflow)
        self._tensorflow = tensorflow
        internal = "tensorflow.python.profiler.internal._pywrap_"
        profiler = importlib.import_module(internal + "profiler")
        self._annotation = importlib.import_module("tensorflow.python.profiler.trace").Trace
        self._make = profiler.ProfilerSession
        self._sites = {}
        self._calls = {}  # by thread: [(start_ns, end_ns, the function's address)]
        self._has_gpu = None
        profiler.ProfilerSession = self.theirs(self._make, "TensorFlow's profiler")
        profiler.start_server = self.theirs(profiler.start_server, "TensorFlow's profiler")

    def called(self, start, end, function):
        """Runs after a call of a model."""
        if self._session is not None:
            thread = importlib.import_module("threading").get_native_id()
            self._calls.setdefault(thread, []).append((start, end, id(function)))
            self.after_call()

    def is_possible(self):
        if self._has_gpu is None:
            self._has_gpu = bool(self._tensorflow.config.list_physical_devices("GPU"))
            if self._has_gpu:
                note("tensorflow", "operations of tensorflow are not recorded on a GPU: its kernels are")
        return not self._has_gpu

    def open(self):
        session = self._make()
        session.start("", {})
        return session

    def anchor(self, name):
        return self._annotation(name)

    def emit(self, session, anchors):
        calls, self._calls = self._calls, {}
        events = _Events(session.stop(), anchors)
        if events.zero_ns is None:
            raise ValueError("the profiler's record lacks xsp's own events")
        of_thread = {}
        for line, operations in events.operations.items():
            events.regions.get(line, []).sort()
            for start, end, name, kind in operations:
                thread = events.caller_of(line, start)
                if thread is None:
                    thread = _only_caller(calls, events.zero_ns + start // 1000)
                if thread is not None and kind not in _NO_WORK:
                    of_thread.setdefault(thread, []).append((start, -end, line, name, kind))
        return sum(self._emit(thread, sorted(found), events.zero_ns, calls.get(thread, []))
                   for thread, found in of_thread.items())

    def _emit(self, thread, operations, zero_ns, calls):
        lanes, at, count = _Lanes(thread), 0, 0
        for start, minus_end, line, name, kind in operations:
            begin, end = zero_ns + start // 1000, zero_ns - minus_end // 1000
            while at < len(calls) and calls[at][1] <= begin:
                at += 1
            if at == len(calls):
                break
            first, last, address = calls[at]
            begin, end = max(begin, first), min(end, last)
            if begin > end:
                continue  # outside of models
            lane = lanes.place(begin, end, line)
            _native.emit(self._site(address, name, kind), begin, 0, end, lane)
            count += 1
        return count

    def _site(self, address, name, kind):
        key = (address, name, kind)
        if key not in self._sites:
            if len(self._sites) >= _SITES_MAX:
                return _native.site(_LAYER, "(other operations)", "operation")
            site = self._sites[key] = _native.site(_LAYER, _INLINED.sub("", name), kind, True)
            _native.site_attribute(site, "framework", "tensorflow")
            node = self.graphs.node(address, name)
            for attribute, value in (node.attributes if node else {}).items():
                _native.site_attribute(site, attribute, value)
            for counter, value in (node.counters if node else {}).items():
                _native.site_counter(site, counter, value)
        return self._sites[key]


sessions = None


def install(tensorflow):
    """Watches the operations of this TensorFlow. Returns the sessions of its profiler."""
    global sessions
    made = _Sessions(tensorflow)
    made.install()
    sessions = made
    return made
