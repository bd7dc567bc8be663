"""Checks the texts: whether results that are not settled, distorted or disturbed are marked so everywhere."""
import re

from consistency.ledger import close
from consistency.numbers import model_latency, overhead

UNSETTLED = {"time": "time", "iterations": "the number of inferences", "interrupt": "an interrupt",
             "failure": "a failure"}
DISTORTED_PCT, HIGH_LOAD_PCT = 50, 20
# These need the layers' times: no finding may be based on them if the layers are in doubt.
ON_LAYERS = ("layer_roofline", "latency_by_layer_type", "model_summary", "layer_information")


def own_runs(one, batch):
    for level, levels in (("model", "model"), ("layer", "model,layer"), ("api", "model,layer,api"),
                          ("kernel", "model,layer,api,kernel")):
        run = one.run_of(levels, batch)
        if run:
            yield level, run


def said(texts, where, pattern):
    return any(name == where and re.search(pattern, text) for name, text in texts)


def status(one, check):
    found = [row["status"] for row in one.rows("audit", None) if row["audit"] == check]
    return found[0] if found else None


def settled(ledger, one, batch):
    """Checks that an unsettled result is marked wherever its numbers stand, and that a settled one is doubted
    nowhere."""
    check, texts = "not settled is said", list(one.texts(batch))
    wanted = {level: run for level, run in own_runs(one, batch) if run["stopped_by"] in UNSETTLED}
    for level, run in wanted.items():
        pattern = f"not settled: stopped by {UNSETTLED[run['stopped_by']]}"
        doubts = [row["detail"] for row in one.rows("model_summary", batch, section="doubt", item=level)]
        if level in ("model", "layer"):
            ledger.see(check, one, batch, any(pattern in doubt for doubt in doubts),
                       f"model_summary says nothing of run {run['run_id']}, stopped by {run['stopped_by']}")
        for name in ("audit", "findings"):
            ledger.see(check, one, batch, said(texts, name, pattern), f"{name} does not say: {pattern}")
        ledger.see(check, one, batch, status(one, "latencies settled") == "not ok",
                   f"audit: latencies settled is {status(one, 'latencies settled')}")
        for analysis in one.catalogue:
            told = one.told(analysis["name"], batch)
            if level in analysis["needs"] and told and told.why is None:
                ledger.see(check, one, batch, said(texts, analysis["name"], pattern),
                           f"{analysis['name']} over HTTP does not say: {pattern}")
    if "model" in wanted:
        doubt = one.cell("model_information", batch, "doubt") or ""
        ledger.see(check, one, batch, "not settled" in doubt, f"model_information's doubt is: {doubt!r}")
    at_all = any(run["stopped_by"] in UNSETTLED for at in one.batches for _, run in own_runs(one, at))
    if not at_all:
        for name, text in texts:
            ledger.see("settled is not doubted", one, batch, "not settled" not in text, f"{name}: {text}")
        ledger.see("settled is not doubted", one, batch, status(one, "latencies settled") == "ok",
                   "audit: latencies settled is not ok")
    width = float(one.facts.get("limits.width_pct", "nan"))
    for row in one.rows("model_information", batch):
        run = one.run_of("model", batch)
        if row["high_ns"] is None or run is None:
            continue
        half_pct = 100 * (row["high_ns"] - row["latency_ns"]) / row["latency_ns"]
        if run["stopped_by"] == "interval":
            ledger.see("settled is not doubted", one, batch, half_pct <= width * (1 + 1e-6),
                       f"stopped by its interval at ±{half_pct:.6g} %, {width} % was wanted")
        elif run["stopped_by"] in UNSETTLED:
            ledger.see("settled is not doubted", one, batch, half_pct > width * (1 - 1e-6),
                       f"not settled at ±{half_pct:.6g} %, though {width} % was wanted")


def on_the_command_line(ledger, one, batch):
    """Checks that the lines `note:` are the doubts of the HTTP answer, above the table and beside the output
    for programs."""
    for (name, at), told in one.commands.items():
        if at in (None, batch):
            other = one.answers[name, at].doubts
            ledger.see("notes are the doubts", one, batch, sorted(told.doubts) == sorted(other),
                       f"{name}: the command line notes {told.doubts}, the HTTP answer doubts {other}")
    for name, text in one.tables.items():
        told = one.told(name, batch)
        if batch == one.batches[0] and told is not None and told.why is None:
            noted = [line[6:] for line in text.splitlines() if line.startswith("note: ")]
            ledger.see("notes are the doubts", one, batch, noted == told.doubts,
                       f"{name}: above the table {noted}, over HTTP {told.doubts}")


def rounds_to(value, percent):
    """Returns whether a figure in a sentence is the value, to the digits that are shown."""
    return value is not None and abs(float(percent) - value) <= (0.05 if "." in percent else 0.5) * 1.000001


def figures_in_words(ledger, one, batch):
    """Checks that a figure in a sentence is the figure of the tables, rounded."""
    check = "figures in sentences"
    latency, high = model_latency(one, batch), one.cell("model_information", batch, "high_ns")
    half_pct = None if high is None else 100 * (high - latency) / latency
    detail = "".join(row["detail"] or "" for row in one.rows("model_summary", batch)
                     if row["item"] in ("latency", "call of the model"))
    found = re.search(r"±([\d.]+) % at 95 %", detail)
    ledger.see(check, one, batch, (found is None) == (half_pct is None), f"model_summary says {detail!r}, "
               f"model_information has {'no interval' if half_pct is None else f'±{half_pct:.4g} %'}")
    if found and half_pct is not None:
        ledger.see(check, one, batch, rounds_to(half_pct, found[1]),
                   f"model_summary says ±{found[1]} %, model_information has ±{half_pct:.4g} %")
    doubt = " ".join(row["detail"] for row in one.rows("model_summary", batch, section="doubt", item="model"))
    for percent in re.findall(r"not settled: stopped by [a-z ]+ at ±([\d.]+) %", doubt):
        ledger.see(check, one, batch, rounds_to(half_pct, percent),
                   f"the doubt says ±{percent} %, model_information has {half_pct}")
    effect = overhead(one, batch, "overhead_pct")
    load = float(one.facts.get("machine.other_load_pct", "nan"))
    for name, text in set(one.texts(batch)):
        for percent in re.findall(r"recording the level layer lengthened an inference by ([\d.]+) %", text):
            ledger.see(check, one, batch, rounds_to(effect, percent),
                       f"{name} says {percent} % longer, overhead_by_level has {effect}")
        shortened = r"recording the level layer seems to shorten an inference by ([\d.]+) %"
        for percent in re.findall(shortened, text):
            ledger.see(check, one, batch, rounds_to(effect, f"-{percent}"),
                       f"{name} says {percent} % shorter, overhead_by_level has {effect}")
        for percent in re.findall(r"other programs used ([\d.]+) % of the processors", text):
            ledger.see(check, one, batch, rounds_to(load, percent) and load <= 100,
                       f"{name} says {percent} %, the fact is {load}")
    for row in one.rows("time_by_level", batch, is_rest=True):
        longer = r"took (-?[\d.]+) % longer while its layers were recorded"
        for percent in re.findall(longer, row["detail"] or ""):
            if effect is not None:
                ledger.see(check, one, batch, abs(float(percent) - effect) <= 0.005001,
                           f"time_by_level says {percent} %, overhead_by_level has {effect}")


def distorted(ledger, one, batch):
    """Checks that a level that is distorted or disturbed is marked, and that no finding is based on it."""
    check, texts = "distorted or disturbed is said", list(one.texts(batch))
    low, high = overhead(one, batch, "low_ns"), overhead(one, batch, "high_ns")
    effect, load = overhead(one, batch, "overhead_pct"), one.facts.get("machine.other_load_pct")
    expected = {
        "distorted: recording the level layer": effect is not None and effect > DISTORTED_PCT,
        "disturbed: recording the level layer seems to shorten": high is not None and high < 0,
        "disturbed: other programs used": load is not None and float(load) > HIGH_LOAD_PCT}
    for pattern, holds in expected.items():
        for name in ("audit", "findings", "layer_information", "model_summary", "layer_roofline",
                     "time_by_level"):
            told = one.told(name, batch)
            if told is None or told.why is not None or (name == "time_by_level" and "level layer" in pattern):
                continue
            # The audit covers all batch sizes.
            if name == "audit" and not holds and len(one.batches) > 1:
                continue
            ledger.see(check, one, batch, said(texts, name, pattern) == holds,
                       f"{name} {'does not say' if holds else 'says'}: {pattern}")
    if any(expected.values()):
        ledger.see(check, one, batch, status(one, "levels undistorted") == "not ok",
                   f"audit: levels undistorted is {status(one, 'levels undistorted')}")
        for row in one.rows("findings", batch):
            on_layers = row["level"] == "layer" or row["evidence"] in ON_LAYERS
            ledger.see("no finding on doubtful layers", one, batch, not on_layers or row["gain_ns"] is None,
                       f"finding {row['rank']}, from {row['evidence']}: {row['finding']}")
    if low is not None and low <= 0 <= high:
        for name, text in texts:
            ledger.see("insignificant is not significant", one, batch, not re.search(
                r"recording the level layer (seems|lengthened)|significant(?!ly)", text) or (
                    effect > DISTORTED_PCT and "lengthened" in text),
                       f"the overhead is {low:.6g} to {high:.6g} ns, and {name} says: {text}")


def file_as_a_whole(ledger, one, batch):
    if batch != one.batches[0]:
        return
    check = "the entry is the file"
    entries = one.server.get("/evaluations")["evaluations"]
    listed = next((entry for entry in entries if entry["id"] == one.id), {})
    for key in ("facts", "batches", "status", "size_bytes"):
        ledger.see(check, one, None, listed.get(key) == one.entry.get(key),
                   f"{key} differs between the list and the entry")
    measured = [row["batch"] for row in one.rows("model_information", None)] or [
        row["batch"] for row in one.told("model_information", None).rows]
    ledger.see(check, one, None, sorted(measured) == one.batches,
               f"model_information has the batch sizes {measured}, the entry {one.batches}")
    bad = [run["run_id"] for run in one.runs if run["status"] != "ok"]
    ledger.see(check, one, None, (status(one, "runs measured") == "ok") == (not bad),
               f"audit: runs measured is {status(one, 'runs measured')}; runs that are not ok: {bad}")
    for run in one.runs:
        ledger.see(check, one, None, run["spans"] == one.timelines[run["run_id"]].get("spans"),
                   f"run {run['run_id']}: {run['spans']} spans, in its timeline "
                   f"{one.timelines[run['run_id']].get('spans')}")


def same_cells(ledger, one, batch):
    """Checks that the command line and the HTTP answer are the same, cell by cell."""
    check = "command line and HTTP are the same"
    for (name, at), told in one.commands.items():
        if at not in (None, batch) or (at is None and batch != one.batches[0]):
            continue
        other = one.answers[name, at]
        if not ledger.see(check, one, batch, told.why == other.why,
                          f"{name}: {told.why!r} and {other.why!r}"):
            continue
        if not ledger.see(check, one, batch, len(told.rows) == len(other.rows),
                          f"{name}: {len(told.rows)} and {len(other.rows)} rows"):
            continue
        for number, (row, also) in enumerate(zip(told.rows, other.rows)):
            for column in other.columns:
                ledger.see(check, one, batch, same_cell(row.get(column), also[column]),
                           f"{name}, row {number}, {column}: {row.get(column)!r} and {also[column]!r}")


def same_cell(one, other):
    """Threads add up the parts of a sum in another order each time: its last digits may differ."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return close(one, other, relative=1e-9, absolute=1e-6)
    return one == other


ALL = (settled, on_the_command_line, figures_in_words, distorted, file_as_a_whole, same_cells)
