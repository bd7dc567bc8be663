"""The build backend of the wheel (PEP 517): packs an installed tree of xsp.

The package is the tree's Python package, with the whole tree below it (xsp/tree), so that the wheel also
has the program, and a command `xsp` that runs it.
"""

import base64
import hashlib
import os
import subprocess
import zipfile

_TAG = "cp38-abi3-manylinux_2_36_x86_64"  # the stable ABI, and the C library of Debian 12
_LEFT_OUT = ("share/doc/",)  # parts of the tree that the package does not need
_COMMAND = """import os
import sys

from xsp import _program


def main():
    program = _program.path()
    # The models of this environment's frameworks are those that its user means.
    os.environ.setdefault("XSP_PYTHON", sys.executable)
    os.execv(program, ["xsp", *sys.argv[1:]])
"""


def _tree_of(config_settings):
    tree = (config_settings or {}).get("tree") or os.environ.get("XSP_TREE")
    if not tree or not os.access(os.path.join(tree, "bin", "xsp"), os.X_OK):
        raise RuntimeError(f"{tree or 'no tree'}: not an installed xsp: give -C tree=FOLDER")
    return os.path.abspath(tree)


def _version_of(tree):
    program = os.path.join(tree, "bin", "xsp")
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()


def _files_below(top):
    """Yields each file's place below a folder, and its path; no compiled Python."""
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if not name.endswith(".pyc"):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, top), path


def _files_of(tree):
    """Yields each file's place in the wheel, and its path."""
    for place, path in _files_below(os.path.join(tree, "lib", "xsp", "python", "xsp")):
        yield f"xsp/{place}", path
    for place, path in _files_below(tree):
        if not place.startswith(_LEFT_OUT):
            yield f"xsp/tree/{place}", path


class _Wheel:
    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._record = []

    def add(self, place, content, mode):
        info = zipfile.ZipInfo(place, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{place},sha256={digest},{len(content)}")

    def finish(self, folder):
        self._record.append(f"{folder}/RECORD,,")
        self.add(f"{folder}/RECORD", ("\n".join(self._record) + "\n").encode(), 0o644)
        self._zip.close()


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tree = _tree_of(config_settings)
    version = _version_of(tree)
    name = f"xsp-{version}-{_TAG}.whl"
    wheel = _Wheel(os.path.join(wheel_directory, name))
    for place, path in _files_of(tree):
        with open(path, "rb") as file:
            wheel.add(place, file.read(), 0o755 if os.access(path, os.X_OK) else 0o644)
    wheel.add("xsp/_command.py", _COMMAND.encode(), 0o644)
    info = f"xsp-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: xsp\nVersion: {version}\nRequires-Python: >=3.8\n"
        "Summary: An across-stack profiler for machine-learning models\n"
    )
    wheel.add(f"{info}/METADATA", metadata.encode(), 0o644)
    about = f"Wheel-Version: 1.0\nGenerator: xsp\nRoot-Is-Purelib: false\nTag: {_TAG}\n"
    wheel.add(f"{info}/WHEEL", about.encode(), 0o644)
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nxsp = xsp._command:main\n", 0o644)
    wheel.finish(info)
    return name
