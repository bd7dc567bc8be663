#!/usr/bin/env python3
"""Writes docs/measurements.md from the tables of bench/results: each figure beside its budget.

  tools/budgets.py              writes the page
  tools/budgets.py --check      exits with 1 if the page is not what would be written
  tools/budgets.py --self-test  feeds the rules something good and something bad

bench/results/subjects.csv has the subjects in the order of the page, and machines.csv the machines. Every
other file, SUBJECT.csv, has one figure in each row:

  quantity  what was measured; `ITEM | PROPERTY` puts a figure without a budget into a table of items
  unit      the unit of `budget` and `measured`
  budget    empty, `<=NUMBER` or `>=NUMBER`
  measured  a number, a range (`1.2 to 1.5`), either with an interval or a note in brackets, or a text
  machine   a name in machines.csv, or empty if it does not matter or nobody wrote it down
  date      YYYY-MM-DD, or empty if nobody wrote it down
  command   the command, or empty if nobody wrote it down
  note      one sentence, or empty

The page says whether a budget is met: the worse end of a range decides, and an interval in brackets does not.
"""
import argparse
import csv
import difflib
import pathlib
import re
import sys
import textwrap
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
PAGE = ROOT / "docs/measurements.md"
COLUMNS = ["quantity", "unit", "budget", "measured", "machine", "date", "command", "note"]
WIDTH = 150
NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})(?: to ({NUMBER}))?(?: [\[(].*[\])])?$")
INTRODUCTION = """
`tools/budgets.py` wrote this page from the tables in [bench/results](../bench/results), and a test compares
the two. To change a figure, change its row there and run the script again. Where a figure has a budget, the
page says whether it is met: the worse end of a range decides; an interval in brackets is the 95 % interval,
or the range of the processes, and does not count. Numbers in the column `command` are those of the commands
below the tables; programs without a path lie in `build/release/bin`. A row without a command has none on
record. Builds are release builds of g++ 12, version 0.1.0, and a machine was idle where no note says
otherwise. Ratios carry over from machine to machine; absolute figures drift by 20 % on guests.
"""


def fail(message):
    sys.exit(f"budgets: {message}")


def read(name, columns):
    with open(RESULTS / f"{name}.csv", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != columns:
            fail(f"{name}.csv: the columns should be {','.join(columns)}")
        rows = list(reader)
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            fail(f"{name}.csv: row {number} has {'more' if None in row else 'fewer'} cells than the header")
    return rows


def check(row, machines):
    """Returns an objection to a row, or None."""
    if not row["quantity"] or not row["measured"]:
        return "a row needs a quantity and a measured figure"
    if row["budget"] and not re.fullmatch(rf"[<>]={NUMBER}", row["budget"]):
        return f"budget {row['budget']}: not <=NUMBER or >=NUMBER"
    if row["budget"] and not RANGE.match(row["measured"]):
        return f"measured {row['measured']}: cannot be compared with a budget"
    if row["budget"] and " | " in row["quantity"]:
        return "a quantity with a budget has no place in a table of items"
    if row["machine"] and row["machine"] not in machines:
        return f"machine {row['machine']}: not in machines.csv"
    if row["date"] and not re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"]):
        return f"date {row['date']}: not YYYY-MM-DD"
    return None


def number(text):
    return Decimal(text.replace(",", ""))


def met(row):
    """Returns whether a row meets its budget, or by how much it misses; empty without a budget."""
    if not row["budget"]:
        return ""
    limit, at_most = number(row["budget"][2:]), row["budget"].startswith("<")
    ends = [number(end) for end in RANGE.match(row["measured"]).groups() if end]
    misses = sorted((end - limit) if at_most else (limit - end) for end in ends)
    if misses[-1] <= 0:
        return "yes"
    by = f"{misses[-1]} {row['unit']}".strip()
    if misses[0] <= 0:
        return f"**in part**: misses by up to {by}"
    several = f"{misses[0]} to " if misses[0] != misses[-1] else ""
    return f"**no**: misses by {several}{by}"


def table(heads, rows):
    """Returns a Markdown table without the columns that are empty in all rows."""
    kept = [i for i in range(len(heads)) if i == 0 or any(row[i] for row in rows)]
    lines = ["| " + " | ".join(heads[i] for i in kept) + " |", "|" + "---|" * len(kept)]
    lines += ["| " + " | ".join(row[i] for i in kept) + " |" for row in rows]
    return "\n".join(lines)


def only(rows, column):
    """Returns the value that all rows have in a column, or None."""
    values = {row[column] for row in rows}
    return values.pop() if len(values) == 1 else None


def with_unit(text, unit):
    return f"{text} {unit}".strip()


def budget(row):
    text = row["budget"].replace("<=", "≤ ").replace(">=", "≥ ")
    return with_unit(text, row["unit"]) if text else ""


def plain_table(rows, commands):
    heads = ["quantity", "measured", "budget", "met", "machine", "date", "command", "note"]
    return table(heads, [[
        row["quantity"], with_unit(row["measured"], row["unit"]), budget(row), met(row), row["machine"],
        row["date"], commands.get(row["command"], ""), row["note"]] for row in rows])


def item_tables(rows, commands):
    """Yields the tables of `ITEM | PROPERTY`; neighbouring items with a property in common share one."""
    tables = []  # (properties, items), where an item's cells are by property
    for row in rows:
        item, name = row["quantity"].split(" | ")
        key = (name, row["unit"])
        place = (item, row["machine"], row["date"], row["command"])
        if tables and place in tables[-1][1]:
            pass
        elif tables and key in tables[-1][0]:
            tables[-1][1][place] = {}
        else:
            tables.append(([], {place: {}}))
        properties, items = tables[-1]
        if key not in properties:
            properties.append(key)
        items[place][key] = row
    for properties, items in tables:
        heads = ["", *(f"{name}, {unit}" if unit else name for name, unit in properties),
                 "machine", "date", "command", "note"]
        yield table(heads, [[
            item, *(cells[key]["measured"] if key in cells else "" for key in properties), machine, date,
            commands.get(command, ""), " ".join(filter(None, (row["note"] for row in cells.values())))
        ] for (item, machine, date, command), cells in items.items()])


def section(subject, rows):
    parts = [f"## {subject['title']}"]
    if subject["introduction"]:
        parts.append("\n".join(textwrap.wrap(subject["introduction"], WIDTH, break_on_hyphens=False)))
    said = {"machine": only(rows, "machine"), "date": only(rows, "date")}
    place = ", ".join(filter(None, [said["machine"] and f"machine {said['machine']}", said["date"]]))
    if place:
        parts.append(place[0].upper() + place[1:] + ".")
        rows = [{**row, **{column: "" for column in said if said[column]}} for row in rows]
    used = list(dict.fromkeys(row["command"] for row in rows if row["command"]))
    alone = len(used) == 1 and only(rows, "command")
    commands = {} if alone else {command: str(i) for i, command in enumerate(used, 1)}
    plain = [row for row in rows if " | " not in row["quantity"]]
    if plain:
        parts.append(plain_table(plain, commands))
    parts += item_tables([row for row in rows if " | " in row["quantity"]], commands)
    if used:
        lines = [command if alone else f"{commands[command]}: {command}" for command in used]
        parts.append("```\n" + "\n".join(lines) + "\n```")
    return parts


def anchor(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def page(machines, subjects, results):
    rows = [(subject, row) for subject in subjects for row in results[subject["file"]]]
    judged = [(subject, row) for subject, row in rows if row["budget"]]
    missed = [(subject, row) for subject, row in judged if met(row) != "yes"]
    heads = ["missed", "measured", "budget", "met", "machine"]
    parts = ["# Measurements", "\n".join(textwrap.wrap(INTRODUCTION.strip(), WIDTH)),
             f"{len(rows)} figures; {len(judged)} have a budget: {len(judged) - len(missed)} meet it, and "
             f"{len(missed)} do not, or not with their whole range:",
             table(heads, [[f"[{subject['title']}](#{anchor(subject['title'])}): {row['quantity']}",
                            with_unit(row["measured"], row["unit"]), budget(row), met(row), row["machine"]]
                           for subject, row in missed]),
             "## Machines",
             table(["machine", "description"], [[row["machine"], row["description"]] for row in machines])]
    for subject in subjects:
        parts += section(subject, results[subject["file"]])
    return "\n\n".join(parts) + "\n"


def generate():
    machines = read("machines", ["machine", "description"])
    subjects = read("subjects", ["file", "title", "introduction"])
    names = {row["machine"] for row in machines}
    files = {path.stem for path in RESULTS.glob("*.csv")} - {"machines", "subjects"}
    listed = {subject["file"] for subject in subjects}
    if files != listed:
        fail(f"subjects.csv and the folder differ: {', '.join(sorted(files ^ listed))}")
    results = {}
    for name in files:
        results[name] = read(name, COLUMNS)
        for row_number, row in enumerate(results[name], 2):
            objection = check(row, names)
            if objection:
                fail(f"{name}.csv: row {row_number}: {objection}")
    return page(machines, subjects, results)


def self_test():
    cases = [("<=5", "4.7 to 6.0", "ns", "**in part**: misses by up to 1.0 ns"), ("<=5", "+1.1", "ns", "yes"),
             ("<=1", "+1.35 [0.21, 2.14]", "%", "**no**: misses by 0.35 %"), ("", "3", "s", ""),
             (">=20", "28", "M", "yes"), (">=4", "1.5 to 1.71", "M", "**no**: misses by 2.29 to 2.5 M"),
             ("<=2000", "2,691", "ms", "**no**: misses by 691 ms"), ("<=1", "-3.3", "%", "yes")]
    failures = 0
    for budget, measured, unit, wanted in cases:
        got = met({"budget": budget, "measured": measured, "unit": unit})
        if got != wanted:
            print(f"{measured} beside {budget}: {got!r}, not {wanted!r}")
            failures += 1
    good = dict.fromkeys(COLUMNS, "")
    good |= {"quantity": "a", "measured": "1", "machine": "A", "date": "2026-11-21"}
    bad = [{"measured": ""}, {"budget": "5"}, {"budget": "<=5", "measured": "none"}, {"machine": "C"},
           {"date": "today"}, {"budget": "<=5", "quantity": "a | b"}]
    failures += check(good, {"A"}) is not None
    for change in bad:
        if check(good | change, {"A"}) is None:
            print(f"no objection to {change}")
            failures += 1
    print(f"budgets: {len(cases) + len(bad) + 1} cases, {failures} failures", file=sys.stderr)
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    text = generate()
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if there == text:
        return 0
    sys.stdout.writelines(difflib.unified_diff(there.splitlines(True), text.splitlines(True),
                                               "docs/measurements.md", "bench/results", n=0))
    print("budgets: docs/measurements.md is not what tools/budgets.py writes: run it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
