#!/usr/bin/env python3
"""Runs the planted programs bare and under `xsp run`, and checks that xsp's first finding names the planted
cause.

  score.py [--device cpu|gpu] [--only NAME...] [--installed TREE] [--json] [--keep DIR] [--gate PERCENT]
  score.py --bare                        the programs alone: what mending gains
  score.py --markdown RESULTS.json...    writes the table of docs/planted.md from what --json printed

A program is right if the first finding has the planted rule; with two causes, if it has one of them and
another finding has the other; a program without a cause, if no finding promises more than 10 %. The gain,
in % of a period, is measured by running the program and its mended twin in turns, without xsp. It should
lie between half the bound and the bound.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
DOCUMENT = TREE / "docs" / "planted.md"
SKIPPED = 77  # as in common.py
LIMIT_SECONDS = 180  # for a program and xsp's analysis of it
GOOD_PCT_MAX = 10  # a bound up to here is no advice
NO_RULES = ("doubt", "unasked")  # rows that are no findings
NOISE_PCT = 2  # % of a period: two measurements of the same program may differ by this
LEAST_RATIO = 1.2  # a mended twin must be faster by this factor
TURNS_MAX = 7  # of a twin that seems no faster: other programs on the machine delay single turns


class NotRun(Exception):
    """Reports a program that cannot run here, and the reason."""


@dataclasses.dataclass
class Program:
    path: pathlib.Path
    rules: list  # for each cause its correct names, of which one suffices
    culprits: list  # names, one of which must be found
    device: str
    seconds: float
    cause: str
    bound: str

    @property
    def name(self):
        return self.path.stem

    @property
    def is_good(self):
        return self.rules == [["none"]]

    @property
    def wanted(self):
        return "+".join("|".join(names) for names in self.rules)


def read(path):
    """Reads a program's description from the first lines of its text."""
    facts = dict(re.findall(r"^(?:#|//) (planted|cause|bound): (.*)$", path.read_text(), re.MULTILINE))
    planted = dict(pair.split("=", 1) for pair in facts["planted"].split(", "))
    rules = [names.split("|") for names in planted["rule"].split("+")]
    return Program(path, rules, planted["culprit"].split("|"), planted["device"],
                   float(planted.get("seconds", 0)), facts["cause"], facts["bound"])


def programs():
    paths = (path for path in HERE.iterdir() if path.suffix in (".py", ".cc", ".cu"))
    return [read(path) for path in sorted(paths) if path.name.startswith(("cpu_", "gpu_"))]


class Runner:
    """Runs programs: keeps the Python, the xsp, and the time limit."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.python = options.python or self._a_python()
        tree = pathlib.Path(options.installed) if options.installed else TREE / "build" / "release"
        self.xsp = str(options.xsp or tree / "bin" / "xsp")

    @staticmethod
    def _a_python():
        for one in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
            if one and subprocess.run([one, "-c", "import torch"], capture_output=True).returncode == 0:
                return one
        return sys.executable

    def command(self, program):
        if program.path.suffix == ".py":
            return [self.python, str(program.path)]
        binary = self.folder / program.name
        if not binary.exists():
            compiler = "nvcc" if program.path.suffix == ".cu" else os.environ.get("CXX", "g++")
            if shutil.which(compiler) is None:
                raise NotRun(f"no {compiler}")
            threads = ["-arch=native"] if compiler == "nvcc" else ["-pthread"]
            built = self.run([compiler, "-std=c++17", "-O2", *threads, str(program.path), "-o", str(binary)])
            if built.returncode != 0:
                raise RuntimeError(f"does not build: {built.stderr.strip().splitlines()[:1]}")
        return [str(binary)]

    def run(self, command, gpu=None):
        environment = dict(os.environ)
        if gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, env=environment,
                              cwd=self.folder)

    def seconds(self, program):
        return ["--seconds", str(max(self.options.seconds, program.seconds))]

    def rate(self, program, mended, gpu):
        """Returns steps per second, without xsp."""
        way = [] if mended is None else [f"--mended={mended}"] if mended != "all" else ["--mended"]
        done = self.run(self.command(program) + self.seconds(program) + way, gpu)
        return self.rate_of(done)

    @staticmethod
    def rate_of(done):
        if done.returncode == SKIPPED:
            raise NotRun(done.stdout.strip().splitlines()[-1].removeprefix("skipped: "))
        found = re.search(r"^steps_per_second (\S+)$", done.stdout, re.MULTILINE)
        if done.returncode != 0 or not found:
            last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise RuntimeError(f"status {done.returncode}: {last[:120]}")
        return float(found[1])

    def findings(self, program, gpu):
        """Returns xsp's findings in the planted program, in their order."""
        file = self.folder / f"{program.name}.xsp"
        file.unlink(missing_ok=True)
        command = self.command(program) + self.seconds(program)
        self.rate_of(self.run([self.xsp, "run", "--quiet", "-o", str(file), "--", *command], gpu))
        for verb in (["findings"], ["analyze", "findings"]):
            done = self.run([self.xsp, *verb, str(file), "--format", "json"])
            if done.returncode == 0:
                rows = json.loads(done.stdout)
                rows = rows if isinstance(rows, list) else rows["rows"]
                return [row for row in rows if row.get("rule") not in NO_RULES]
        return [{"finding": done.stderr.strip().splitlines()[-1], "is_error": True}]

    def gain(self, program, mended, gpu):
        """Returns the rates of the program and of its twin, and by how much, in % of a period, mending
        shortens it."""
        rates = ([], [])
        planted, fast = 0.0, 0.0
        while len(rates[0]) < self.options.repeats or (
                self.options.gate_twins and fast < LEAST_RATIO * planted and len(rates[0]) < TURNS_MAX):
            for twin, way in enumerate((None, mended)):
                rates[twin].append(self.rate(program, way, gpu))
            planted, fast = map(statistics.median, rates)
        return planted, fast, 100 * (1 - planted / fast)


def judge(program, rows):
    """Returns whether the findings are right: the columns of the table that follow from them."""
    told = [row for row in rows if row.get("rule") or "rule" not in row and row.get("gain_pct") is not None]
    bounds = [row["gain_pct"] for row in rows if row.get("gain_pct") is not None]
    if program.is_good:
        worst = max(bounds, default=0)
        above = [row for row in rows if (row.get("gain_pct") or 0) > GOOD_PCT_MAX]
        is_measured = not any(row.get("is_error") for row in rows)
        return {"first": _name((above or rows)[0]) if above or not is_measured else "",
                "right": not above and is_measured, "named": None, "bound_pct": worst}
    first = told[0] if told else {}
    others = {row.get("rule") for row in told[1:]}
    causes = [names for names in program.rules if first.get("rule") in names]
    is_right = bool(causes) and all(names in causes or others & set(names) for names in program.rules)
    text = " ".join(str(first.get(key) or "") for key in ("finding", "advice", "culprit", "layer", "check"))
    return {"first": _name(first or (rows or [{}])[0]), "rule": causes[0][0] if causes else None,
            "right": is_right, "named": any(culprit in text for culprit in program.culprits),
            "bound_pct": first.get("gain_pct")}


def _name(row):
    return row.get("rule") or row.get("finding") or ""


def measure(runner, program, gpu):
    result = {"program": program.name, "device": program.device, "wanted": program.wanted}
    try:
        mended = "all"
        if not runner.options.bare:
            result.update(judge(program, runner.findings(program, gpu)))
            # The twin mends only the cause that was found, because the bound is about nothing else.
            if len(program.rules) > 1 and result["rule"]:
                mended = result["rule"]
        if program.is_good:
            result["rate"] = runner.rate(program, None, gpu)
        else:
            result["rate"], result["mended_rate"], result["gain_pct"] = runner.gain(program, mended, gpu)
            bound = result.get("bound_pct")
            if bound is not None and result["right"]:
                gain = result["gain_pct"]
                result["inside"] = bound / 2 - NOISE_PCT <= gain <= bound + NOISE_PCT
        result["status"] = "ok"
    except NotRun as reason:
        result.update(status="skipped", reason=str(reason))
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        result.update(status="failed", reason=str(error)[:200])
    return result


def measure_all(runner, chosen):
    """Returns all results, in the programs' order; with several GPUs, as many programs run at a time."""
    gpus = queue.Queue()
    for number in range(runner.options.gpus):
        gpus.put(number if runner.options.gpus > 1 else None)

    lock, done = threading.Lock(), {}

    def one(program):
        gpu = gpus.get()
        try:
            result = measure(runner, program, gpu)
        finally:
            gpus.put(gpu)
        with lock:  # the results so far are kept if the rest fails
            done[program.name] = result
            results = [done[other.name] for other in chosen if other.name in done]
            (runner.folder / "score.json").write_text(as_json(results))
            print(line(cells(result)), file=sys.stderr, flush=True)
        return result

    with concurrent.futures.ThreadPoolExecutor(runner.options.gpus) as pool:
        return list(pool.map(one, chosen))


COLUMNS = ("program", "wanted", "first finding", "right", "named", "bound %", "gain %", "inside")


def cells(result):
    def yes(key):
        return {None: "-", True: "yes", False: "NO"}[result.get(key)]

    def number(key):
        return "-" if result.get(key) is None else f"{result[key]:.1f}"

    if result["status"] != "ok":
        return [result["program"], result["wanted"], f"{result['status']}: {result['reason']}", *["-"] * 5]
    return [result["program"], result["wanted"], result.get("first", "-") or "none", yes("right"),
            yes("named"), number("bound_pct"), number("gain_pct"), yes("inside")]


def line(texts):
    widths = (28, 34, 44, 5, 5, 7, 6, 6)
    return " ".join(f"{text[:width]:<{width}}" for text, width in zip(texts, widths)).rstrip()


def score(results):
    """Returns, in per cent, the programs that are right, and the gains that lie within their bounds."""
    ran = [one for one in results if one["status"] != "skipped"]
    with_cause = [one for one in ran if one["wanted"] != "none"]

    def share(part, whole):
        return 100 * len(part) / len(whole) if whole else 0.0

    return {"ran": len(ran), "skipped": len(results) - len(ran),
            "right_pct": share([one for one in ran if one.get("right")], ran),
            "inside_pct": share([one for one in with_cause if one.get("inside")], with_cause)}


def as_json(results):
    return json.dumps({"programs": results, "score": score(results)}, indent=1)


def write_document(files):
    """Replaces the table of the document with the results in the files."""
    told = [json.loads(pathlib.Path(file).read_text())["programs"] for file in files]
    results = {one["program"]: one for programs_of_file in told for one in programs_of_file}
    rows = [["program", "what was planted", *COLUMNS[1:]]]
    for program in programs():
        empty = {"program": program.name, "status": "skipped", "reason": "not run yet"}
        shown = cells({**results.get(program.name, empty), "wanted": program.wanted})
        cause = program.cause.removeprefix("there is none: ").rstrip(".")
        rows.append([f"`{shown[0]}`", cause, *(cell.replace("|", " or ")[:60] for cell in shown[1:])])
    rows.insert(1, ["---"] * len(rows[0]))
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    text = DOCUMENT.read_text()
    marked = re.compile(r"(<!-- table -->\n).*(\n<!-- end -->)", re.DOTALL)
    DOCUMENT.write_text(marked.sub(lambda found: found[1] + table + found[2], text))


def weak(result):
    """Returns the programs without a result: they failed, or their twin is no faster."""
    if result["status"] == "ok" and result["wanted"] != "none":
        return result["mended_rate"] < LEAST_RATIO * result["rate"]
    return result["status"] == "failed"


def parse():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--device", choices=("cpu", "gpu"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="those whose names hold one of these")
    parser.add_argument("--installed", metavar="TREE", help="an installed xsp; else build/release")
    parser.add_argument("--xsp", help="the program xsp itself")
    parser.add_argument("--python", help="that runs the programs; else one that has torch")
    parser.add_argument("--repeats", type=int, default=3, help="bare runs of each twin, in turns")
    parser.add_argument("--seconds", type=float, default=5, help="that each program runs")
    parser.add_argument("--gpus", type=int, default=1, help="programs run beside each other on so many")
    parser.add_argument("--bare", action="store_true", help="the programs alone, without xsp")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--keep", metavar="DIR", help="keep the .xsp files there, and score.json")
    parser.add_argument("--gate", type=float, metavar="PERCENT", help="exit status 1 if fewer are right")
    parser.add_argument("--gate-inside", type=float, metavar="PERCENT", help="or fewer gains within bounds")
    parser.add_argument("--gate-twins", action="store_true",
                        help=f"or a program fails, or its twin is not {LEAST_RATIO} times as fast, "
                             f"in the median of up to {TURNS_MAX} turns")
    parser.add_argument("--markdown", nargs="*", metavar="RESULTS", help="write the table of docs/planted.md")
    return parser.parse_args()


def main():
    options = parse()
    if options.markdown is not None:
        write_document(options.markdown)
        return 0
    chosen = [one for one in programs() if options.device in (None, one.device)
              and (not options.only or any(name in one.name for name in options.only))]
    if not chosen:
        sys.exit("error: there is no such program")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        results = measure_all(Runner(options, folder), chosen)
    total = score(results)
    if options.json:
        print(as_json(results))
    else:
        print("\n".join(map(line, [COLUMNS, *map(cells, results)])))
        print(f"{total['right_pct']:.0f} % right, {total['inside_pct']:.0f} % of the gains within bounds; "
              f"{total['ran']} ran, {total['skipped']} skipped")
    faults = [result["program"] for result in results if options.gate_twins and weak(result)]
    for name in faults:
        print(f"failed, or its twin is no faster: {name}", file=sys.stderr)
    if total["ran"] == 0:
        return SKIPPED
    is_low = total["right_pct"] < (options.gate or 0) or total["inside_pct"] < (options.gate_inside or 0)
    return 1 if is_low or faults else 0


if __name__ == "__main__":
    sys.exit(main())
