"""magika's types of files, on files of this machine whose names say their type."""
import json
import pathlib
import sys
import sysconfig

import magika

from accuracy import Case

MOST_OF_A_LABEL = 25
LEAST_BYTES = 16  # the original does not ask its model about fewer than 8
MOST_BYTES = 4 << 20
ROOTS = ["/usr/include", "/usr/lib", "/usr/share"]


def labels_by_extension():
    """Returns the extensions that magika's own table has for exactly one of the model's labels."""
    home = pathlib.Path(magika.__file__).parent
    known = json.loads((home / "config/content_types_kb.min.json").read_text())
    config = json.loads((home / "models/standard_v3_3/config.min.json").read_text())
    found = {}
    for name in known:
        for extension in known[name].get("extensions") or []:
            found.setdefault(extension, []).append(name)
    return {extension: names[0] for extension, names in found.items()
            if len(names) == 1 and names[0] in config["target_labels_space"]}


def spread(paths):
    """Returns a few of them, from everywhere in the list."""
    step = max(1, len(paths) / MOST_OF_A_LABEL)
    return [paths[int(i * step)] for i in range(min(MOST_OF_A_LABEL, len(paths)))]


def is_usable(path):
    return (path.is_file() and not path.is_symlink() and LEAST_BYTES <= path.stat().st_size <= MOST_BYTES
            and "\t" not in str(path) and str(path).isascii())


def files():
    labels = labels_by_extension()
    by_label, contents = {}, set()
    for root in [*ROOTS, sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"]]:
        for path in sorted(pathlib.Path(root).rglob("*.*")):
            label = labels.get(path.suffix[1:])
            if label and is_usable(path):
                by_label.setdefault(label, []).append(path)
    chosen = []
    for label, paths in sorted(by_label.items()):
        for path in spread(paths):
            content = path.read_bytes()
            if content not in contents:
                contents.add(content)
                chosen.append((path, label))
    return chosen


def make(folder):
    chosen = files()
    lines = ["file\tlabel"] + [f"{path}\t{label}" for path, label in chosen]
    (folder / "files.tsv").write_text("\n".join(lines) + "\n")
    model = magika.Magika(prediction_mode=magika.PredictionMode.BEST_GUESS)
    # One by one, as xsp does: sums over a batch are rounded otherwise.
    results = [model.identify_path(path) for path, _ in chosen]
    original = [(str(result.dl.label), float(result.score)) for result in results]
    count = len({label for _, label in chosen})
    return Case("magika", str(folder / "files.tsv"), original,
                "PyPI's magika 1.0.3",
                f"{len(chosen)} files of a Debian 12 with Python {sys.version_info[0]}."
                f"{sys.version_info[1]}, of {count} types. A file's label is the one type that magika's own "
                "table has for its extension, which is not always what the file is",
                "Magika.identify_path, the model's own label (dl)")
