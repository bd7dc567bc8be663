"""Checks the numbers of one evaluation: intervals, same quantities, sums, differences, shares."""
import re

from consistency.ledger import close

WAYS = {"low_ns": "high_ns", "low_a_ns": "high_a_ns", "low_b_ns": "high_b_ns", "ratio_low_b": "ratio_high_b",
        "latency_low_ns": "latency_high_ns", "overhead_low_ns": "overhead_high_ns"}
ESTIMATES = {"low_a_ns": ["latency_a_ns"], "low_b_ns": ["latency_b_ns"], "ratio_low_b": ["ratio_b"],
             "latency_low_ns": ["latency_ns"], "overhead_low_ns": ["overhead_ns"],
             "low_ns": ["overhead_ns", "step_ns", "latency_ns"]}
# Shares of a whole, and whether the rows of a table together are that whole.
WHOLES = [("latency_by_layer_type", "layers_share_pct"), ("layer_information", "layers_share_pct"),
          ("layer_type_distribution", "share_pct"), ("memory_by_layer_type", "share_pct"),
          ("layer_flops", "flops_share_pct"), ("layer_flops", "time_share_pct"), ("gpu_idle", "share_pct"),
          ("gpu_idle", "idle_share_pct"), ("kernels_by_layer", "kernel_share_pct"),
          ("kernels_by_name", "kernel_share_pct"), ("occupancy", "latency_pct"),
          ("energy_by_layer", "share_pct"), ("dominant_third", "latency_pct"),
          ("dominant_third", "memory_pct"), ("dominant_third", "flops_pct"),
          ("dominant_third", "accesses_pct"),
          ("dominant_third", "kernel_latency_pct"),
          ("roofline_by_pipe", "latency_pct"), ("roofline_by_pipe", "flops_pct")]
PARTS = [("hotspots", "share_pct"), ("hotspots", "warmup_pct"), ("layer_groups", "share_pct"),
         ("convolution_share", "share_pct"), ("layer_tree", "share_pct"), ("time_by_level", "share_pct"),
         ("findings", "gain_pct"), ("cost", "relative_pct"), ("layer_order", "commonest_pct"),
         ("training_phases", "share_pct"), ("gpu_by_layer", "gpu_pct"), ("copy_overlap", "overlap_pct"),
         ("kernel_sequence", "commonest_pct"), ("kernels_in_model", "uncounted_pct")]


def intervals_of(ledger, evaluation, batch, where, rows):
    for row in rows:
        for low, high in WAYS.items():
            estimate = next((name for name in ESTIMATES[low] if name in row), None)
            if row.get(low) is None or row.get(high) is None or row.get(estimate) is None:
                continue
            value, slack = row[estimate], 1e-9 * abs(row[estimate]) + 1e-9
            ledger.see("estimate inside its interval", evaluation, batch,
                       row[low] - slack <= value <= row[high] + slack,
                       f"{where}: {estimate} {value:.12g} is outside of {row[low]:.12g} to {row[high]:.12g}")


def intervals(ledger, one, batch):
    for (name, at), told in one.answers.items():
        if at == batch or (at is None and batch == one.batches[0]):
            intervals_of(ledger, one, batch, name, told.rows)
    if batch == one.batches[0]:
        intervals_of(ledger, one, batch, "profile's JSON", one.profiled or [])
        for table in ("model", "layers", "kernels"):
            intervals_of(ledger, one, batch, "diff's JSON", (one.diff or {}).get(table, []))


def profiled(one, batch, levels, column):
    for row in one.profiled or []:
        if row["levels"] == levels and (row["batch"] or 1) == batch and not row["counters"]:
            return row[column]
    return None


def summary(one, batch, column="value", **wanted):
    return one.cell("model_summary", batch, column, **wanted)


def model_latency(one, batch):
    return one.cell("model_information", batch, "latency_ns")


def overhead(one, batch, column, added="layer", event="model"):
    return one.cell("overhead_by_level", batch, column, added_level=added, event_level=event)


def timeline(one, batch, levels, column):
    run = one.run_of(levels, batch)
    return None if run is None else one.timelines[run["run_id"]].get(column)


def latencies(ledger, one, batch):
    item = "latency" if summary(one, batch, item="latency") is not None else "forward pass"
    idle, slower = one.total("gpu_idle", batch, "duration_ns"), one.total("gpu_idle", batch, "duration_ns",
                                                                        cause="slower when recorded")
    places = [("model_information", model_latency(one, batch)),
              ("model_summary", summary(one, batch, item=item)),
              ("cost", one.cell("cost", batch, "latency_ns")),
              ("time_by_level", one.total("time_by_level", batch, "latency_ns", level="model")),
              ("kernels_in_model", one.cell("kernels_in_model", batch, "model_latency_ns")),
              ("overhead_by_level", overhead(one, batch, "without_ns")),
              ("gpu_idle less what recording added", None if idle is None else idle - 2 * (slower or 0)),
              ("the timeline of the model's run", timeline(one, batch, "model", "latency_ns"))]
    places += [(f"the timeline of run {run['run_id']}, undisturbed", one.timelines[run["run_id"]].get(
        "undisturbed_ns")) for run in one.runs if (run["batch"] or 1) == batch]
    ledger.same("latency of the model", one, batch, places)
    information = ("model_information", one.cell("model_information", batch, "latency_ns"))
    ledger.equal("latency in profile's JSON", one, batch, information,
                 ("profile's JSON", profiled(one, batch, "model", "latency_ns")))
    for end in ("low", "high"):
        ledger.equal("latency in profile's JSON", one, batch,
                     (f"model_information, {end}", one.cell("model_information", batch, f"{end}_ns")),
                     (f"profile's JSON, {end}", profiled(one, batch, "model", f"latency_{end}_ns")))
    ledger.same("latency while layers were recorded", one, batch, [
        ("overhead_by_level", overhead(one, batch, "with_ns")),
        ("the timeline of that run", timeline(one, batch, "model,layer", "latency_ns")),
        ("layers together + between layers", plus(summary(one, batch, item="layers together"),
                                                  summary(one, batch, item="between layers"))
         if overhead(one, batch, "with_ns") is not None and not on_device(one, batch) else None)])
    ledger.equal("latency in profile's JSON", one, batch,
                 ("overhead_by_level, with layers", overhead(one, batch, "with_ns")),
                 ("profile's JSON", profiled(one, batch, "model,layer", "latency_ns")))
    ledger.same("99th percentile", one, batch, [
        ("model_information", one.cell("model_information", batch, "p99_ns")),
        ("model_summary", summary(one, batch, item="99th percentile"))])
    throughput = one.cell("model_information", batch, "throughput_per_s")
    ledger.same("throughput", one, batch, [
        ("model_information", throughput), ("model_summary", summary(one, batch, item="throughput")),
        ("cost", one.cell("cost", batch, "throughput_per_s")),
        ("kernels_in_model", one.cell("kernels_in_model", batch, "throughput_per_s"))])
    if throughput and one.cell("model_information", batch, "throughput_of") == "inputs":
        ledger.equal("throughput", one, batch, ("model_information", throughput),
                     ("batch / latency", batch * 1e9 / model_latency(one, batch)))


def plus(*values):
    return None if any(value is None for value in values) else sum(values)


def counts(ledger, one, batch):
    run = one.run_of("model", batch) or {}
    detail = summary(one, batch, "detail", item="latency") or ""
    said = re.match(r"(\d+) inference", detail)
    tree = re.match(r"(\d+) inference", one.cell("time_by_level", batch, "detail", level="model") or "")
    ledger.same("inferences", one, batch, [
        ("model_information", one.cell("model_information", batch, "iterations")),
        ("the run", run.get("iterations")), ("profile's JSON", profiled(one, batch, "model", "iterations")),
        ("model_summary", int(said[1]) if said else None),
        ("time_by_level", int(tree[1]) if tree else None)])
    for run in one.runs:
        if (run["batch"] or 1) != batch:
            continue
        whole = one.timelines[run["run_id"]].get("iterations", {}).get("total")
        ledger.equal("inferences", one, batch, (f"run {run['run_id']} with its warm-up", plus(
            run["iterations"], run["warmup_iterations"])), ("its timeline", whole))
        for column in ("status", "stopped_by"):
            said = profiled(one, batch, run["levels"], column)
            if said is not None and not run["counters"]:
                ledger.see("how a run ended", one, batch, said == run[column],
                           f"{run['levels']}: profile's JSON says {said}, the file {run[column]}")


def layers(ledger, one, batch):
    conv = [row for row in one.rows("convolution_share", batch) if row["figure"] == "latency"]
    on_device = bool(one.rows("kernel_information", batch))

    def by_level(**wanted):
        return None if on_device else one.total("time_by_level", batch, "latency_ns", **wanted)
    ledger.same("layers together", one, batch, [
        ("layer_information", one.total("layer_information", batch, "self_ns")),
        ("latency_by_layer_type", one.total("latency_by_layer_type", batch, "latency_ns")),
        ("model_summary", summary(one, batch, item="layers together")),
        ("convolution_share", conv[0]["total"] if conv else None),
        ("layer_groups", one.total("layer_groups", batch, "latency_ns", depth=1)),
        ("layer_tree", one.total("layer_tree", batch, "self_ns")),
        ("time_by_level", by_level(level="layer"))])
    ledger.same("outermost layers together", one, batch, [
        ("layer_information", one.total("layer_information", batch, "latency_ns", depth=0)),
        ("layer_tree", one.total("layer_tree", batch, "latency_ns", depth=0)),
        ("dominant_third", one.total("dominant_third", batch, "latency_ns"))])
    # On a GPU, the summary is about the kernels.
    figure = "kernel latency" if on_device else "latency"
    for row in one.rows("convolution_share", batch):
        if row["figure"] == figure and row["convolution"]:
            ledger.equal("layers together", one, batch, ("convolution_share", row["convolution"]),
                         ("model_summary", summary(one, batch, item="convolution")))
    known = {row["index"]: row for row in one.rows("layer_information", batch)}
    for name in ("layer_latency", "layer_memory", "layer_flops", "layer_roofline"):
        for row in one.rows(name, batch):
            ledger.see("the layers are the same", one, batch,
                       known.get(row["index"], {}).get("name") == row["name"],
                       f"{name} calls layer {row['index']} {row['name']}")
            if name == "layer_latency":
                ledger.equal("latency of a layer", one, batch, (name, row["latency_ns"]),
                             ("layer_information", known[row["index"]]["latency_ns"]))
    for row in one.rows("latency_by_layer_type", batch):
        what = f"latency_by_layer_type, {row['type']}"
        shown = {"item": row["type"], "section": "where"}
        if not on_device:
            ledger.equal("latency of a type", one, batch, (what, row["latency_ns"]),
                         ("model_summary", summary(one, batch, **shown)))
            ledger.equal("latency of a type", one, batch, (what, row["latency_ns"]),
                         ("time_by_level", by_level(level="layer type", name=row["type"])))
        for column, other in (("latency_ns", "value"), ("share_pct", "share_pct")):
            ledger.equal("share of a type", one, batch, ("time_by_level", one.cell(
                "time_by_level", batch, column, level="layer type", name=row["type"])),
                ("model_summary", summary(one, batch, other, **shown)))


def work(ledger, one, batch):
    shapes = {row["figure"]: row["total"] for row in one.rows("convolution_share", batch)
              if row["source"] == "by shapes"}
    flops = one.total("layer_flops", batch, "flops")
    ledger.same("flops by the shapes", one, batch, [
        ("layer_flops", flops), ("dominant_third", one.total("dominant_third", batch, "flops")),
        ("model_summary", summary(one, batch, item="flops")), ("convolution_share", shapes.get("flops")),
        ("layer_roofline", one.total("layer_roofline", batch, "flops"))])
    ledger.same("bytes by the shapes", one, batch, [
        ("layer_flops", one.total("layer_flops", batch, "bytes")),
        ("convolution_share", shapes.get("accesses")),
        ("dominant_third", one.total("dominant_third", batch, "accesses_bytes")),
        ("layer_roofline", one.total("layer_roofline", batch, "bytes"))])
    ledger.same("memory of the layers", one, batch, [
        ("layer_information", one.total("layer_information", batch, "memory_bytes")),
        ("layer_memory", one.total("layer_memory", batch, "memory_bytes")),
        ("memory_by_layer_type", one.total("memory_by_layer_type", batch, "memory_bytes"))])
    rate = summary(one, batch, item="rate")
    if rate is not None:
        ledger.equal("flops by the shapes", one, batch, ("rate", rate),
                     ("flops / latency", 1e9 * flops / model_latency(one, batch)))
    ledger.same("time of the kernels", one, batch, [
        (name, one.total(name, batch, column)) for name, column in (
            ("kernel_information", "latency_ns"), ("kernels_by_name", "latency_ns"),
            ("kernels_by_layer", "kernel_latency_ns"), ("kernels_in_model", "kernel_latency_ns"))] + [
        ("time_by_level", one.total("time_by_level", batch, "latency_ns", level="kernel"))])
    ledger.same("flops that were counted", one, batch, [
        (name, one.total(name, batch, "flops")) for name in (
            "kernel_information", "kernels_by_name", "counters_by_layer", "kernels_in_model")])


def sums(ledger, one, batch):
    rows = one.rows("model_summary", batch)
    together = summary(one, batch, item="layers together")
    types = [row["value"] for row in rows if row["section"] == "where" and row["unit"] == "ns"
             and row["item"] not in ("convolution", "resolution")]
    if together is not None:
        latency = summary(one, batch, item="latency") or summary(one, batch, item="forward pass")
        on_gpu = bool(one.rows("kernel_information", batch))
        ledger.equal("parts add up", one, batch, ("the parts in model_summary", sum(types)),
                     ("latency", latency) if on_gpu else ("layers together", together))
        ledger.equal("parts add up", one, batch, ("model_summary's latency", latency), (
            "its sum", together + summary(one, batch, item="between layers")
            + (summary(one, batch, item="less the cost of recording") or 0)))
    tree(ledger, one, batch)
    phases = one.rows("training_phases", batch)
    if phases:
        ledger.equal("parts add up", one, batch, (
            "the phases", sum(row["time_ns"] for row in phases if row["phase"] != "step")), (
            "the step", sum(row["time_ns"] for row in phases if row["phase"] == "step")))
    for row in one.rows("layer_groups", batch):
        inner = [part["latency_ns"] for part in one.rows("layer_groups", batch, depth=row["depth"] + 1)
                 if part["path"].startswith(row["path"] + "/")]
        ledger.see("parts add up", one, batch, sum(inner) <= row["latency_ns"] * (1 + 1e-9) + 1e-3,
                   f"layer_groups: the parts of {row['path']} take more than it")


def tree(ledger, one, batch):
    """Checks time_by_level: types add up to the model, layers to types, kernels to layers, causes to idle
    time."""
    own, parts = {}, {}
    for row in one.rows("time_by_level", batch):
        if row["latency_ns"] is not None:
            for of, key in ((own, row["name"]), (parts, row["parent"])):
                of[row["level"], key] = of.get((row["level"], key), 0) + row["latency_ns"]
    above = {"layer type": "model", "layer": "layer type", "kernel": "layer", "idle": "layer type"}
    for (level, parent), value in parts.items():
        if level in above:
            ledger.equal("parts add up", one, batch, (f"time_by_level, the parts of {parent}", value),
                         ("the row itself", own.get((above[level], parent))))


def on_device(one, batch):
    """Returns whether a CUDA graph replays layers: these come from the kernel run, whose cost differs."""
    return any(row["time_of"] == "device" for row in one.rows("layer_information", batch))


def differences(ledger, one, batch):
    for row in one.rows("overhead_by_level", batch):
        what = f"overhead_by_level, {row['added_level']} on {row['event_level']}"
        ledger.equal("differences are of what is shown", one, batch, (what, row["overhead_ns"]),
                     ("with - without", row["with_ns"] - row["without_ns"]))
        ledger.equal("differences are of what is shown", one, batch, (f"{what}, %", row["overhead_pct"]),
                     ("overhead / without", 100 * row["overhead_ns"] / row["without_ns"]), absolute=1e-9)
    added = overhead(one, batch, "overhead_ns")
    negative = one.total("time_by_level", batch, "latency_ns", name="less the cost of recording")
    cost = summary(one, batch, item="less the cost of recording")
    ledger.same("what recording layers adds", one, batch, [
        ("overhead_by_level", added),
        ("model_summary", None if cost is None or added is None or on_device(one, batch) else -cost),
        ("time_by_level", None if negative is None or one.rows("kernel_information", batch) else -negative)])
    for column in ("overhead_ns", "overhead_low_ns", "overhead_high_ns"):
        own = column if column == "overhead_ns" else column.replace("overhead_", "")
        ledger.equal("overhead in profile's JSON", one, batch,
                     (f"overhead_by_level, {own}", overhead(one, batch, own)),
                     ("profile's JSON", profiled(one, batch, "model,layer", column)))


def shares(ledger, one, batch):
    for name, column in WHOLES:
        values = [row[column] for row in one.rows(name, batch) if row.get(column) is not None]
        for value in values:
            ledger.see("shares within 0 and 100", one, batch, -1e-9 <= value <= 100 + 1e-9,
                       f"{name}: {column} {value}")
        if values:
            ledger.see("shares of a whole sum to 100", one, batch, close(sum(values), 100, absolute=1e-6),
                       f"{name}: {column} sums to {sum(values)}")
    for name, column in PARTS:
        for row in one.rows(name, batch):
            if row.get(column) is not None:
                ledger.see("shares within 0 and 100", one, batch, -1e-9 <= row[column] <= 100 + 1e-9,
                           f"{name}: {column} {row[column]}")
    tree_shares = {}
    for row in one.rows("time_by_level", batch):
        if row["share_pct"] is not None:
            tree_shares[row["level"]] = tree_shares.get(row["level"], 0) + row["share_pct"]
    if "layer type" in tree_shares:
        ledger.see("shares of a whole sum to 100", one, batch,
                   close(tree_shares["layer type"], 100, absolute=1e-6),
                   f"time_by_level: types and the rest are {tree_shares['layer type']} %")


def findings(ledger, one, batch):
    check, latency, bounds = "findings are of the same latency", model_latency(one, batch), []
    for row in one.rows("findings", batch):
        if row["gain_ns"] is None:
            continue
        bounds.append(row["gain_ns"])
        ledger.equal(check, one, batch, (f"gain_pct of finding {row['rank']}", row["gain_pct"]),
                     ("gain_ns / latency", 100 * row["gain_ns"] / latency), absolute=1e-9)
        ledger.see(check, one, batch, 0 <= row["gain_ns"] <= latency * (1 + 1e-9),
                   f"finding {row['rank']} gains {row['gain_ns']} of {latency}")
    ledger.see(check, one, batch, bounds == sorted(bounds, reverse=True),
               "they are not in the order of their gain")
    for row in one.rows("findings", batch):
        tail = re.match(r"One inference in a hundred takes ([\d.]+) times the median", row["finding"])
        if tail:
            told = one.rows("model_information", batch)[0]
            ledger.equal(check, one, batch, (f"finding {row['rank']}", float(tail[1])),
                         ("p99 / median", told["p99_ns"] / told["median_ns"]), absolute=0.0051)
        larger = re.match(r"At batch (\d+) an input takes .*: ([\d.]+) times the throughput", row["finding"])
        if larger:
            gain = (one.cell("model_information", int(larger[1]), "throughput_per_s")
                    / one.cell("model_information", batch, "throughput_per_s"))
            ledger.equal(check, one, batch, (f"finding {row['rank']}", float(larger[2])),
                         ("model_information's throughputs", gain), absolute=0.0051)


ALL = (intervals, latencies, counts, layers, work, sums, differences, shares, findings)
