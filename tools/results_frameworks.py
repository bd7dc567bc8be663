#!/usr/bin/env python3
"""Writes the page of a folder of models that several frameworks ran on one machine (tools/characterise.py),
and its site.

    tools/results_frameworks.py --xsp XSP --evaluations FOLDER -o results/NAME

NAME.FRAMEWORK.batches.xsp gives the latency over batch sizes, NAME.FRAMEWORK.xsp the work. Each figure is
asked of the catalogue, in SQL, so the page and the site tell the same. The text of the page is that of
method.md, in the page's folder.
"""
import collections
import json
import statistics

from results_asked import (FIGURES, NAMES, arguments, catalogue_of, interval, link, machines_table, shown,
                           table, wrapped, write_page)

# A row for each model, framework and batch size. A counter that not all kernels have is left out.
SIDES = FIGURES + """,
side AS (
  SELECT model, framework, batch, max(facts) AS facts,
    max(CASE WHEN metric = 'inference.latency' THEN value END) AS latency,
    max(CASE WHEN metric = 'inference.latency' THEN low END) AS low,
    max(CASE WHEN metric = 'inference.latency' THEN high END) AS high,
    max(CASE WHEN metric = 'inference.device' THEN value END) AS device,
    max(CASE WHEN metric = 'kernels.count' THEN value END) AS kernels,
    max(CASE WHEN metric = 'layers.flops' AND batch = 1 THEN value END) AS layer_flops,
    max(CASE WHEN metric = 'kernels.flops' AND doubt IS NULL THEN value END) AS flops,
    sum(CASE WHEN metric IN ('kernels.read', 'kernels.written') AND doubt IS NULL THEN value END) AS bytes,
    max(CASE WHEN metric = 'bottleneck' THEN word END) AS bottleneck,
    max(CASE WHEN metric = 'energy.input' THEN value END) AS energy
  FROM figure WHERE age = 1 GROUP BY model, framework, batch)
SELECT * FROM side WHERE model IN (SELECT model FROM side WHERE framework <> 'torch')
ORDER BY model, framework = 'torch' DESC, framework, batch"""

FIRST = "torch"  # the framework that the others are compared with


def inputs_of(row):
    """Returns the types and shapes of the inputs, in order; each framework names them in its own way."""
    return sorted(value for key, value in json.loads(row["facts"]).items() if key.startswith("input."))


def is_same_work(row, other):
    """Frameworks run the same model where its inputs are the same, or its layers compute as much: some
    frameworks fill in an input, such as the types of BERT's tokens, on their own."""
    if inputs_of(row) == inputs_of(other):
        return True
    pair = (row["layer_flops"], other["layer_flops"])
    return None not in pair and max(pair) < 1.05 * min(pair)


def split(sides):
    """Returns the rows of frameworks that ran the same work, and the pairs of model and framework that did
    not: in each model, the largest group of frameworks stays, the first framework's before an equal one."""
    alike, others = [], []
    by_model = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in sides:
        by_model[row["model"]][row["framework"]].append(row)
    for model, frameworks in by_model.items():
        groups = []
        for name, rows in sorted(frameworks.items(), key=lambda item: item[0] != FIRST):
            near = [group for group in groups
                    if any(is_same_work(rows[0], frameworks[other][0]) for other in group)]
            joined = [one for group in near for one in group] + [name]
            groups = [group for group in groups if group not in near] + [joined]
        largest = max(groups, key=lambda group: (len(group), FIRST in group))
        for name, rows in frameworks.items():
            if name in largest:
                alike += rows
            else:
                others.append((model, name))
    return alike, others


def name_of(framework):
    return NAMES.get(framework, framework)


def columns(sides):
    present = {row["framework"] for row in sides}
    return [name for name in NAMES if name in present] + sorted(present - NAMES.keys())


def shortest_of(rows):
    """Returns the row of the shortest latency, and those whose intervals reach into its own."""
    first = min(rows, key=lambda row: row["latency"])
    end = first["latency"] if first["high"] is None else first["high"]
    return [row for row in rows if row is first or (row["low"] is not None and row["low"] <= end)]


def latencies_table(sides):
    """Returns a row for each model and batch size that two frameworks ran, with the shortest in bold."""
    names = columns(sides)
    by_place = collections.defaultdict(dict)
    for row in sides:
        if row["latency"] is not None:
            by_place[row["model"], row["batch"]][row["framework"]] = row
    lines = []
    for (model, batch), found in sorted(by_place.items()):
        if len(found) < 2:
            continue
        shortest = [row["framework"] for row in shortest_of(list(found.values()))]
        cells = [("**{}**" if name in shortest else "{}").format(interval(found[name]))
                 if name in found else "" for name in names]
        lines.append([link(model), batch, *cells])
    return table(["model", "batch", *map(name_of, names)], lines)


def devices_table(sides):
    heads = ["model", "batch", "framework", "latency, ms", "kernels", "GPU busy, ms", "GPU busy %",
             "Gflop", "MB of DRAM", "bottleneck", "mJ an input"]
    deep = sorted((row for row in sides if row["device"] is not None),
                  key=lambda row: (row["model"], row["batch"], columns(sides).index(row["framework"])))
    return table(heads, [[
        link(row["model"]), row["batch"], name_of(row["framework"]), interval(row),
        shown(row["kernels"], digits=4), shown(row["device"], 1e-6),
        shown(row["device"] / row["latency"], 100), shown(row["flops"], 1e-9), shown(row["bytes"], 1e-6),
        row["bottleneck"] or shown(None), shown(row["energy"], 1e3)]
        for row in deep])


RATIOS = {"latency": "latency", "kernels": "kernels", "GPU busy": "device", "flops": "flops",
          "bytes of DRAM": "bytes", "energy": "energy"}


def ratios_table(sides):
    """Returns a row for each framework and batch size: the middle ratio to the first framework."""
    firsts = {(row["model"], row["batch"]): row for row in sides if row["framework"] == FIRST}
    pairs = collections.defaultdict(list)
    for row in sides:
        first = firsts.get((row["model"], row["batch"]))
        if first and row["framework"] != FIRST and row["latency"] and first["latency"]:
            pairs[row["batch"], row["framework"]].append((row, first))
    lines = []
    for (batch, name), found in sorted(pairs.items()):
        cells = []
        for key in RATIOS.values():
            known = [row[key] / first[key] for row, first in found if row[key] and first[key]]
            cells.append(f"{statistics.median(known):.2f} ({len(known)})" if known else "")
        lines.append([batch, name_of(name), *cells])
    return table(["batch", "framework", *RATIOS], lines)


def shortest_counts(sides):
    """Returns a sentence for each batch size: which framework has the shortest latency of how many models."""
    by_place = collections.defaultdict(list)
    for row in sides:
        if row["latency"] is not None:
            by_place[row["batch"], row["model"]].append(row)
    shortest, ran = (collections.defaultdict(collections.Counter) for _ in range(2))
    for (batch, _), found in by_place.items():
        if len(found) > 1:
            shortest[batch].update(row["framework"] for row in shortest_of(found))
            ran[batch].update(row["framework"] for row in found)
    return " ".join(
        f"At batch {batch}, the shortest latency is "
        + ", ".join(f"{name_of(name)}'s for {count} of the {ran[batch][name]} models that it ran"
                    for name, count in shortest[batch].most_common()) + "."
        for batch in sorted(shortest))


def sections(sides):
    """Returns the parts of a page about the same model in several frameworks."""
    alike, others = split(sides)
    parts = [wrapped("Latency in ms, by batch size; the shortest is bold, with those that the intervals do "
                     "not tell from it. " + shortest_counts(alike)),
             latencies_table(alike),
             wrapped(f"How the others differ from {name_of(FIRST)}: the middle ratio over the models that "
                     "both ran, with their number. A figure that was not measured for both is left out."),
             ratios_table(alike)]
    if others:
        parts.append(wrapped(
            "Left out, because their inputs and their work are not those of the others: "
            + ", ".join(f"{model} in {name_of(name)}" for model, name in others) + "."))
    return [*parts, "What the GPU does:", devices_table(alike)]


def main():
    args = arguments(__doc__)
    with catalogue_of(args) as catalogue:
        sides, machines = catalogue.rows(SIDES), machines_table(catalogue)
    write_page(args, ["## Machine", machines, "## The same model in several frameworks", *sections(sides)])
    print(f"{len({row['model'] for row in sides})} models, {len(columns(sides))} frameworks")


if __name__ == "__main__":
    main()
