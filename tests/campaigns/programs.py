#!/usr/bin/env python3
"""Runs difficult programs bare and under `xsp run`: their output, their end, their view of themselves and the
files that they leave must be the same.

  tests/campaigns/programs.py --xsp BIN/xsp [--count N | --seconds S] [--seed N] [--keep DIR] [--only NAME]

The programs are in difficult_*.py beside this file. Each runs twice bare; values that differ then (a
process id, a time) are unsteady, and are not compared. Prints counts by verdict; exits 1 for any
difference that is not in KNOWN below. With --seconds the programs run again and again, with other options
of `xsp run`.
"""

import collections
import ctypes
import difflib
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import campaign
import difficult_c
import difficult_python
import difficult_signals
import difficult_system
import difficult_tools

LIMIT_S = 90  # far above the time of any of them
NOT_HERE = 77
OPTIONS = [["--quiet"], ["--leveled=no"], ["--levels", "all"], ["--stacks", "1000"], ["--no-stacks"],
           ["--sample", "1/2"], ["--steps", "1:3"], ["--delay", "0.01", "--duration", "0.05"],
           ["--max-size", "2MB"]]

# The allowed differences: programs, output, lines that are removed from both, and the reason.
OURS = (r"(ASAN_OPTIONS|CUDA_INJECTION64_PATH|INTEL_LIBITTNOTIFY64|LD_PRELOAD|NVTX_INJECTION64_PATH|"
        r"OPENCL_LAYERS|PYTHONPATH|XSP_COLLECTORS|XSP_LEVELS|XSP_RUN)")
ENVIRONMENT = "programs inherit xsp's library, and what it has to know, by the environment"
PYTHON = "the package xsp is in every Python that is run so, and wraps what it records"
KNOWN = [
    (r"state.*", "stdout", r"Threads:|SigCgt:\s|signal 3[23]: caught",
     "the process has threads of xsp's, for which the C library catches two signals of its own"),
    (r"state.*", "stdout", rf"env ({OURS}|_)=", ENVIRONMENT),
    (r"environment", "stdout", rf"{OURS}=", ENVIRONMENT),
    (r"state.*", "stdout", r"fd (9|1[01]|1[5-9]\d|[5-9]\d\d|1\d\d\d) .*\.xtrace",
     "the trace is open, at a number from 500 on or in the last quarter of those that are allowed"),
    (r"state_all_closed", "stdout", r"fd 1 \S+/state.txt ", "the list is longer by what is told above"),
    (r"state_session", "stdout", r"policy 0 leader",
     "the session's leader is xsp, whose child the program is"),
    (r"py_(inside|flags_.*|isolated.*)", "stdout", rf"environment {OURS} ", ENVIRONMENT),
    (r"py_(inside|flags_.*)", "stdout",
     r"path .*/xsp/python(/start)?$|module (xsp(\.\w+)?|sitecustomize|gc|importlib\.\w+)$|"
     r"collector calls install\.<locals>\.watch$|finder <xsp\._attach\._Finder object at 0x>$", PYTHON),
    (r"py_import_times", "stdout", r"(xsp(\.\w+)?|sitecustomize|gc|importlib\.(abc|machinery))$", PYTHON),
    (r"py_fault_handler", "stderr", r"Extension modules: xsp\._native \(total: 1\)$|$", PYTHON),
    (r"gdb", "stdout", r"(Program|Thread 1 \S+) received signal SIGSEGV",
     "a debugger calls a process with a thread of xsp's one of threads"),
    (r"files_few", "stderr",
     r"ERROR: ld\.so: object '\S*/libxsp-attach\.so' from LD_PRELOAD cannot be preloaded",
     "a process that may open no file loads no library; it does not start alone, either"),
    (r"not_there", "ended|stdout|stderr", r"12[67]$|error: |/bin/bash: ",
     "what cannot be run ends with 127 and xsp's message, as the help says"),
]
# Programs for which no evaluation is written, and the reason.
UNWATCHED = {"sanitizer": "programs with a sanitizer run unwatched", "musl": "programs of musl run unwatched",
             "not_there": "nothing ran"}


class Program:
    """Describes a line of a shell, and its requirements."""

    def __init__(self, name, line):
        self.name, self.line = name, line
        self.needs = difficult_tools.NEEDS.get(name)

    def missing(self):
        """Returns why it cannot be run here; nothing if it can."""
        for tool in [self.needs] + ["cc"] * ("{bin}" in self.line):
            if tool and not shutil.which(tool):
                return f"no {tool}"
        if self.name in difficult_tools.ROOT and os.getuid() != 0:
            return "not root"
        return ""


def sources():
    """Returns all C programs, by name."""
    return {**difficult_c.SOURCES, **difficult_signals.SOURCES, **difficult_system.SOURCES}


def programs():
    """Returns all programs. Those in C that no line starts are started alone."""
    lines = {**difficult_tools.LINES, **difficult_python.LINES}
    helpers = {"state", "starts", "library", "audit", "signal_ends", "segv", "overflow_survived"}
    for name in sources():
        if name not in helpers:
            lines[name] = f"exec {{run}} {{bin}}/{name}"
    return [Program(name, line) for name, line in sorted(lines.items())]


class Place:
    """Manages the folder where programs are compiled, run and examined."""

    def __init__(self, folder, xsp):
        self.folder, self.xsp = folder, xsp
        self.bin, self.scripts = os.path.join(folder, "bin"), os.path.join(folder, "scripts")
        for one in (self.bin, self.scripts, os.path.join(folder, "cache")):
            os.mkdir(one)
        for name, text in difficult_python.SCRIPTS.items():
            with open(os.path.join(self.scripts, name + ".py"), "w", encoding="utf-8") as file:
                file.write(text)
        self.environment = {"PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
                            "HOME": folder, "LANG": "C.UTF-8", "PROGRAMS": self.bin,
                            "CACHE": os.path.join(folder, "cache"), "TMPDIR": os.path.join(folder, "tmp")}
        for key in ("RUSTUP_HOME", "CARGO_HOME"):
            default = os.path.expanduser("~/." + key.split("_", maxsplit=1)[0].lower())
            self.environment[key] = os.environ.get(key, default)

    def compile(self, name):
        """Compiles a program once. Returns false if that is impossible."""
        path = os.path.join(self.bin, name)
        if not os.path.exists(path):
            command = ["cc", "-w", "-O1", "-pthread", "-x", "c", "-", "-o", path,
                       *difficult_system.FLAGS.get(name, [])]
            source = (difficult_c.PROLOGUE + sources()[name]).encode()
            done = subprocess.run(command, input=source, stderr=subprocess.PIPE, check=False)
            if done.returncode != 0 and name not in difficult_system.FLAGS:
                sys.exit(f"{name} does not compile: {done.stderr.decode()}")
        return os.path.exists(path)

    def run(self, line, before):
        """Runs a line, and returns its output, its end, and the files that it leaves."""
        work = os.path.join(self.folder, "work")
        for one in (work, self.environment["TMPDIR"]):
            shutil.rmtree(one, ignore_errors=True)
            os.mkdir(one)
        text = line.format(run=before, bin=self.bin, scripts=self.scripts, python=sys.executable)
        process = subprocess.Popen(["/bin/bash", "-c", text], cwd=work, env=self.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = {}
        try:
            out, err = process.communicate(b"", timeout=LIMIT_S)
            seen["ended"] = [f"{process.returncode}"]
        except subprocess.TimeoutExpired:
            seen["ended"] = ["hung"]
            while found := [pid for pid in descendants() if not is_ended(pid)]:
                for pid in found:
                    end(pid)
            out, err = process.communicate()
        seen["stdout"], seen["stderr"] = lines_of(out), lines_of(err)
        seen["processes left"] = left_over()
        seen["files"] = files_of(work)
        seen["temporary files"] = files_of(self.environment["TMPDIR"])
        return seen


def lines_of(text):
    """Returns lines, byte by byte, without addresses, which the system chooses anew each time."""
    return re.sub(r"0x[0-9a-f]{6,}", "0x", text.decode("latin-1")).split("\n")


def descendants():
    """Returns every process below this one."""
    found, known = [], [os.getpid()]
    while known:
        pid = known.pop()
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    known += (children := [int(one) for one in file.read().split()])
                    found += children
        except OSError:
            continue
    return found


def is_ended(pid):
    """Returns whether a process is gone, or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def left_over():
    """Returns the names of processes that still run long after the program's end, and ends them."""
    names, until = [], time.monotonic() + 2
    while time.monotonic() < until and not all(is_ended(pid) for pid in descendants()):
        time.sleep(0.05)
    for pid in descendants():
        try:
            with open(f"/proc/{pid}/comm", encoding="latin-1") as file:
                name = file.read().strip()
        except OSError:
            continue
        if not is_ended(pid):
            names.append(name)
            end(pid)
    try:
        while os.waitpid(-1, 0)[0]:
            pass
    except ChildProcessError:
        pass
    return sorted(names)


def files_of(folder):
    """Returns every file below a folder: name, mode, owner, and content."""
    found = []
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            whole = os.path.join(path, name)
            status = os.lstat(whole)
            digest = ""
            if name in files and not os.path.islink(whole) and os.path.isfile(whole):
                with open(whole, "rb") as file:
                    digest = hashlib.md5(file.read()).hexdigest()[:8]
            found.append(f"{os.path.relpath(whole, folder)} {status.st_mode:o} {status.st_uid} {digest}")
    return sorted(found)


def known(name, what, seen):
    """Returns the output of some runs without the allowed differences, and the reasons of those."""
    reasons = []
    for names, where, lines, reason in KNOWN:
        if what in where.split("|") and re.fullmatch(names, name):
            less = [[line for line in one if not re.match(lines, line)] for one in seen]
            if [len(one) - len(rest) for one, rest in zip(seen[1:], less[1:])] != [0, 0]:
                reasons.append(reason)
            seen = less
    return seen, reasons


def differences(name, bare, again, watched):
    """Returns the differences that are neither unsteady nor known, the reasons of the known ones, and the
    unsteady ones."""
    found, reasons, unsteady = [], [], []
    for what in bare:
        (first, second, third), why = known(name, what, [bare[what], again[what], watched[what]])
        if bare[what] != watched[what]:
            reasons += why
        if first != second:
            unsteady.append(what)
            if len(first) != len(second) or len(second) != len(third):
                continue
            steady = [i for i, line in enumerate(first) if line == second[i]]
            first, third = [first[i] for i in steady], [third[i] for i in steady]
        if first != third:
            lines = difflib.unified_diff(first, third, n=1, lineterm="")
            found += [f"{what}: {line}" for line in lines if line[:3] not in ("---", "+++")]
    return found, reasons, unsteady


def judge(place, program, options, keep):
    """Runs a program three times. Returns its verdict and the reasons of differences."""
    missing = program.missing()
    for name in re.findall(r"\{bin\}/(\w+)", program.line) + (["library"] if "loads" in program.line else []):
        if not missing and not place.compile(name):
            missing = f"{name} cannot be linked"
    if missing:
        return "skipped", [missing]
    bare = place.run(program.line, "")
    if str(NOT_HERE) in bare["ended"]:
        return "skipped", ["not possible here"]
    again = place.run(program.line, "")
    output = os.path.join(place.folder, "out")
    os.mkdir(output)
    quiet = [] if "--quiet" in options else ["--quiet"]
    command = [place.xsp, "run", *quiet, *options, "-o", output + "/$BASHPID.xsp", "--"]
    watched = place.run(program.line, " ".join(command))
    is_written = bool(os.listdir(output))
    shutil.rmtree(output)
    found, reasons, unsteady = differences(program.name, bare, again, watched)
    if watched["ended"] == ["hung"] and bare["ended"] != ["hung"]:
        return "hung", found
    if found:
        if keep:
            for name, seen in (("bare", bare), ("again", again), ("watched", watched)):
                folder = os.path.join(keep, program.name)
                os.makedirs(folder, exist_ok=True)
                with open(os.path.join(folder, name), "w", encoding="latin-1") as file:
                    file.writelines(f"{what}: {line}\n" for what, lines in seen.items() for line in lines)
        return "different", found
    if not is_written and program.name not in UNWATCHED:
        return "no evaluation", []
    if reasons:
        return "known", reasons
    return ("unsteady", unsteady) if unsteady else ("same", [])


def main():
    parser = campaign.arguments(__doc__, count=0, count_help="how many of the programs; else all")
    parser.add_argument("--keep", help="where what differs is written")
    parser.add_argument("--only", help="this program alone")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    every = [one for one in programs() if options.only in (None, one.name)]
    if not every:
        sys.exit(f"no program is called {options.only}")
    if options.count:
        every = rng.sample(every, min(options.count, len(every)))
    options.count = len(every)
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphans of a program become children of this
                                    # process
    counts, reasons, rounds = collections.Counter(), collections.Counter(), campaign.Rounds(options)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, os.path.abspath(options.xsp))
        for number in rounds:
            more = OPTIONS[0] if number < len(every) else rng.choice(OPTIONS)
            program = every[number] if number < len(every) else rng.choice(every)
            verdict, texts = judge(place, program, more, options.keep)
            counts[verdict] += 1
            if verdict == "known":
                reasons.update(set(texts))
            elif verdict != "same":
                print(f"{program.name} ({' '.join(more)}): {verdict}", *texts, sep="\n    ", flush=True)
    for reason, count in sorted(reasons.items()):
        print(f"known, {count} times: {reason}")
    print(f"{rounds.done} programs in {rounds.seconds:.0f} s: "
          + ", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    return 1 if counts["different"] + counts["hung"] + counts["no evaluation"] else 0


if __name__ == "__main__":
    sys.exit(main())
