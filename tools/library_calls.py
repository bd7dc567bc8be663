#!/usr/bin/env python3
"""Writes the wrappers of collectors/library_calls from the libraries' own headers.

  tools/library_calls.py --out FOLDER --clang FOLDER --include FOLDER ...      LIBRARY.cc, headers.h
  tools/library_calls.py --compare ... --include OLD ... --with NEW ...        what differs between versions

Each wrapper has the symbol and the calling convention of a function that a library exports. It notes the
problem that the call is about (sizes, types, layouts: its parameters by name), and calls the real one.

Which functions do work, and are wrapped, and which only set something up, is a rule over their parameters
(see LIBRARIES), so that a new version's functions are wrapped without an edit here. What cannot be wrapped
is counted and named: structs by value, variable arguments.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter

# Their contents are arithmetic on the device, which no signature needs, and which needs still more headers.
STUBS = ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"]


class Parameter:
    def __init__(self, name, cursor_type):
        self.name = name
        self.type = re.sub(r"\bconst\b|\bstruct\b|\benum\b", "", cursor_type.spelling).strip()
        canonical = cursor_type.get_canonical()
        self.kind = canonical.kind.name
        self.declaration = canonical.get_declaration()

    @property
    def is_pointer(self):
        return self.kind in ("POINTER", "INCOMPLETEARRAY", "CONSTANTARRAY")


class Function:
    def __init__(self, cursor):
        self.name = cursor.spelling
        self.result = Parameter("", cursor.result_type)
        self.parameters = [Parameter(p.spelling or f"p{i}", p.type)
                           for i, p in enumerate(cursor.get_arguments())]
        self.is_variadic = cursor.type.kind.name == "FUNCTIONPROTO" and cursor.type.is_function_variadic()
        self.types = [p.type for p in self.parameters]
        self.names = [p.name.lower() for p in self.parameters]
        self.twin_of = None  # of a Fortran symbol: the C function that it is derived from

    def first_is(self, *types):
        return bool(self.types) and self.types[0] in types

    def signature(self):
        return (self.result.kind, self.is_variadic) + tuple(p.kind for p in self.parameters)


# ---- What is work -----------------------------------------------------------------------------------------


def cublas_work(f):
    """Takes the handle, and a size or a stream: what only sets something up takes neither."""
    if f.first_is("cublasHandle_t"):
        return "n" in f.names or "group_count" in f.names
    return f.first_is("cublasLtHandle_t") and "cudaStream_t" in f.types and "Algo" not in f.name


def cudnn_work(f):
    """Takes the handle or a stream, and data of the device: pointers to void. The rest sets up, or tells."""
    if not f.first_is("cudnnHandle_t", "cudaStream_t"):
        return False
    if re.match(r"cudnn(Get|Set|Create|Destroy|Query)", f.name):
        return False
    return f.name.endswith("Execute") or any(t in ("void *", "void*") for t in f.types)


def cufft_work(f):
    """Executes a plan, or makes one, which takes long, and has the sizes."""
    return bool(re.match(r"cufft(Xt)?(Exec|Plan|MakePlan)", f.name))


def nccl_work(f):
    """Takes a communicator and a stream. The end of a group launches what was called inside it."""
    return ("ncclComm_t" in f.types and "cudaStream_t" in f.types) or f.name == "ncclGroupEnd"


def blas_work(f):
    """Takes a matrix: level 2 and 3. A call of level 1 (a vector) is as short as a span."""
    return f.result.kind == "VOID" and "lda" in f.names


def dnnl_work(f):
    """Executes a primitive, or is a product of matrices."""
    return f.name == "dnnl_primitive_execute" or "lda" in f.names


# prefix of its functions, headers, what is work, what a call returns if the library is not to be found
LIBRARIES = {
    "cublas": (r"cublas", ["cublas_v2.h", "cublasLt.h"], cublas_work, "CUBLAS_STATUS_NOT_INITIALIZED"),
    "cudnn": (r"cudnn", ["cudnn.h"], cudnn_work, "CUDNN_STATUS_NOT_INITIALIZED"),
    "cufft": (r"cufft", ["cufftXt.h"], cufft_work, "CUFFT_INTERNAL_ERROR"),
    "nccl": (r"nccl", ["nccl.h"], nccl_work, "ncclInternalError"),
    "blas": (r"cblas_", ["cblas.h"], blas_work, None),
    "onednn": (r"dnnl_", ["oneapi/dnnl/dnnl.h"], dnnl_work, "dnnl_runtime_error"),
}

# Parameters of these types are looked into by collectors/library_calls/describe_LIBRARY.cc, a function
# describe_NAME each: (name, facts). A fact is a key and its type: an enumeration of the header, "int",
# "list", or "text"; its key begins with the parameter's name, unless it begins with "=".
DESCRIBED = {
    "cublasLtMatmulDesc_t": ("matmul", [("=transa", "cublasOperation_t"), ("=transb", "cublasOperation_t"),
                                        ("=compute_type", "cublasComputeType_t"),
                                        ("=epilogue", "cublasLtEpilogue_t")]),
    "cublasLtMatrixLayout_t": ("layout", [("type", "cudaDataType_t"), ("order", "cublasLtOrder_t"),
                                          ("rows", "int"), ("cols", "int"), ("ld", "int"),
                                          ("batch_count", "int")]),
    "cublasLtMatmulAlgo_t *": ("algorithm", [("=algorithm", "int")]),
}
# Enumerations that those files need beyond their facts' own.
ENUMERATIONS = ["cublasLtMatrixLayoutAttribute_t", "cublasLtMatmulDescAttributes_t",
                "cublasLtMatmulAlgoConfigAttributes_t"]

# ---- Names ------------------------------------------------------------------------------------------------

ALIASES = {"trans_a": "transa", "trans_b": "transb", "atype": "a_type", "btype": "b_type", "ctype": "c_type",
           "datatype": "dtype", "batchcount": "batch_count"}
# Element types by the letter of a function's name, as BLAS has it.
LETTERS = {"S": "float32", "D": "float64", "C": "complex64", "Z": "complex128", "H": "float16"}
TYPE_WORDS = {"float": "float32", "double": "float64", "half": "float16", "f32": "float32", "f64": "float64",
              "f16": "float16", "bf16": "bfloat16", "s32": "int32", "s8": "int8", "u8": "uint8"}
LETTER_TYPES = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint"}


def key_of(name):
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    key = re.sub(r"_?desc(riptor)?$", "", key)
    return ALIASES.get(key, key)


def type_word(text):
    """An element type's enumerator in the words that xsp uses: R_16BF is bfloat16."""
    match = re.fullmatch(r"([RC])_(\d+)(F|BF|I|U)((?:_\w+)?)", text)
    if match:
        form, bits, letter, rest = match.groups()
        number = LETTER_TYPES[letter] + bits + rest.lower()
        return number if form == "R" else f"complex{2 * int(bits)}" if letter == "F" else "complex_" + number
    word = text.lower()
    return TYPE_WORDS.get(word, word)


def enumerators(declaration):
    """(value, name) of an enumeration, without what its names have in common; a value's first name holds."""
    members = [(m.enum_value, m.spelling) for m in declaration.get_children()
               if m.kind.name == "ENUM_CONSTANT_DECL"]
    members = [m for m in members if not re.search(r"_MAX$|_COUNT$|ForceWidth|NumTypes|NumOps", m[1])]
    common = os.path.commonprefix([name for _, name in members]) if len(members) > 1 else ""
    if "_" in common:
        common = common[:common.rindex("_") + 1]
    else:
        while common and not all(name[len(common):len(common) + 1].isupper() for _, name in members):
            common = common[:-1]
    is_type = re.search(r"data_?type", declaration.spelling or "", re.I)
    seen = {}
    for value, name in members:
        short = name[len(common):]
        seen.setdefault(value, type_word(short) if is_type else short)
    return sorted(seen.items())


def element_type(f):
    """Of a BLAS function, by its letter."""
    match = re.match(r"(?:cublas|cblas_)([SDCZHsdczh])(?![a-z]*Matmul)[a-z]", f.name)
    return LETTERS[match.group(1).upper()] if match and "Lt" not in f.name else ""


# ---- Parsing ----------------------------------------------------------------------------------------------


class Headers:
    """The functions and enumerations that a library's headers declare."""

    def __init__(self, clang, folders, headers):
        sys.path.insert(0, clang)
        from clang import cindex
        if not cindex.Config.loaded:
            cindex.Config.set_library_file(os.path.join(clang, "clang", "native", "libclang.so"))
        builtin = subprocess.run(["gcc", "-print-file-name=include"], capture_output=True, text=True,
                                 check=True)
        flags = ["-x", "c", "-I", "stubs", "-isystem", builtin.stdout.strip()]
        files = [("headers.c", "".join(f"#include <{h}>\n" for h in headers))]
        files += [(f"stubs/{name}", "") for name in STUBS]
        for folder in folders:
            flags += ["-I", folder]
        unit = cindex.Index.create().parse("headers.c", flags, unsaved_files=files)
        errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if errors:
            raise SystemExit(f"error: {headers[0]}: cannot be read: {errors[0]}: see tools/library_calls.py")
        self.functions, self.enums, self.values = {}, {}, {}
        for cursor in unit.cursor.get_children():
            if cursor.kind == cindex.CursorKind.FUNCTION_DECL:
                self.functions[cursor.spelling] = Function(cursor)
            elif cursor.kind == cindex.CursorKind.ENUM_DECL:
                self.add_enum(cursor.spelling, cursor)
            elif cursor.kind == cindex.CursorKind.TYPEDEF_DECL:
                under = cursor.underlying_typedef_type.get_canonical().get_declaration()
                if under.kind == cindex.CursorKind.ENUM_DECL:
                    self.add_enum(cursor.spelling, under)

    def add_enum(self, name, cursor):
        self.enums[name] = cursor
        for member in cursor.get_children():
            self.values[member.spelling] = member.enum_value


# ---- Writing ----------------------------------------------------------------------------------------------

C_TYPES = {"INT": "int32_t", "UINT": "uint32_t", "LONG": "int64_t", "LONGLONG": "int64_t",
           "ULONG": "uint64_t", "ULONGLONG": "uint64_t", "ENUM": "int32_t", "FLOAT": "float",
           "DOUBLE": "double", "CHAR_S": "char", "SCHAR": "signed char", "VOID": "void"}
INTEGERS = ("INT", "UINT", "LONG", "LONGLONG", "ULONG", "ULONGLONG")


def c_type(parameter, is_blas=False):
    if parameter.is_pointer:
        return "void*"
    # Some builds of a BLAS have integers of 64 bits behind the same name: the whole register is handed on.
    if is_blas and parameter.kind == "INT":
        return "int64_t"
    return C_TYPES.get(parameter.kind)


def why_left_out(f):
    if f.is_variadic:
        return "variable arguments"
    if any(c_type(p) is None for p in f.parameters + [f.result]):
        return "a struct by value"
    return None


class Writer:
    """One library's wrappers, as C++."""

    def __init__(self, library, headers, on_failure):
        self.library, self.headers, self.on_failure = library, headers, on_failure
        self.is_blas = library == "blas"
        self.fields = {}  # (key, type) -> name of the constant
        self.tables = {}  # enumeration -> name of the constant
        self.head, self.body = [], []

    def table(self, enum, declaration):
        if enum not in self.tables:
            self.tables[enum] = f"kNames_{re.sub(r'[^A-Za-z0-9_]', '_', enum)}"
            rows = ", ".join('{%d, "%s"}' % row for row in enumerators(declaration))
            self.head.append(f"constexpr Name {self.tables[enum]}[] = {{{rows}}};")
        return self.tables[enum]

    def field_text(self, key, kind, declaration=None):
        if kind in ("int", "list", "text", "char"):
            return f'{{"{key}", FieldKind::k{kind.capitalize()}, nullptr, 0}}'
        declaration = declaration or self.headers.enums[kind]
        table = self.table(kind, declaration)
        return f'{{"{key}", FieldKind::kEnum, {table}, std::size({table})}}'

    def field(self, key, kind, declaration=None):
        if (key, kind) not in self.fields:
            name = self.fields[(key, kind)] = f"kField{len(self.fields)}"
            text = self.field_text(key, kind, declaration)
            self.head.append(f"constexpr Field {name} = {text};")
        return self.fields[(key, kind)]

    def described(self, parameter):
        what, facts = DESCRIBED[parameter.type]
        prefix = key_of(parameter.name)
        key = (prefix, what)
        if key not in self.fields:
            name = self.fields[key] = f"kFields_{prefix}_{what}"
            rows = ",\n  ".join(self.field_text(k[1:] if k[0] == "=" else f"{prefix}_{k}", kind)
                                for k, kind in facts)
            self.head.append(f"constexpr Field {name}[] = {{\n  {rows}}};")
        return f"describe_{what}(&problem, function, {{}}, {self.fields[key]});"

    def notes(self, f):
        """The statements that note the problem, of the parameters a0, a1, ..."""
        for i, p in enumerate(f.parameters):
            if p.type in DESCRIBED:
                yield self.described(p).format(f"a{i}")
            elif p.kind == "ENUM":
                yield f"problem.add(&{self.field(key_of(p.name), p.type, p.declaration)}, a{i});"
            elif p.kind == "CHAR_S":
                yield f"problem.add(&{self.field(key_of(p.name), 'char')}, a{i});"
            elif p.kind in INTEGERS and not re.search(r"space|size_?in_?bytes", p.name, re.I):
                cast = "static_cast<int32_t>" if self.is_blas else "static_cast<int64_t>"
                yield f"problem.add(&{self.field(key_of(p.name), 'int')}, {cast}(a{i}));"

    def fortran_notes(self, f):
        for i, p in enumerate(f.parameters):
            if p.kind == "ENUM":
                yield f"problem.add(&{self.field(key_of(p.name), 'char')}, *static_cast<const char*>(a{i}));"
            elif p.kind in INTEGERS:
                value = f"*static_cast<const int32_t*>(a{i})"
                yield f"problem.add(&{self.field(key_of(p.name), 'int')}, {value});"

    def add(self, f):
        types = [c_type(p, self.is_blas) for p in f.parameters]
        self.emit(f.name, c_type(f.result), types, list(self.notes(f)), element_type(f), [])

    def add_fortran(self, f):
        """The Fortran symbol of the same routine: everything by address but the layout, which it has none of;
        a character's length, which C callers leave away, follows as a hidden argument."""
        f.parameters = [p for p in f.parameters if not re.fullmatch(r"CBLAS_(LAYOUT|ORDER)", p.type)]
        letters = sum(p.kind == "ENUM" for p in f.parameters)
        name = f.name.removeprefix("cblas_") + "_"
        self.emit(name, "void", ["void*"] * len(f.parameters), list(self.fortran_notes(f)), element_type(f),
                  ["size_t"] * letters)

    def emit(self, name, result, types, notes, dtype, hidden):
        given = ", ".join(f"{t} a{i}" for i, t in enumerate(types))
        passed = ", ".join([f"a{i}" for i in range(len(types))] + ["1"] * len(hidden))
        failure = "return;" if result == "void" else f"return static_cast<{result}>({self.on_failure});"
        keep = "" if result == "void" else "const auto result = "
        give = "" if result == "void" else "  return result;"
        lines = [
            f'Function f_{name} = {{"{name}", "{self.library}", "{dtype}", {{}}, {{}}}};', "}  // namespace",
            f'extern "C" XSP_API {result} {name}({given}) {{',
            f"  using Real = {result}({', '.join(types + hidden)});",
            f"  Function* function = &f_{name};",
            "  Real* real = real_of<Real>(function, __builtin_return_address(0));",
            f"  if (real == nullptr) {failure}",
            f"  if (!is_recorded()) return real({passed});",
            "  Problem problem;"] + ["  " + note for note in notes] + [
            "  xsp_span span = begin(function, problem);",
            f"  {keep}real({passed});", "  xsp_end(&span);"] + ([give] if give else []) + ["}", "namespace {"]
        self.body += lines

    def text(self):
        return "\n".join(
            [f"// The wrappers of {self.library}, written by tools/library_calls.py from its headers.",
             '#include <iterator>', '#include "collectors/library_calls/call.h"',
             '#include "collectors/library_calls/describe.h"', "",
             "namespace xsp::library_calls {", "namespace {"] + self.head + self.body +
            ["}  // namespace", "}  // namespace xsp::library_calls", ""])


def enumerations_text(all_headers):
    lines = ["// Values that the descriptions need, written by tools/library_calls.py from the headers.",
             "#ifndef XSP_LIBRARY_CALLS_HEADERS_H_", "#define XSP_LIBRARY_CALLS_HEADERS_H_", "",
             "namespace xsp::library_calls {", ""]
    for name in ENUMERATIONS:
        for headers in all_headers.values():
            if name in headers.enums:
                members = headers.enums[name].get_children()
                rows = [f"  {m.spelling} = {m.enum_value}," for m in members]
                lines += [f"enum {name} {{"] + rows + ["};", ""]
                break
        else:
            raise SystemExit(f"error: {name}: no header has this enumeration: see tools/library_calls.py")
    return "\n".join(lines + ["}  // namespace xsp::library_calls", "", "#endif", ""])


def split(headers, library):
    """(wrapped, plumbing, {name: why left out}) of a library's functions."""
    prefix, _, is_work, _ = LIBRARIES[library]
    wrapped, plumbing, left_out = [], [], {}
    for name, f in sorted(headers.functions.items()):
        if not re.match(prefix, name):
            continue
        if not is_work(f):
            plumbing.append(f)
        elif why_left_out(f):
            left_out[name] = why_left_out(f)
        else:
            wrapped.append(f)
    return wrapped, plumbing, left_out


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return
    with open(path, "w") as file:
        file.write(text)


def generate(args):
    os.makedirs(args.out, exist_ok=True)
    all_headers = {}
    for library, (_, names, _, failure) in LIBRARIES.items():
        headers = all_headers[library] = Headers(args.clang, args.include, names)
        wrapped, plumbing, left_out = split(headers, library)
        writer = Writer(library, headers, headers.values.get(failure, 0))
        for f in wrapped:
            writer.add(f)
        if library == "blas":
            for f in wrapped:
                writer.add_fortran(f)
        write_if_changed(os.path.join(args.out, f"{library}.cc"), writer.text())
        why = "".join(f", {n} with {reason}" for reason, n in Counter(left_out.values()).items())
        print(f"library calls: {library}: {len(wrapped)} functions wrapped, {len(plumbing)} set things up, "
              f"{len(left_out)} left out{why}")
        if args.list:
            print("\n".join(f"  {f.name}({', '.join(f.types)})" for f in wrapped))
            print("  plumbing: " + " ".join(f.name for f in plumbing))
    write_if_changed(os.path.join(args.out, "headers.h"), enumerations_text(all_headers))


def compare(args):
    """Functions that two versions of the headers declare differently: a wrapper would serve one alone."""
    differing = 0
    for library, (_, names, _, _) in LIBRARIES.items():
        both = []
        for folders in (args.include, args.other):
            try:
                both.append({f.name: f for f in split(Headers(args.clang, folders, names), library)[0]})
            except SystemExit as error:
                print(f"{library}: not compared: {error}")
        if len(both) < 2:
            continue
        old, new = both
        for name in sorted(old.keys() & new.keys()):
            if old[name].signature() != new[name].signature():
                print(f"{library}: {name}: {old[name].types} is now {new[name].types}")
                differing += 1
        print(f"{library}: {len(old.keys() & new.keys())} in both, only in the first: "
              f"{' '.join(sorted(old.keys() - new.keys())) or 'none'}; only in the second: "
              f"{len(new.keys() - old.keys())}")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="where to write")
    parser.add_argument("--clang", required=True, help="the folder that holds the Python package clang")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers; may be repeated")
    parser.add_argument("--list", action="store_true", help="print what is wrapped, and what is not")
    parser.add_argument("--compare", action="store_true", help="compare with the headers in --with")
    parser.add_argument("--with", dest="other", action="append", default=[],
                        help="as --include, for --compare")
    args = parser.parse_args()
    if args.compare:
        return compare(args)
    generate(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
