"""The declarations in the headers, as libclang reads them.

libclang (a pinned wheel) knows C as the compiler does. Refused: regular expressions; pycparser, which needs
CUDA's headers rewritten before it reads them; Debian's python3-clang, which brings 300 MB of LLVM along.
The headers come out of the libraries' own wheels (1.4 GB once, of which 3 MB are kept), because no registry
in use publishes them alone. One build serves every CUDA: no function has another signature in CUDA 12
(tools/library_calls --compare).
"""

import os
import re
import subprocess
import sys

# These headers hold arithmetic on the device. No signature needs it, and it needs still more headers.
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
        self.twin_of = None  # for a Fortran symbol: the C function from which it is derived

    def first_is(self, *types):
        return bool(self.types) and self.types[0] in types

    def signature(self):
        return (self.result.kind, self.is_variadic) + tuple(p.kind for p in self.parameters)


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
            raise SystemExit(f"error: {headers[0]}: cannot be read: {errors[0]}: see tools/library_calls")
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
