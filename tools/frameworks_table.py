#!/usr/bin/env python3
"""Writes docs/frameworks.md: which framework gives what, as this build finds it on this machine.

    tools/frameworks_table.py [--xsp build/release/bin/xsp] [--add FILE.json ...] [--save FILE.json]

Every framework that `xsp doctor` finds here profiles the small model of its conformance suite at the
levels model and layer, on each of its devices. What a run recorded is what the table says. --save keeps
the rows, to be added (--add) on another machine to the ones found there: a row of the same framework,
version and device replaces the older one.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(xsp, *arguments):
    return subprocess.run([xsp, *arguments], capture_output=True, text=True, timeout=300, check=False)


def small_model(framework):
    manifest = ROOT / "tests/contract/manifests" / framework
    if not manifest.exists():
        return None
    found = re.search(r"^model = (.*)$", manifest.read_text(), re.MULTILINE)
    if not found:
        return None
    file = ROOT / "tests/data" / found.group(1)
    return str(file) if file.exists() else found.group(1)


def measured(xsp, framework, device):
    """The levels that a run of the small model recorded, or why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "t.xsp")
        model = small_model(framework)
        done = run(xsp, "profile", model, "--framework", framework, "--device", device,
                   "--levels", "model,layer", "--max-time", "2", "-o", out)
        rows = run(xsp, "query", out, "SELECT DISTINCT level FROM span ORDER BY 1", "--format", "json")
        if rows.returncode != 0:
            return (done.stderr.strip().splitlines() or ["failed"])[-1].removeprefix("error: ")
        names = {1: "application", 2: "model", 3: "layer"}
        return ", ".join(names.get(row["level"], str(row["level"])) for row in json.loads(rows.stdout))


def rows_here(xsp):
    rows = []
    for finding in json.loads(run(xsp, "doctor", "--format", "json").stdout):
        if finding["kind"] != "framework" or finding["name"] == "fake":
            continue
        found = re.match(r"(.*) on (.*), opens (.*), [^,]*$", finding["reason"])
        if finding["status"] != "available" or not found:
            continue
        version, devices, formats = found.groups()
        for device in devices.split(", "):
            rows.append({"framework": finding["name"], "version": version, "device": device,
                         "formats": formats, "levels": measured(xsp, finding["name"], device)})
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xsp", default=str(ROOT / "build/release/bin/xsp"))
    parser.add_argument("--add", action="append", default=[])
    parser.add_argument("--save")
    options = parser.parse_args()
    rows = rows_here(options.xsp)
    if options.save:
        pathlib.Path(options.save).write_text(json.dumps(rows, indent=1) + "\n")
        return
    for file in options.add:
        rows = json.loads(pathlib.Path(file).read_text()) + rows
    unique = {(row["framework"], row["version"], row["device"]): row for row in rows}
    lines = ["| framework | version tried | device | opens | levels that its adapter recorded |",
             "|---|---|---|---|---|"]
    for row in sorted(unique.values(), key=lambda r: (r["framework"], r["device"], r["version"])):
        lines.append("| {framework} | {version} | {device} | {formats} | {levels} |".format(**row))
    page = ROOT / "docs/frameworks.md"
    head, _, rest = page.read_text().partition("<!-- generated -->\n")
    tail = rest.partition("<!-- end -->")[2]
    page.write_text(head + "<!-- generated -->\n" + "\n".join(lines) + "\n<!-- end -->" + tail)


if __name__ == "__main__":
    main()
