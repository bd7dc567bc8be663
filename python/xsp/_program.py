"""The xsp program: finds it and runs it.

Python asks the program (xsp analyze --format json), so every analysis has one implementation, and the package
needs nothing besides Python. Refused: DuckDB's Python package, which would have to be of the file's version,
and has none of xsp's macros. A recorded block becomes a file by `xsp import` for the same reason.
"""

import json
import os
import shutil
import subprocess

_here = os.path.dirname(os.path.abspath(__file__))


def path():
    """Returns the program that this package came with, else the one in $XSP_PROGRAM or in PATH."""
    candidates = [
        os.environ.get("XSP_PROGRAM", ""),
        os.path.join(_here, "tree", "bin", "xsp"),  # in a wheel
        os.path.join(_here, "..", "..", "..", "..", "bin", "xsp"),  # in an installed tree
        shutil.which("xsp") or "",
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    raise FileNotFoundError("the xsp program was not found: set XSP_PROGRAM to its path")


def run(*arguments):
    """Runs the program and returns its output. Raises RuntimeError with its message if it fails."""
    # The program must not be recorded, even if this process is.
    environment = {key: value for key, value in os.environ.items() if key != "XSP_RUN"}
    done = subprocess.run(
        [path(), *arguments], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise RuntimeError(last[0][7:] if last[0].startswith("error: ") else last[0])
    return done.stdout


def rows(*arguments):
    """Returns the program's answer as a list of dicts."""
    return json.loads(run(*arguments, "--format", "json"))
