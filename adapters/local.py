"""What the helpers NAME_local.py share: the user's Python file, and how a helper answers.

A helper is run with the Python of the user's environment. In it, a comment `# imports: jax flax` has the
packages whose import tells that a file uses its framework. Exit status: 0; 1 failed; 4 the framework is not
there, or the model is none of its; 5 the file uses other frameworks. The reason is the last line.
"""

import ast
import importlib.util
import os
import sys

NOT_AVAILABLE = 4
NOT_MINE = 5


class Failure(Exception):
    """One line that says what failed, and why; `status` is the exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def packages_of(helper):
    """Returns the packages of a helper's comment."""
    with open(helper, encoding="utf-8") as file:
        line = next((line for line in file if line.startswith("# imports:")), "# imports:")
    return set(line.removeprefix("# imports:").split())


def imported(path):
    """Returns the packages that a Python file imports, anywhere in it."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError) as error:
        raise Failure(f"{path}: cannot be read: {first_line(error)}") from error
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


def require_mine(path, helper):
    """Raises NOT_MINE if the file imports only frameworks of other helpers. One that imports none may do so
    by another file.
    """
    names = imported(path)
    if names & packages_of(helper):
        return
    folder = os.path.dirname(os.path.realpath(__file__))
    others = [name for name in os.listdir(folder) if name.endswith("_local.py")]
    if any(names & packages_of(os.path.join(folder, name)) for name in others):
        raise Failure(f"{path}: uses another framework", NOT_MINE)


def loaded(path, function):
    """Returns what a function of a Python file returns."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    made = getattr(module, function, None)
    if not callable(made):
        names = [name for name, value in vars(module).items()
                 if callable(value) and getattr(value, "__module__", None) == spec.name]
        raise Failure(f"{path}: has no function {function}: name one of {', '.join(names) or 'its own'}")
    return made()


def split_made(made):
    """Returns the model and the example inputs (None: there are none) of what a function returned."""
    return made if isinstance(made, tuple) and len(made) == 2 else (made, None)


def save_input(name, array, folder):
    """Writes an example input, and tells of it."""
    import numpy
    file = os.path.join(folder, f"input{len(os.listdir(folder))}.npy")
    numpy.save(file, numpy.asarray(array))
    print(f"input\t{name}=@{file}")


def run(usage, commands, words):
    """Runs the command that the words name; `commands` has the number of its words and its function."""
    try:
        count, command = commands.get(words[0] if words else "", (0, None))
        if command is None or len(words) != count:
            print(usage, file=sys.stderr)
            return 2
        command(*words[1:])
        return 0
    except Failure as failure:
        print(f"{failure}")
        return failure.status
    except Exception as error:  # a user's file may throw anything
        print(f"{words[1] if len(words) > 1 else os.path.basename(sys.argv[0])}: {first_line(error)}")
        return 1
