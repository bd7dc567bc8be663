"""HLO: the instructions that XLA made of a program, read from the text that it prints of a compiled module.

It reads text rather than the module's protocol buffer, because that holds the program's constants, of any
size. The format is that of HloModule::ToString; unknown parts of an instruction are left out.
"""

import json
import re

_HEAD = re.compile(r"\s*(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_SHAPE = re.compile(r"([a-z]\w*)\[([\d,<=? ]*)\]")
_OPERAND = re.compile(r"%([\w.\-]+)")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_CALLED = re.compile(r"(?:calls|to_apply)=%?([\w.\-]+)")
_TARGET = re.compile(r'custom_call_target="([^"]*)"')
_FILE = re.compile(r'source_file="([^"]*)"(?: source_line=(\d+))?')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_COMPUTATION = re.compile(r"(?:ENTRY )?%?([\w.\-]+) .*\{\s*$")
_NUMBERED = re.compile(r"(\d+) (.*)")
_CONSTANT = re.compile(r"= (\S+) constant\(\{\.\.\.\}\)")

_DTYPES = {
    "pred": ("bool", 1), "s8": ("int8", 1), "s16": ("int16", 2), "s32": ("int32", 4),
    "s64": ("int64", 8), "u8": ("uint8", 1), "u16": ("uint16", 2), "u32": ("uint32", 4),
    "u64": ("uint64", 8), "f16": ("float16", 2), "f32": ("float32", 4), "f64": ("float64", 8),
    "bf16": ("bfloat16", 2), "c64": ("complex64", 8), "c128": ("complex128", 16),
}  # fmt: skip
# These run other instructions inside themselves, which are layers of their own.
_CONTROL = ("while", "call", "conditional", "async-start")
_PRODUCTS = ("dot", "convolution")
_LIBRARY = ("__cudnn$", "__cublas$")
_VIEWS = ("bitcast", "get-tuple-element")
_NO_WORK = ("parameter", "constant", "get-tuple-element", "tuple", "bitcast")


def _closing(text, start):
    """Returns the index after the parenthesis that closes the one at `start`."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def _shapes(text):
    """Returns the shapes of a type, for a tuple those of its parts: [(dtype, [dimensions])]."""
    found = []
    for dtype, sizes in _SHAPE.findall(text):
        if dtype != "token":
            found.append((dtype, [int(size.strip("<= ?") or -1) for size in sizes.split(",") if size]))
    return found


def _bytes(shapes):
    total = 0
    for dtype, sizes in shapes:
        size = _DTYPES.get(dtype, (dtype, 0))[1]
        for one in sizes:
            size *= one
        total += size
    return total


def constant_bytes(text):
    """Returns the size of the constants that the text leaves out."""
    return sum(_bytes(_shapes(shape)) for shape in _CONSTANT.findall(text))


def has_loop(text):
    """Returns whether the module executes instructions more than once in a call."""
    return " while(" in text


def module_id(proto):
    """Returns the number of a serialized HloModuleProto (its field 5). Profilers use it for the program."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = proto[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(proto):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
            if tag >> 3 == 5:
                return value
        elif kind == 2:
            size = varint()
            at += size
        else:
            at += {1: 8, 5: 4}[kind]
    return None


class _Parsed:
    """A line of the text."""

    def __init__(self, line, after_head):
        rest = line[after_head:]
        end = _closing(rest, 0) if rest.startswith("(") else rest.find(" ")
        self.outputs = _shapes(rest[:end])
        match = _OPCODE.match(rest, end)
        self.opcode = match.group(1) if match else ""
        close = _closing(rest, match.end() - 1) if match else end
        self.operands = rest[match.end() : close - 1] if match else ""
        self.attributes = rest[close:]
        if self.opcode == "custom-call":
            target = _TARGET.search(self.attributes)
            self.opcode = target.group(1) if target else self.opcode
            self._remove_workspace()

    def _remove_workspace(self):
        """Keeps the results of a call of cuDNN or cuBLAS only: last comes the memory in which it worked."""
        dtype, sizes = self.outputs[-1] if self.outputs else ("", [])
        is_library = self.opcode.startswith(_LIBRARY)
        if is_library and len(self.outputs) > 1 and dtype in ("s8", "u8") and len(sizes) == 1:
            self.outputs.pop()

    def called(self):
        return _CALLED.findall(self.attributes)

    def op_name(self):
        match = _OP_NAME.search(self.attributes)
        return re.sub(r"\\(.)", r"\1", match.group(1)) if match else ""


def _is_unnamed_product(one):
    return (one.opcode in _PRODUCTS or one.opcode.startswith(_LIBRARY)) and not one.op_name()


class Module:
    """A compiled program and its instructions. Lines are parsed on demand."""

    def __init__(self, text):
        self._computations = {}  # name: [instruction]
        self._place = {}  # instruction: its line, and the end of its name there
        self._tables = {"FileNames": {}, "FileLocations": {}, "StackFrames": {}, "FunctionNames": {}}
        self._parsed = {}
        self._read_by = None  # instruction: those that read it
        table = computation = None
        for line in text.splitlines():
            if computation is None:
                if line in self._tables:
                    table = self._tables[line]
                elif table is not None and _NUMBERED.match(line):
                    number, value = _NUMBERED.match(line).groups()
                    table[int(number)] = value
                elif _COMPUTATION.match(line) and not line.startswith("HloModule"):
                    computation = _COMPUTATION.match(line).group(1)
                    self._computations[computation] = []
            elif line.startswith("}"):
                computation = None
            else:
                match = _HEAD.match(line)
                if match:
                    self._computations[computation].append(match.group(2))
                    self._place[match.group(2)] = (line, match.end())

    def _parse(self, name):
        if name not in self._parsed and name in self._place:
            self._parsed[name] = _Parsed(*self._place[name])
        return self._parsed.get(name)

    def _inside(self, one, depth=0):
        """Yields the instructions inside an instruction, without those that do no work."""
        for computation in one.called() if depth < 8 else ():
            for name in self._computations.get(computation, ()):
                part = self._parse(name)
                if part.opcode not in _NO_WORK:
                    yield part
                    yield from self._inside(part, depth + 1)

    def _sources(self, one, inside):
        """Returns the op_names of an instruction, or of those inside it, each once."""
        names = (part.op_name() for part in (inside if inside else [one]))
        return list(dict.fromkeys(name for name in names if name))

    def _readers(self, name):
        """Returns the names of the instructions that read this one's result."""
        if self._read_by is None:
            self._read_by = {}
            for reader in self._place:
                for operand in dict.fromkeys(_OPERAND.findall(self._parse(reader).operands)):
                    self._read_by.setdefault(operand, []).append(reader)
        return self._read_by.get(name, [])

    def _source_of_reader(self, name, depth=0):
        """Returns the first source of the only instruction that reads this one's result, or "". A reader
        without a source that hands the result on has that of its own reader.
        """
        readers = self._readers(name)
        if len(readers) != 1 or depth > 8:
            return ""
        one = self._parse(readers[0])
        sources = self._sources(one, [] if one.opcode in _CONTROL else list(self._inside(one)))
        if sources:
            return sources[0]
        return self._source_of_reader(readers[0], depth + 1) if one.opcode in _VIEWS else ""

    def _source(self, attributes):
        """Returns the instruction's place in the program's source: "file.py:12"."""
        match = _FILE.search(attributes)
        if match:
            return f"{match.group(1)}:{match.group(2)}" if match.group(2) else match.group(1)
        match = _FRAME.search(attributes)
        frame = self._tables["StackFrames"].get(int(match.group(1)), "") if match else ""
        match = re.search(r"file_location_id=(\d+)", frame)
        place = self._tables["FileLocations"].get(int(match.group(1)), "") if match else ""
        file, line = re.search(r"file_name_id=(\d+)", place), re.search(r"\bline=(\d+)", place)
        if not file or not line:
            return ""
        name = self._tables["FileNames"].get(int(file.group(1)), "").strip('"')
        return f"{name}:{line.group(1)}"

    def executed(self):
        """Yields the instructions that run by themselves."""
        parts = {c for name in self._place for c in self._parse(name).called()}
        for computation, names in self._computations.items():
            if computation not in parts:
                yield from (n for n in names if self._parse(n).opcode not in _NO_WORK)

    def describe(self, name):
        """Returns (opcode, attributes, counters, whether others run inside it); None: there is no such
        instruction.
        """
        one = self._parse(name)
        if one is None:
            return None
        is_control = one.opcode in _CONTROL
        inside = [] if is_control else list(self._inside(one))
        sources = self._sources(one, inside)
        # Where XLA divides a product into several, whose results it adds afterwards, it forgets the source of
        # the product. Then the product has the first source of what reads its result, if that is one.
        if any(_is_unnamed_product(part) for part in (one, *inside)):
            source = self._source_of_reader(name)
            sources = list(dict.fromkeys([source, *sources])) if source else sources
        inputs = []
        for operand in _OPERAND.findall(one.operands):
            given = self._parse(operand)
            inputs += given.outputs if given else []
        attributes = {
            "op_name": one.op_name(),
            "source": self._source(one.attributes),
            "input_shapes": json.dumps([sizes for _, sizes in inputs], separators=(",", ":")),
            "input_dtypes": json.dumps([_DTYPES.get(d, (d,))[0] for d, _ in inputs]),
            "output_shapes": json.dumps([sizes for _, sizes in one.outputs], separators=(",", ":")),
            "output_dtypes": json.dumps([_DTYPES.get(d, (d,))[0] for d, _ in one.outputs]),
            "source_layers": json.dumps(sources or [one.op_name()]) if sources or one.op_name() else "",
            "fused": " ".join(dict.fromkeys(p.opcode for p in inside)) if one.opcode == "fusion" else "",
        }
        counters = {"output_bytes": _bytes(one.outputs), "activation_bytes": _bytes(inputs)}
        return one.opcode, {k: v for k, v in attributes.items() if v}, counters, is_control
