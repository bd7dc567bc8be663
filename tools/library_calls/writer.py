"""Writes the wrappers of one library, as C++."""

import re

from names import element_type, enumerators, key_of
from rules import DESCRIBED, ENUMERATIONS, FORGETS, KEEPS, LEFT_AWAY

C_TYPES = {"INT": "int32_t", "UINT": "uint32_t", "LONG": "int64_t", "LONGLONG": "int64_t",
           "ULONG": "uint64_t", "ULONGLONG": "uint64_t", "ENUM": "int32_t", "FLOAT": "float",
           "DOUBLE": "double", "CHAR_S": "char", "SCHAR": "signed char", "VOID": "void"}
INTEGERS = ("INT", "UINT", "LONG", "LONGLONG", "ULONG", "ULONGLONG")


def c_type(parameter, is_blas=False):
    if parameter.is_pointer:
        return "void*"
    # Some builds of a BLAS have 64-bit integers behind the same name: the whole register is passed on.
    if is_blas and parameter.kind == "INT":
        return "int64_t"
    return C_TYPES.get(parameter.kind)


def why_left_out(f):
    if f.is_variadic:
        return "variable arguments"
    if any(c_type(p) is None for p in f.parameters + [f.result]):
        return "a struct by value"
    return None


def description_of(parameter):
    return DESCRIBED.get(f"{parameter.type} {parameter.name}", DESCRIBED.get(parameter.type))


def kept_by(f):
    return next((keep for pattern, keep in KEEPS.items() if re.match(pattern, f.name)), None)


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
        what, facts = description_of(parameter)
        if not facts:
            return f"describe_{what}(&problem, function, {{}});"
        prefix = key_of(parameter.name)
        key = (prefix, what)
        if key not in self.fields:
            name = self.fields[key] = f"kFields_{prefix}_{what}"
            rows = ",\n  ".join(self.field_text(k[1:] if k[0] == "=" else f"{prefix}_{k}", kind)
                                for k, kind in facts)
            self.head.append(f"constexpr Field {name}[] = {{\n  {rows}}};")
        return f"describe_{what}(&problem, function, {{}}, {self.fields[key]});"

    def notes(self, f):
        """Returns the statements that note the problem, from the parameters a0, a1, ..."""
        for i, p in enumerate(f.parameters):
            element = {"int *": "int32_t", "long long *": "int64_t"}.get(p.type)
            if p.name == "n" and element and "rank" in f.names:
                rank = f.names.index("rank")
                field = self.field("n", "list")
                yield f"add_list(&problem, &{field}, static_cast<{element}*>(a{i}), a{rank});"
            elif description_of(p) and not (p.type == "cufftHandle" and kept_by(f)):
                yield self.described(p).format(f"a{i}")
            elif p.type == "cufftHandle":
                continue  # its number has no meaning
            elif p.kind == "ENUM":
                yield f"problem.add(&{self.field(key_of(p.name), p.type, p.declaration)}, a{i});"
            elif p.kind == "CHAR_S":
                yield f"problem.add(&{self.field(key_of(p.name), 'char')}, a{i});"
            elif p.kind in INTEGERS and not re.search(LEFT_AWAY, p.name, re.I):
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
        after = []
        if kept_by(f):
            plan = "*static_cast<const int32_t*>(a0)" if f.parameters[0].is_pointer else "a0"
            after = [f"if (result == 0) {kept_by(f)}({plan}, problem);"]
        for name in self.symbols(f.name):
            self.emit(name, c_type(f.result), types, list(self.notes(f)), element_type(f), [],
                      after)

    def symbols(self, name):
        """Returns the names under which builds of the library export a function.

        The OpenBLAS in PyPI's SciPy and NumPy has a prefix, and NumPy's a suffix for its 64-bit integers.
        Their lower half is noted, as everywhere: it is the whole number of any matrix's side.
        """
        if not self.is_blas:
            return [name]
        return [name, f"scipy_{name}", f"scipy_{name}64_"]

    def add_forgetting(self, f):
        """Handles an object that is gone after the call: the facts that were kept about it no longer hold."""
        types = [c_type(p) for p in f.parameters]
        given = ", ".join(f"{t} a{i}" for i, t in enumerate(types))
        result = c_type(f.result)
        self.body += [
            f'Function f_{f.name} = {{"{f.name}", "{self.library}", "", {{}}, {{}}}};', "}  // namespace",
            f'extern "C" XSP_API {result} {f.name}({given}) {{',
            f"  using Real = {result}({', '.join(types)});",
            f"  Real* real = real_of<Real>(&f_{f.name}, __builtin_return_address(0));",
            f"  if (real == nullptr) return static_cast<{result}>({self.on_failure});",
            f"  {FORGETS[f.name]}(a0);",
            f"  return real({', '.join(f'a{i}' for i in range(len(types)))});", "}", "namespace {"]

    def add_fortran(self, f):
        """Wraps the Fortran symbol of the same routine. It takes everything by address except the layout,
        which it does not have. A character's length, which C callers leave out, follows as a hidden
        argument.
        """
        f.parameters = [p for p in f.parameters if not re.fullmatch(r"CBLAS_(LAYOUT|ORDER)", p.type)]
        letters = sum(p.kind == "ENUM" for p in f.parameters)
        for name in self.symbols(f.name.removeprefix("cblas_") + "_"):
            self.emit(name, "void", ["void*"] * len(f.parameters), list(self.fortran_notes(f)),
                      element_type(f), ["size_t"] * letters)

    def emit(self, name, result, types, notes, dtype, hidden, after=()):
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
            f"  {keep}real({passed});", "  xsp_end(&span);"]
        lines += ["  " + line for line in after] + ([give] if give else []) + ["}", "namespace {"]
        self.body += lines

    def text(self):
        return "\n".join(
            [f"// The wrappers of {self.library}, written by tools/library_calls from its headers.",
             '#include <iterator>', '#include "collectors/library_calls/call.h"',
             '#include "collectors/library_calls/describe.h"', "",
             "namespace xsp::library_calls {", "namespace {"] + self.head + self.body +
            ["}  // namespace", "}  // namespace xsp::library_calls", ""])


def enumerations_text(all_headers):
    lines = ["// Values that the descriptions need, written by tools/library_calls from the headers.",
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
            raise SystemExit(f"error: {name}: no header has this enumeration: see tools/library_calls")
    return "\n".join(lines + ["}  // namespace xsp::library_calls", "", "#endif", ""])
