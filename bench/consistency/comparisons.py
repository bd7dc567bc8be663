"""Checks comparisons of two evaluations: the numbers of each, their differences and ratios."""
from consistency.ledger import close
from consistency.numbers import model_latency


def model(ledger, one, other, told, where):
    for row in told:
        batch = row["batch"]
        for letter, evaluation in (("a", one), ("b", other)):
            for column, also in (("latency_{}_ns", "latency_ns"), ("median_{}_ns", "median_ns"),
                                 ("low_{}_ns", "low_ns"), ("high_{}_ns", "high_ns"),
                                 ("p99_{}_ns", "p99_ns"), ("iterations_{}", "iterations"),
                                 ("throughput_{}_per_s", "throughput_per_s")):
                ledger.equal("comparison has each one's numbers", one, batch,
                             (f"{where}, {column.format(letter)}", row.get(column.format(letter))),
                             ("model_information", evaluation.cell("model_information", batch, also)))
        if row.get("ratio_b") is None:
            continue
        ledger.equal("ratio is that of the latencies shown", one, batch,
                     (f"{where} with {other.name}: ratio_b", row["ratio_b"]),
                     ("latency_b / latency_a", row["latency_b_ns"] / row["latency_a_ns"]))
        low, high = row.get("ratio_low_b"), row.get("ratio_high_b")
        if low is not None:
            ledger.see("ratio and its verdict", one, batch, row["significant_b"] == (not low <= 1 <= high),
                       f"{where} with {other.name}: {low} to {high} is called {row['verdict_b']}")
            verdict = ("no significant difference" if low <= 1 <= high else
                       "slower" if row["latency_b_ns"] > row["latency_a_ns"] else "faster")
            ledger.see("ratio and its verdict", one, batch, row["verdict_b"] == verdict,
                       f"{where} with {other.name}: latencies {row['latency_a_ns']:.9g} and "
                       f"{row['latency_b_ns']:.9g}, {low:.6g} to {high:.6g}: {row['verdict_b']}")
        if other is one:
            ledger.see("compared with itself nothing differs", one, batch, row["ratio_b"] == 1
                       and (row["verdict_b"] or "").startswith(("no significant difference", "too few")),
                       f"{where}: {row['ratio_b']}, {row['verdict_b']}")


def parts(ledger, one, other, table, told, batch):
    """Checks layers and kernels: each difference, and their sums."""
    totals = {"a": 0, "b": 0, "difference": 0, "share": 0}
    for row in told.rows:
        a, b, difference = row.get("latency_a_ns"), row.get("latency_b_ns"), row.get("difference_b_ns")
        totals["a"] += a or 0
        totals["b"] += b or 0
        totals["difference"] += difference or 0
        totals["share"] += row.get("share_b_pct") or 0
        if difference is not None:
            ledger.equal("differences are of what is shown", one, batch, (
                f"compare/{table} with {other.name}, {row.get('layer') or row.get('kernel')}", difference),
                ("latency_b - latency_a", (b or 0) - (a or 0)))
            if other is one:
                ledger.see("compared with itself nothing differs", one, batch, difference == 0,
                           f"{table}: {row.get('layer') or row.get('kernel')} differs by {difference} ns")
    ledger.equal("parts add up", one, batch, (f"compare/{table} with {other.name}, the differences",
                 totals["difference"]), ("difference of the sums", totals["b"] - totals["a"]))
    if abs(totals["difference"]) > 1:
        ledger.see("shares of a whole sum to 100", one, batch, close(totals["share"], 100, absolute=1e-6),
                   f"compare/{table} with {other.name}: share_b_pct sums to {totals['share']}")
    for letter, evaluation in (("a", one), ("b", other)):
        kernels = evaluation.total("kernel_information", batch, "latency_ns")
        own = evaluation.total("layer_information", batch, "self_ns") if kernels is None else kernels
        ledger.equal("comparison has each one's numbers", one, batch,
                     (f"compare/{table}, {letter} together", totals[letter] or None),
                     ("its own analyses", own))


def unsettled(ledger, one, other, told):
    """Checks that a comparison of latencies that did not settle is marked so."""
    for letter, evaluation in (("A", one), ("B", other)):
        rows = evaluation.told("model_information", None).rows
        if any("not settled" in (row.get("doubt") or "") for row in rows):
            ledger.see("not settled is said beside a comparison", one, None, any(
                "not settled" in warning for warning in told.doubts),
                f"compare/model with {other.name}: nothing is said of {letter}; warnings are {told.doubts}")


def check(ledger, one, other):
    told = one.compared("model", other)
    if told.why is None:
        model(ledger, one, other, told.rows, "compare/model")
        unsettled(ledger, one, other, told)
    for batch in sorted(set(one.batches) & set(other.batches)):
        for table in ("layers", "kernels"):
            told = one.compared(table, other, batch)
            if told.why is None:
                parts(ledger, one, other, table, told, batch)
    if other is one and one.diff is not None:
        model(ledger, one, one, one.diff.get("model", []), "diff")
        for row in one.diff.get("model", []):
            ledger.equal("comparison has each one's numbers", one, row["batch"],
                         ("diff's JSON", row["latency_a_ns"]),
                         ("model_information", model_latency(one, row["batch"])))
