#!/usr/bin/env python3
"""Writes docs/zoo.md: each model that a manifest describes, its size, and what the literature states.

    tools/zoo_table.py --count [MODEL ...]     counts the modules of recipes, for their manifests
    tools/zoo_table.py --export [MODEL ...]    exports models, into zoo/measured.csv
    tools/zoo_table.py --measure [MODEL ...]   profiles them, too
    tools/zoo_table.py [--check]               writes the table, or compares it

All but the last need the packages of tools/networks/requirements.txt. A module is counted without its
weights: the multiply-accumulates are those that PyTorch's own counter finds at batch 1, a witness of the
flops that xsp's analysis finds in the layers of a profile. Models whose weights do not fit into this
machine's memory are counted, and not exported.

--check runs no model. It prints a line for each fault, and exits with 1: a page that is not the table; a
manifest of a model that was not measured, or that has another size; a recipe that no exporter has; a figure
that contradicts the literature without a note.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "zoo/measured.csv"
PAGE = ROOT / "docs/zoo.md"
FIELDS = ("model", "parameters", "macs", "exported", "file_bytes", "layers", "flops", "unknown",
          "framework", "date", "command", "note")
BEGIN, END = "<!-- generated -->\n", "<!-- end -->"
# A figure that differs by more from the literature's needs a note.
TOLERANCE = 0.015
# While a model is exported, memory holds its weights, those of the exported one, and those that are written.
EXPORT_COPIES = 3


def models_of(xsp):
    """Returns the shipped models that have a size, which are those with a topology and no weights."""
    done = subprocess.run([xsp, "models", "--list", "--format", "json"], capture_output=True, text=True,
                          check=True, env={**os.environ, "XSP_MANIFESTS": ""})
    return [model for model in json.loads(done.stdout) if "parameters" in model]


def recipe_of(model):
    kind, _, name = model["source"].partition(" ")
    return name if kind == "export" else None


def products_of_attention(query, key, value, *_, **__):
    """Returns the flops of the CPU's own operator for attention, which PyTorch's counter lacks."""
    batch, heads, rows, width = query
    return 2 * batch * heads * rows * key[2] * (width + value[3])


def counted(name):
    """Returns the number of learned numbers, and of multiply-accumulates at batch 1; 0 if these depend on
    values, or on lengths that vary."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode
    import recipes
    known, packages = recipes.collect()
    options = types.SimpleNamespace(dtype="fp32", device="cpu", sequence=128, attention=None)
    package, _, rest = name.partition("/")
    torch.backends.mha.set_fastpath_enabled(False)
    own = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: products_of_attention}

    def count():
        recipe = packages[package](rest, options) if rest else known[name](name, options)
        module = recipe.module.eval()
        parameters = sum(parameter.numel() for parameter in module.parameters())
        if recipe.scripted or recipe.lengths:
            return parameters, 0
        values = [one.values(1, "cpu", recipe.lengths) for one in recipe.inputs]
        with torch.no_grad(), FlopCounterMode(display=False, custom_mapping=own) as counter:
            module(*values)
        return parameters, counter.get_total_flops() // 2

    torch.manual_seed(0)
    try:
        with FakeTensorMode():
            return count()
    except Exception:  # its control flow depends on values, or it looks at them: it runs with true ones
        return count()


def memory_bytes():
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return int(re.search(r"MemTotal: *(\d+)", text)[1]) * 1024


def exported(model):
    """Exports a model into xsp's cache, unless it is there; returns its row."""
    row = dict.fromkeys(FIELDS, "") | {"model": model["name"], "date": datetime.date.today().isoformat()}
    recipe = recipe_of(model)
    if not recipe:
        return row | {"parameters": model["parameters"], "macs": model["macs"], "exported": "built"}
    framework = model["framework"].split()[0]
    exporter = f"tools/export_{framework}.py"
    row["parameters"], row["macs"] = counted(recipe)
    row["command"] = f"{exporter} {recipe}"
    if EXPORT_COPIES * 4 * row["parameters"] > memory_bytes():
        size = f"{4 * row['parameters'] / 1e9:.1f} GB"
        return row | {"exported": "no", "note": f"{size} of weights are too much for the machine"}
    name = recipe.replace("/", "-")
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache",
                          "xsp/models/export", framework, name)
    if not any(folder.glob("*")):
        with tempfile.TemporaryDirectory(dir=folder.parents[1]) as part:
            done = subprocess.run([sys.executable, ROOT / exporter, recipe, "--device", "cpu", "-o",
                                   os.path.join(part, name)], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return row | {"exported": "no", "note": done.stderr.strip().splitlines()[-1]}
            folder.mkdir(parents=True, exist_ok=True)
            for file in pathlib.Path(part).iterdir():
                file.rename(folder / file.name)
    return row | {"exported": "yes", "file_bytes": sum(file.stat().st_size for file in folder.iterdir())}


def measured(xsp, model):
    """Exports a model, or builds it, and profiles it; returns its row."""
    row = exported(model)
    if row["exported"] == "no":
        return row
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "m.xsp")
        words = ["profile", model["name"], "--levels", "model,layer", "--batch", "1", "--max-time", "1"]
        done = subprocess.run([xsp, *words, "-o", file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return row | {"note": (done.stderr.strip().splitlines() or ["failed"])[-1]}
        facts = ask(xsp, "query", file, "SELECT DISTINCT framework || ' ' || framework_version AS framework "
                    "FROM run")[0]
        layers = ask(xsp, "analyze", "layer_flops", file)
        row |= {"framework": facts["framework"], "layers": len(layers), "command": "xsp " + " ".join(words),
                "flops": round(sum(layer["flops"] or 0 for layer in layers)),
                "unknown": "; ".join(sorted({layer["type"] for layer in layers if layer["unknown"]}))}
    return row


def ask(xsp, *words):
    done = subprocess.run([xsp, *words, "--format", "json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def results():
    if not RESULTS.exists():
        return {}
    with open(RESULTS, newline="", encoding="utf-8") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def write_results(rows):
    with open(RESULTS, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in sorted(rows))


def short(number):
    """Writes a number with four digits, and the letter of its thousands."""
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.4g} {letter}"
    return str(number)


def difference(ours, theirs):
    return "none" if ours == theirs else f"{(ours / theirs - 1) * 100:+.2f} %"


def half_unit(number):
    """Returns half of the last digit that is printed: 6,700,000,000 is exact to 50,000,000."""
    unit = 1
    while number % (unit * 10) == 0:
        unit *= 10
    return unit / 2 if unit > 1 else 0


def contradictions(model):
    """Returns the figures that contradict the literature."""
    theirs = model.get("literature_parameters", 0)
    if theirs and abs(model["parameters"] - theirs) > half_unit(theirs):
        yield f"{model['parameters']} parameters, the literature states {theirs}"
    gmacs = model.get("literature_gmacs", 0)
    macs = model.get("macs", 0)
    if gmacs and abs(macs / 1e9 / gmacs - 1) > TOLERANCE:
        yield f"{macs / 1e9:.4g} G MACs, the literature states {gmacs}"


def line_of(model, row):
    theirs, gmacs = model.get("literature_parameters", 0), model.get("literature_gmacs", 0)
    macs = model.get("macs", 0)
    ratio = f"{int(row['flops']) / (2 * macs):.3f}" if row["flops"] and macs else ""
    state = ": ".join(filter(None, (row["exported"], row["note"])))
    literature = "; ".join(filter(None, (model.get("literature"), model.get("literature_note"))))
    cells = [f"`{model['name']}`", model["title"], model["task"], model["source"], f"{model['parameters']:,}",
             "" if not theirs else f"{theirs:,}" if theirs == model["parameters"] else short(theirs),
             difference(model["parameters"], theirs) if theirs else "",
             f"{macs / 1e9:.4g}" if macs else "", f"{gmacs:g}" if gmacs else "",
             difference(macs / 1e9, gmacs) if gmacs and macs else "", ratio, state, literature]
    return "| " + " | ".join(cells) + " |"


def table(models, rows):
    head = ["model", "title", "task", "made by", "parameters", "literature", "difference", "G MACs",
            "literature", "difference", "xsp's flops / (2 MACs)", "exported", "the literature's figures"]
    lines = ["| " + " | ".join(head) + " |",
             "|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|"]
    lines += [line_of(model, rows[model["name"]]) for model in models if model["name"] in rows]
    done = [rows[model["name"]] for model in models if model["name"] in rows]
    summary = (f"{len(done)} models: {sum(row['exported'] == 'yes' for row in done)} were exported, "
               f"{sum(row['exported'] == 'built' for row in done)} are built by xsp, and "
               f"{sum(bool(row['flops']) for row in done)} were profiled.")
    return summary + "\n\n" + "\n".join(lines)


def page_with(text):
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return head + BEGIN + text + "\n" + END + rest.partition(END)[2]


def faults(models, rows):
    import recipes
    known, packages = recipes.collect()
    for model in models:
        name, recipe = model["name"], recipe_of(model)
        if recipe and recipe not in known and recipe.partition("/")[0] not in packages:
            yield f"{name}: no exporter has the recipe {recipe}"
        row = rows.get(name)
        if row is None:
            yield f"{name}: it was not measured: run tools/zoo_table.py --measure {name}"
        elif (int(row["parameters"]), int(row["macs"])) != (model["parameters"], model.get("macs", 0)):
            yield (f"{name}: its manifest says {model['parameters']} parameters and {model.get('macs', 0)} "
                   f"MACs, counted were {row['parameters']} and {row['macs']}")
        if not model.get("literature_note"):
            yield from (f"{name}: {text}: add a note that says why" for text in contradictions(model))
    swept = set(re.findall(r"[\w.]+", "".join(file.read_text() for file in ROOT.glob("examples/zoo_*.yaml"))))
    for name in sorted({model["name"] for model in models} - swept):
        if "rcnn" not in name and "generate" not in name:
            yield f"{name}: no sweep of examples/ has it"
    for name in sorted(set(rows) - {model["name"] for model in models}):
        yield f"{name}: {RESULTS.relative_to(ROOT)} has it, and no manifest"
    if PAGE.read_text(encoding="utf-8") != page_with(table(models, rows)):
        yield f"{PAGE.relative_to(ROOT)}: it is not the table: run tools/zoo_table.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="models; by default all")
    parser.add_argument("--xsp", default=str(ROOT / "build/release/bin/xsp"))
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    models, rows = models_of(options.xsp), results()
    chosen = [model for model in models if not options.models or model["name"] in options.models]
    if options.count:
        for model in chosen:
            if recipe_of(model):
                print(model["name"], *counted(recipe_of(model)))
    elif options.export or options.measure:
        for model in chosen:
            row = measured(options.xsp, model) if options.measure else exported(model)
            rows[model["name"]] = row
            print(*row.values(), sep=",", flush=True)
            write_results(rows)
    elif options.check:
        wrong = list(faults(models, rows))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return 1 if wrong else 0
    else:
        PAGE.write_text(page_with(table(models, rows)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
