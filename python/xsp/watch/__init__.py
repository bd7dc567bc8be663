"""What `xsp run` records of Python's frameworks.

The place of a file is the name of the module that it watches: `torch/_dynamo.py` watches `torch._dynamo`,
and `onnxruntime.py` watches `onnxruntime`. Its function `install(module)` is called after the import of that
module has ended, and `begin(module)`, if it has one, before. Files with neither are shared by those beside
them. The C code that a framework needs lies beside them, too.
"""

import os


def watched():
    """Returns the names of the watched modules; finding them imports nothing."""
    names, folders = set(), [(os.path.dirname(__file__), "")]
    while folders:
        folder, package = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name == "__init__.py":
                    names.add(package[:-1])
                elif entry.name.endswith(".py"):
                    names.add(package + entry.name[:-3])
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append((entry.path, package + entry.name + "."))
    return names - {""}
