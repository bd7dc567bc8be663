#!/usr/bin/env python3
"""Writes the page of a folder of characterised models (tools/characterise.py), and its site.

    tools/results_page.py --xsp XSP --evaluations FOLDER -o results/NAME

Each figure is asked of the catalogue, in SQL, so the page and the site tell the same. NAME.torch.batches.xsp
gives latency and throughput over batch sizes; NAME.torch.xsp gives the work, at batch 1 and at the knee,
which is that of tools/characterise.py. What was not measured at the knee is said to be so.
NAME.FRAMEWORK.xsp gives the same model in another framework.
"""
import json
import subprocess

from characterise import GAIN_PCT
from results_asked import (FIGURES, arguments, catalogue_of, interval, link, machines_table, shown, table,
                           wrapped, write_page)
from results_frameworks import SIDES, sections

# ResNet-50 v1.5 on a V100 in TensorFlow (XSP, IPDPS 2020, analysis 15): by batch size, the inputs per second,
# the share of the latency in which kernels run, in percent, and their flops per byte.
V100 = {1: (161.0, 80.7, 19.6), 2: (292.8, 86.8, 23.8), 4: (470.0, 90.2, 21.4), 8: (625.0, 90.6, 18.2),
        16: (730.6, 92.0, 16.1), 32: (799.4, 92.8, 16.4), 64: (864.5, 91.5, 20.3), 128: (895.8, 92.2, 25.9),
        256: (930.7, 92.4, 30.6)}

NEWEST = FIGURES + """,
newest AS (SELECT * FROM figure WHERE age = 1 AND framework = 'torch')
"""

# A row for each model: `wide` is of all batch sizes, `work` of those with every level, 1 and the knee. The
# knee is that of tools/characterise.py: from it on, no doubling gives over GAIN_PCT more inputs per second.
MODELS = NEWEST[:-1] + """,
step AS (
  SELECT model, batch, value,
    lead(batch) OVER (PARTITION BY model ORDER BY batch) AS next_batch,
    lead(value) OVER (PARTITION BY model ORDER BY batch) AS next_value
  FROM newest WHERE metric = 'throughput'),
knee AS (
  SELECT model, coalesce(max(CASE WHEN pow(next_value / value, 1 / log2(next_batch * 1.0 / batch)) > {gain}
    THEN next_batch END), min(batch)) AS knee FROM step GROUP BY model),
wide AS (
  SELECT model, max(CASE WHEN metric = 'inference.latency' AND batch = 1 THEN value END) AS latency,
    max(CASE WHEN metric = 'inference.latency' AND batch = 1 THEN low END) AS low,
    max(CASE WHEN metric = 'inference.latency' AND batch = 1 THEN high END) AS high,
    max(CASE WHEN metric = 'throughput' THEN value END) AS highest,
    max(CASE WHEN metric = 'throughput' AND batch = 1 THEN value END) AS online
  FROM newest GROUP BY model),
deep AS (
  SELECT model, batch, knee, metric, value, word FROM newest JOIN knee USING (model)
  WHERE (model, batch) IN (SELECT model, batch FROM newest WHERE is_deep)),
work AS (
  SELECT model,
    100 * max(CASE WHEN metric = 'inference.device' AND batch = 1 THEN value END)
      / max(CASE WHEN metric = 'inference.latency' AND batch = 1 THEN value END) AS busy_at_one,
    max(CASE WHEN metric = 'bottleneck' AND batch = 1 THEN word END) AS bottleneck_of_one,
    max(CASE WHEN metric = 'energy.input' AND batch = 1 THEN value END) AS energy_of_one,
    100 * max(CASE WHEN metric = 'inference.device' AND batch = knee THEN value END)
      / max(CASE WHEN metric = 'inference.latency' AND batch = knee THEN value END) AS busy,
    max(CASE WHEN metric = 'kernels.rate' AND batch = knee THEN value END) AS rate,
    max(CASE WHEN metric = 'kernels.intensity' AND batch = knee THEN value END) AS intensity,
    max(CASE WHEN metric = 'kernels.bound' AND batch = knee THEN word END) AS bound,
    max(CASE WHEN metric = 'kernels.occupancy' AND batch = knee THEN value END) AS occupancy,
    max(CASE WHEN metric = 'convolution.kernel_share' AND batch = knee THEN value END) AS convolution,
    max(CASE WHEN metric = 'third.kernels' AND batch = knee THEN word END) AS third_of_kernels,
    max(CASE WHEN metric = 'third.memory' AND batch = knee THEN word END) AS third_of_memory,
    max(CASE WHEN metric = 'third.flops' AND batch = knee THEN word END) AS third_of_flops,
    max(CASE WHEN metric = 'third.accesses' AND batch = knee THEN word END) AS third_of_accesses,
    max(CASE WHEN metric = 'energy.input' AND batch = knee THEN value END) AS energy,
    max(CASE WHEN metric = 'power' AND batch = knee THEN value END) AS power
  FROM deep GROUP BY model)
SELECT * FROM wide JOIN knee USING (model) LEFT JOIN work USING (model) ORDER BY model"""
MODELS = MODELS.replace("{gain}", str(1 + GAIN_PCT / 100))

RESNET = NEWEST + """SELECT batch, max(CASE WHEN metric = 'throughput' THEN value END) AS rate,
  100 * max(CASE WHEN metric = 'inference.device' THEN value END)
    / max(CASE WHEN metric = 'inference.latency' THEN value END) AS busy,
  max(CASE WHEN metric = 'kernels.intensity' THEN value END) AS intensity
FROM newest WHERE model = 'resnet50' GROUP BY batch ORDER BY batch"""

SETTLED = NEWEST + """SELECT count(*) AS latencies, sum(doubt IS NULL) AS settled, sum(low IS NULL) AS bare
FROM newest WHERE metric = 'inference.latency'"""


def extremes(rows, key):
    """Returns the rows with the lowest and the highest value, and all that have one, in their order."""
    known = sorted((row for row in rows if row[key] is not None), key=lambda row: row[key])
    return known[0], known[-1], known


def models_table(rows):
    heads = ["model", "latency at batch 1, ms", "most inputs/s", "GPU busy % at 1", "bottleneck at 1",
             "mJ an input at 1", "knee", "GPU busy %", "convolution %", "Tflop/s", "flop/B",
             "occupancy %", "bound", "mJ an input"]
    return table(heads, [[
        link(row["model"]), interval(row), shown(row["highest"]),
        shown(row["busy_at_one"]), row["bottleneck_of_one"] or shown(None), shown(row["energy_of_one"], 1e3),
        row["knee"], shown(row["busy"]), shown(row["convolution"]),
        shown(row["rate"], 1e-12), shown(row["intensity"]), shown(row["occupancy"]),
        row["bound"] or shown(None), shown(row["energy"], 1e3)] for row in rows])


# The page names a task more closely than its manifest does, because its classes have inputs of all kinds.
TASKS = {"classification": "image classification"}
def span(rows, key, unit, scale=1.0):
    low, high, known = extremes(rows, key)
    middle = known[len(known) // 2]
    first, last, median = (f"{shown(row[key], scale)} {unit} ({row['model']})" for row in (low, high, middle))
    return f"{first} to {last}, in the middle {median}"


def grouped(rows, key, of=lambda row: row["model"]):
    """Returns the models' names, or what else is asked of them, by a value."""
    groups = {}
    for row in rows:
        groups.setdefault(row[key], []).append(of(row))
    return groups


def counted(rows, key):
    """Returns how many models have each value of a word, the most frequent first."""
    found = sorted(grouped(rows, key).items(), key=lambda item: -len(item[1]))
    return ", ".join(f"{value} {len(names)}" for value, names in found if value is not None)


def classes_table(rows):
    """Returns a row for each class of models; a median stands for the class."""
    def middle(some, key, scale=1.0):
        known = sorted(row[key] for row in some if row[key] is not None)
        return shown(known[len(known) // 2] if known else None, scale)

    lines = []
    for task, names in sorted(grouped(rows, "task", lambda row: row).items()):
        _, _, known = extremes(names, "rate")
        lines.append([task, len(names), middle(names, "busy_at_one"), middle(names, "gain"),
                      middle(names, "convolution"), middle(names, "intensity"),
                      counted(names, "bound"),
                      *(f"{shown(row['rate'], 1e-12)} ({row['model']})" for row in (known[-1], known[0]))])
    return table(["class", "models", "GPU busy % at 1", "gain of batching", "convolution %", "flop/B",
                  "bound", "best Tflop/s", "worst Tflop/s"], lines)


def answers(rows, resnet):
    """Yields each question and its answer."""
    early = [row for row in rows if row["busy_at_one"] is not None]
    deep = [row for row in rows if row["bound"] is not None]
    convolutional = [row for row in deep if (row["convolution"] or 0) > 0]
    gains = [dict(row, gain=row["highest"] / row["online"]) for row in rows]
    saved = [dict(row, saved=row["energy_of_one"] / row["energy"]) for row in deep if row["energy"]]
    bounds = "; ".join(f"{len(names)} of {len(deep)} models are bound by {bound} ({', '.join(names)})"
                       for bound, names in sorted(grouped(deep, "bound").items()))
    yield "What is memory-bound?", f"At the knee, by the counted work of all kernels: {bounds}."
    yield ("How much of the kernels' time is convolution?",
           f"Of the {len(convolutional)} models that have one: {span(convolutional, 'convolution', '%')}.")
    sizes = "; ".join(f"{batch}: {', '.join(names)}"
                      for batch, names in sorted(grouped(rows, "knee").items()))
    yield ("Where is the knee?",
           f"{sizes}. Over all {len(rows)} models, the highest throughput is "
           f"{span(gains, 'gain', 'times that of batch 1')}.")
    yield ("How much of the latency lies outside of kernels?",
           f"At batch 1, the GPU is busy for {span(early, 'busy_at_one', '%')} of the latency. At the "
           f"knee it is {span(deep, 'busy', '%')}.")
    found = sorted(grouped(early, "bottleneck_of_one").items(), key=lambda item: -len(item[1]))
    yield ("What holds a single input back?",
           "; ".join(f"{bottleneck}: {', '.join(names)}" for bottleneck, names in found) + ".")
    yield ("Who uses the arithmetic best, and worst?",
           f"At the knee: {span(deep, 'rate', 'Tflop/s', 1e-12)}.")
    yield ("Which third of the network dominates, and which class uses the GPU best?",
           "At the knee, the number of models by the third of their layers that has most of the kernels' "
           f"time is {counted(deep, 'third_of_kernels')}; of the memory {counted(deep, 'third_of_memory')}; "
           f"of the flops {counted(deep, 'third_of_flops')}; of the accesses to memory "
           f"{counted(deep, 'third_of_accesses')}. By class, at the knee unless batch 1 is named, each "
           "figure the middle one of the class:\n\n"
           + classes_table([dict(row, gain=row["highest"] / row["online"]) for row in deep]))
    yield ("What does an input cost in energy?",
           f"At the knee: {span(deep, 'energy', 'mJ', 1e3)}. At batch 1 it costs "
           f"{span(saved, 'saved', 'times as much')}.")
    lines = [[row["batch"], then, shown(row["rate"]), shown(row["rate"] / then), ran, shown(row["busy"]),
              intensity, shown(row["intensity"])]
             for row in resnet if row["batch"] in V100 for then, ran, intensity in [V100[row["batch"]]]]
    yield ("What changed since the paper?",
           "ResNet-50 v1.5 on the paper's V100 (TensorFlow, fp32 without tensor cores) and here (PyTorch, "
           "whose convolutions take TF32 on tensor cores), by batch size.\n\n"
           + table(["batch", "V100, inputs/s", "this GPU, inputs/s", "ratio", "V100, kernels %",
                    "this GPU, busy %", "V100, flop/B", "this GPU, flop/B"], lines))


def zoo(xsp):
    """Returns what xsp lists of each model, those of packages left out."""
    done = subprocess.run([xsp, "models", "--list", "--format", "json"], capture_output=True, text=True,
                          check=True)
    return [model for model in json.loads(done.stdout) if model["source"].split()[0] in ("export", "zoo")]


def main():
    args = arguments(__doc__)
    with catalogue_of(args) as catalogue:
        machines = machines_table(catalogue)
        rows, resnet, settled, sides = (catalogue.rows(sql) for sql in (MODELS, RESNET, SETTLED, SIDES))
    models = zoo(args.xsp)
    tasks = {model["name"]: TASKS.get(model["task"], model["task"]) for model in models}
    rows = [dict(row, task=tasks.get(row["model"], "other")) for row in rows]
    measured = {row["model"] for row in rows + sides}
    missing = sorted(model["name"] for model in models if model["name"] not in measured)
    sure = ("{settled} of {latencies} latencies are settled: their interval is at most ±1 %. {bare} rest on "
            "too few inferences for an interval.").format(**settled[0])
    parts = ["## Machine", machines, "## Models", sure, models_table(rows),
             "## The paper's questions, asked again"]
    parts += [wrapped(f"**{question}** {answer}") for question, answer in answers(rows, resnet)]
    if sides:
        parts += ["## The same model in other frameworks", *sections(sides)]
    write_page(args, [*parts, "## Not measured yet", wrapped(f"`{'`, `'.join(missing)}`")])
    early, deep = (sum(row[key] is not None for row in rows) for key in ("busy_at_one", "bound"))
    print(f"{len(rows)} models, of which {early} have their work at batch 1 and {deep} at the knee")


if __name__ == "__main__":
    main()
