#!/usr/bin/env python3
"""Writes docs/frameworks.md: the levels of each framework, as this build finds them on this machine.

    tools/frameworks_table.py [--xsp build/release/bin/xsp] [--evaluation FILE.xsp ...]
    tools/frameworks_table.py --check [--xsp build/release/bin/xsp]

Every framework that `xsp doctor` finds here profiles the small model of its conformance suite at the
levels model and layer, on each of its devices. The table shows the levels that the runs recorded. Rows of
devices that are not here stay as they are; --evaluation makes a row from a profile of another machine.

--check runs no model: it exits with 1, and prints a line for each difference, if a framework that is here
runs on other devices or opens other files than the committed table says, if one that xsp pins has another
version, or if an adapter has no row.
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


# OpenCV uses an OpenCL device that is no GPU, such as PoCL's, only with these settings.
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
    """Returns the levels that a run of the small model recorded, or why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder) / "t.xsp")
        model = small_model(framework)
        done = run(xsp, "profile", model, "--framework", framework, "--device", device,
                   "--levels", "model,layer", "--max-time", "2", "-o", out)
        why = (done.stderr.strip().splitlines() or ["failed"])[-1]
        return levels_of(xsp, out) or why.removeprefix("error: ")


def query(xsp, file, sql):
    done = run(xsp, "query", file, sql, "--format", "json")
    return json.loads(done.stdout) if done.returncode == 0 else []


def levels_of(xsp, file):
    """Returns the levels that an adapter records, from those in an evaluation."""
    names = {2: "model", 3: "layer"}
    levels = query(xsp, file, "SELECT DISTINCT level FROM span WHERE level IN (2, 3) ORDER BY 1")
    return ", ".join(names[row["level"]] for row in levels)


def formats_of(framework):
    """Returns the suffixes of the files that the framework's adapter opens, as its source declares them."""
    source = (ROOT / "adapters" / f"{framework}.cc").read_text()
    declared = re.search(r'"((?:\.\w+,)*\.\w+)"', source)
    if not declared:
        sys.exit(f"error: adapters/{framework}.cc: declares no suffixes of files")
    return declared.group(1).replace(",", ", ")


def row_of(xsp, file):
    facts = query(xsp, file, """SELECT DISTINCT framework, framework_version,
                                  split_part(device, ':', 1) AS device
                                FROM run""")
    if len(facts) != 1:
        sys.exit(f"error: {file}: not an evaluation of one framework on one device")
    fact = facts[0]
    return {"framework": fact["framework"], "version": fact["framework_version"], "device": fact["device"],
            "formats": formats_of(fact["framework"]), "levels": levels_of(xsp, file)}


def found_here(xsp):
    """Returns the frameworks on this machine and their devices: rows without levels."""
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
    """Returns the differences between the committed table and this machine, a line for each."""
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
    parser.add_argument("--evaluation", action="append", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        wrong = list(wrong_rows(options.xsp))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        sys.exit(1 if wrong else 0)
    rows = rows_here(options.xsp)
    elsewhere = (row_of(options.xsp, file) for file in options.evaluation)
    rows += {(row["framework"], row["version"], row["device"]): row for row in elsewhere}.values()
    # For frameworks that xsp pins, this machine's version is the right one; others were tried elsewhere.
    pinned = {(row["framework"], row["device"]) for row in rows if row.get("is_pinned")}
    rows = [row for row in committed_rows() if (row["framework"], row["device"]) not in pinned] + rows
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
