#!/usr/bin/env python3
"""Writes docs/frameworks.md: which framework gives what, as this build finds it on this machine.

    tools/frameworks_table.py [--xsp build/release/bin/xsp] [--add FILE.json ...] [--save FILE.json]
    tools/frameworks_table.py --check [--xsp build/release/bin/xsp]

Every framework that `xsp doctor` finds here profiles the small model of its conformance suite at the
levels model and layer, on each of its devices. What a run recorded is what the table says. --save keeps
the rows, to be added (--add) on another machine to the ones found there: a row of the same framework,
version and device replaces the older one. Rows of versions that are not here stay out: add theirs.

--check runs no model: it exits with 1, a line for each, if a framework that is here runs on other devices
or opens other files than the committed table says, if one that xsp pins has another version, or if an
adapter has no row.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


# OpenCV takes an OpenCL device that is no GPU, as PoCL's, only if it is told to.
ANY_DEVICE = {"OPENCV_OPENCL_DEVICE": ":CPU:", "OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES": "1"}


def run(xsp, *arguments):
    return subprocess.run([xsp, *arguments], capture_output=True, text=True, timeout=300, check=False,
                          env=ANY_DEVICE | os.environ)


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


def found_here(xsp):
    """The frameworks that are here, and on what: rows without levels."""
    rows = []
    for finding in json.loads(run(xsp, "doctor", "--format", "json").stdout):
        if finding["kind"] != "framework" or finding["name"] == "fake":
            continue
        found = re.match(r"(.*) on (.*), opens (.*), ([^,]*)$", finding["reason"])
        if finding["status"] != "available" or not found:
            continue
        version, devices, formats, library = found.groups()
        for device in devices.split(", "):
            rows.append({"framework": finding["name"], "version": version, "device": device,
                         "formats": formats, "is_pinned": "/xsp/" in library})
    return rows


def rows_here(xsp):
    return [{**row, "levels": measured(xsp, row["framework"], row["device"])} for row in found_here(xsp)]


def committed_rows():
    text = (ROOT / "docs/frameworks.md").read_text().partition("<!-- generated -->\n")[2]
    text = text.partition("<!-- end")[0]
    names = ("framework", "version", "device", "formats", "levels")
    return [dict(zip(names, (cell.strip() for cell in line.strip("|\n").split("|"))))
            for line in text.splitlines()[2:]]


def wrong_rows(xsp):
    """What the committed table says otherwise than this machine, a line for each."""
    rows = committed_rows()
    adapters = {file.stem for file in (ROOT / "adapters").glob("*.cc")} - {"fake"}
    for name in sorted(adapters - {row["framework"] for row in rows}):
        yield f"{name}: it has no row: run tools/frameworks_table.py where the framework is"
    for here in found_here(xsp):
        keys = ["framework", "device", "formats"] + (["version"] if here["is_pinned"] else [])
        if not any(all(row[key] == here[key] for key in keys) for row in rows):
            yield (f"{here['framework']}: no row says {here['version']} on {here['device']}, opens "
                   f"{here['formats']}: run tools/frameworks_table.py")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--xsp", default=str(ROOT / "build/release/bin/xsp"))
    parser.add_argument("--add", action="append", default=[])
    parser.add_argument("--save")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        wrong = list(wrong_rows(options.xsp))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        sys.exit(1 if wrong else 0)
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
