#!/usr/bin/env python3
"""Style and layering, run as a test.

  tools/tidy.py               checks every tracked file; prints one line per finding; exits 1 if any
  tools/tidy.py --self-test   feeds every rule something bad and something good

A rule is a function over one file, or over the tree, which yields findings. The arrows between modules
come from the tables of docs/architecture.md, so that the page cannot rot.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field

CODE = (".cc", ".h", ".hpp", ".c")
LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = {".cc": 100, ".h": 100, ".hpp": 100, ".c": 100, ".py": 110, ".sh": 130, ".sql": 120,
               ".cmake": 120, ".md": 160, ".ts": 120, ".svelte": 180}
BYTES_MAX = 256 * 1024
BYTES_MAX_TEST_DATA = 1024 * 1024
BYTES_MAX_EVALUATION = 2 * 1024 * 1024  # packed, below results/
BYTES_MAX_PAGE = 1024 * 1024  # of a site below results/, which grows by model
# These folders are not xsp's own text: data, and files of others as they are.
UNTIDY = ("tests/fuzz/corpus/", "tests/data/", "third_party/")

# Words that must not appear in the tree, and the reasons. They are built from parts, so that this file
# passes.
BANNED = [
    (re.compile(r"/(?:work|farm|root)/"), "a path of somebody's machine"),
    (re.compile(r"(?:registry\.npmjs|pypi\.|files\.pythonhosted|repo\.maven|repo1\.maven|deb\.deb" r"ian)"),
     "a registry's host name"),
    (re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b"), "unfinished business: finish it or file it"),
]
BANNED_CODE = [
    (re.compile(r"^\s*using namespace\b"), "using namespace"),
    (re.compile(r"#pragma once"), "#pragma once: use a guard"),
    (re.compile(r"\bstd::endl\b"), "std::endl: write '\\n'"),
    (re.compile(r"#\s*if(?:def|\s+defined).*(?:ONNX|TORCH|TENSORFLOW|CUDA|CUPTI)"),
     "a framework's #ifdef in shared code: it belongs in its plugin"),
]
# Only these places may catch exceptions: foreign code throws, xsp's own does not.
CATCH_HOMES = ("src/shared/base/guard.h", "src/desk/cli/main.cc")


@dataclass
class Architecture:
    """The tables of docs/architecture.md."""
    modules: dict = field(default_factory=dict)  # name -> (folder, may use, faces)
    homes: dict = field(default_factory=dict)  # header prefix -> folders


def table_rows(text, heading):
    """Returns the rows of the Markdown table whose first column is called `heading`, as cells."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] == heading:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(cells[0]) <= set("-"):
            rows.append(cells)
    return rows


def read_architecture(text):
    result = Architecture()
    for module, folder, uses, faces in table_rows(text, "module"):
        result.modules[module] = (folder, uses.split(), faces.split())
    for headers, home in table_rows(text, "header"):
        result.homes.update({header: home.split() for header in headers.split()})
    return result


def module_of(path, architecture):
    for name, (folder, _, _) in architecture.modules.items():
        if path.startswith(folder + "/"):
            return name
    return None


def included_module(header, architecture):
    """Returns the module that `#include "header"` enters, or None."""
    for name, (folder, _, _) in architecture.modules.items():
        prefix = folder.removeprefix("src/").removeprefix("include/") + "/"
        if header.startswith(prefix):
            return name
    return None


def check_includes(path, text, architecture):
    """Includes go only downward, only to a face, and third-party headers are only in their home."""
    me = module_of(path, architecture)
    is_test = (path.endswith("_test.cc") or path.startswith(("tests/", "bench/", "examples/"))
               or path.endswith(".h") and "#include <gtest/" in text)
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if not match:
            continue
        header = match.group(1)
        for prefix, homes in architecture.homes.items():
            if header.startswith(prefix) and not path.startswith(tuple(h + "/" for h in homes)):
                yield number, f"{header} is at home in {', '.join(homes)} alone"
        target = included_module(header, architecture)
        if me is None or target is None or target == me:
            continue
        _, uses, _ = architecture.modules[me]
        if target not in uses:
            if not is_test:
                yield number, f"{me} may not use {target} (docs/architecture.md)"
            continue
        faces = architecture.modules[target][2]
        if "*" not in faces and header not in faces and not is_test:
            yield number, f"{header} is not a face of {target} (docs/architecture.md)"


def check_lengths(path, text, _):
    extension = os.path.splitext(path)[1]
    lines = text.splitlines()
    if extension in CODE + (".py", ".sh", ".ts", ".svelte") and len(lines) > LINES_MAX:
        yield 1, f"{len(lines)} lines: over {LINES_MAX}, it holds two things"
    limit = COLUMNS_MAX.get(extension)
    for number, line in enumerate(lines, 1):
        is_row = extension == ".md" and line.startswith("|")
        if limit and len(line) > limit and "http" not in line and not is_row:
            yield number, f"{len(line)} columns: over {limit}"
        if line.rstrip() != line:
            yield number, "white space at the end of the line"


def strip_noncode(text):
    """Blanks comments and literals, and keeps the line structure."""
    pattern = re.compile(
        r'R"(\w*(?:-\w+)*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
        r"|//[^\n]*|/\*(?:.|\n)*?\*/")
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def check_functions(path, text, _):
    """Functions are at most 70 lines, from the line with the opening brace to its closing one."""
    if not path.endswith(CODE):
        return
    stack = []  # (line, whether the brace opens a function)
    statement = ""
    for number, line in enumerate(strip_noncode(text).splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for c in line:
            if c == "{":
                head = statement.strip()
                is_scope = re.match(r"(?:inline\s+)?(?:namespace|extern|class|struct|enum|union)\b", head)
                inside = any(function for _, function in stack)
                stack.append((number, "(" in head and not is_scope and not inside))
                statement = ""
            elif c == "}":
                if stack:
                    start, function = stack.pop()
                    if function and number - start + 1 > FUNCTION_LINES_MAX:
                        yield start, f"a function of {number - start + 1} lines: over {FUNCTION_LINES_MAX}"
                statement = ""
            elif c == ";":
                statement = ""
            else:
                statement += c
        statement += " "


def check_words(path, text, _):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, why in BANNED:
            if pattern.search(line):
                yield number, why
        if path.endswith(CODE):
            for pattern, why in BANNED_CODE:
                if pattern.search(line):
                    yield number, why


def check_catch(path, text, _):
    if not path.startswith("src/") or path in CATCH_HOMES:
        return
    for number, line in enumerate(strip_noncode(text).splitlines(), 1):
        if re.search(r"\bcatch\s*\(", line):
            yield number, f"catch belongs in {CATCH_HOMES[0]} alone"


def check_guard(path, text, _):
    if not path.endswith((".h", ".hpp")):
        return
    name = path.removeprefix("src/").removeprefix("include/")
    guard = re.sub(r"[^A-Za-z0-9]", "_", name).upper() + "_"
    if not guard.startswith("XSP_"):
        guard = "XSP_" + guard
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        yield 1, f"the guard should be {guard}"


def check_markdown(path, text, _):
    if path.endswith(".md"):
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        titles = re.findall(r"^# ", prose, flags=re.M)
        if len(titles) != 1:
            yield 1, f"{len(titles)} first-level headings: a page has one"


FILE_RULES = [check_includes, check_lengths, check_functions, check_words, check_catch, check_guard,
              check_markdown]


def check_tree(paths, sizes):
    """Checks rules about the set of files."""
    present = set(paths)
    for path in paths:
        if (path.startswith("analyses/") and path.endswith(".sql")
                and not os.path.basename(path).startswith("prelude")):
            if path.removesuffix(".sql") + ".test" not in present:
                yield path, 1, "an analysis needs its .test beside it"
        limit = BYTES_MAX_TEST_DATA if path.startswith(UNTIDY) else BYTES_MAX
        if path.startswith("results/") and path.endswith(".xsp.xz"):
            limit = BYTES_MAX_EVALUATION
        if path.startswith("results/") and path.endswith(".html"):
            limit = BYTES_MAX_PAGE
        if sizes.get(path, 0) > limit and not path.endswith((".png", ".svg")):
            yield path, 1, f"{sizes[path]} bytes: over {limit}"
    architecture_lines = sizes.get("docs/architecture.md:lines", 0)
    if architecture_lines > 120:
        yield "docs/architecture.md", 1, f"{architecture_lines} lines: it is one page"


def tracked_files():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True,
                         text=True).stdout
    return [path for path in out.splitlines() if os.path.isfile(path)]


def read_text(path):
    with open(path, "rb") as file:
        data = file.read()
    return None if b"\0" in data else data.decode("utf-8", errors="replace")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    architecture = read_architecture(read_text("docs/architecture.md"))
    paths = tracked_files()
    sizes = {path: os.path.getsize(path) for path in paths}
    sizes["docs/architecture.md:lines"] = len(read_text("docs/architecture.md").splitlines())
    findings = list(check_tree(paths, sizes))
    for name, (folder, _, _) in architecture.modules.items():
        if not os.path.isdir(folder):
            findings.append(("docs/architecture.md", 1, f"module {name}: there is no folder {folder}"))
    for path in paths:
        text = read_text(path)
        if text is None or path == "LICENSE" or path.startswith(UNTIDY):
            continue
        for rule in FILE_RULES:
            findings.extend((path, number, why) for number, why in rule(path, text, architecture))
    for path, number, why in findings:
        print(f"{path}:{number}: {why}")
    print(f"tidy: {len(paths)} files, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


def self_test():
    architecture = read_architecture(
        "| module | folder | may use | faces |\n|---|---|---|---|\n| base | src/base | | * |\n"
        "| store | src/store | base | store/face.h |\n| cli | src/cli | base store | |\n\n"
        "| header | home |\n|---|---|\n| duckdb.h | src/store |\n")
    long_function = "int f() {\n" + "  g();\n" * 80 + "}\n"
    cases = [  # rule, path, bad text, good text
        (check_includes, "src/base/a.cc", '#include "store/face.h"\n', '#include "base/b.h"\n'),
        (check_includes, "src/cli/a.cc", '#include "store/inner.h"\n', '#include "store/face.h"\n'),
        (check_includes, "src/cli/a.cc", "#include <duckdb.h>\n", "#include <vector>\n"),
        (check_includes, "src/cli/a.cc", '#include <gtest/gtest.h>\n#include "store/inner.h"\n', "f();\n"),
        (check_includes, "src/cli/a.h", '#include "store/inner.h"\n',
         '#include <gtest/gtest.h>\n#include "store/inner.h"\n'),
        (check_lengths, "a.cc", "x\n" * 501, "x\n" * 500),
        (check_lengths, "a.cc", "x" * 101 + "\n", "x" * 100 + "\n"),
        (check_lengths, "a.cc", "x \n", "x\n"),
        (check_functions, "a.cc", long_function, "struct S {\n" + "  int x;\n" * 80 + "};\n"),
        (check_functions, "a.cc", "namespace n {\n" + long_function + "}\n", "int f() {\n  g();\n}\n"),
        (check_words, "a.cc", "// TO" "DO: later\n", "// done\n"),
        (check_words, "a.md", "see /wo" "rk/main\n", "see ./main\n"),
        (check_words, "a.cc", "using namespace std;\n", "using std::swap;\n"),
        (check_catch, "src/base/a.cc", "try { f(); } catch (...) {}\n", "// catch (it)\n"),
        (check_guard, "src/base/a.h", "#ifndef A\n#define A\n#endif\n",
         "#ifndef XSP_BASE_A_H_\n#define XSP_BASE_A_H_\n#endif\n"),
        (check_markdown, "a.md", "# A\n# B\n", "# A\n## B\n"),
    ]
    failures = 0
    for rule, path, bad, good in cases:
        if not list(rule(path, bad, architecture)):
            print(f"{rule.__name__} missed: {bad[:60]!r}")
            failures += 1
        for number, why in rule(path, good, architecture):
            print(f"{rule.__name__} objects at line {number} to: {good[:60]!r}: {why}")
            failures += 1
    tested = ["analyses/a.sql", "analyses/a.test"]
    shared = ["analyses/prelude_1.sql", "analyses/a/prelude_1.sql"]
    untested = [path for path, _, _ in check_tree(tested[:1] + ["analyses/a/b.sql"], {})]
    if untested != ["analyses/a.sql", "analyses/a/b.sql"] or list(check_tree(tested + shared, {})):
        print("check_tree is wrong about tests of analyses")
        failures += 1
    print(f"tidy: {len(cases) + 1} rules' cases, {failures} failures", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(self_test() if "--self-test" in sys.argv else main())
