#!/usr/bin/env python3
"""Walks through the first ten minutes with PyTorch, checks each step, and writes docs/first_minutes.md.

  tools/first_minutes.py --wheel FILE [--torch ENVIRONMENT] [-o docs/first_minutes.md]
        installs PyTorch and the wheel into a new virtual environment; or the wheel into ENVIRONMENT
  tools/first_minutes.py --xsp PROGRAM --python PROGRAM
        walks with what is installed there, as the test does

All commands run in a new folder with a home of its own, so that nothing is cached.
"""

import argparse
import glob
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_MAX = 600
TURNS_MAX = 5  # of what other programs disturb
ROUNDS = 3  # of the program without xsp, before and after, in turns

# The change that the finding advises, as the user makes it.
BEFORE = """\
    pixels = photo.flatten().tolist()
    values = [(pixel / 255 - MEAN[i % 3]) / SPREAD[i % 3] for i, pixel in enumerate(pixels)]
    return torch.tensor(values).reshape(1, 224, 224, 3).permute(0, 3, 1, 2)
"""
AFTER = """\
    values = (photo / 255 - torch.tensor(MEAN)) / torch.tensor(SPREAD)
    return values.permute(2, 0, 1).unsqueeze(0)
"""
PROGRESS = re.compile(r"(opening the model( and running it once)?|collecting the trace) ?(\(.*\))?$"
                      r"|^measuring the machine's ceilings$"
                      r"|^writing \S+$|^\S+ on cpu$"
                      r"|^  \S+(, batch \d+)?(: | +)(waiting|warming up|measuring|narrow enough|\d+ inf)")


class Walk:
    """A user's terminal: runs commands, and keeps what they print and how long they take."""

    def __init__(self, folder, path):
        self.folder = folder
        self.steps = []  # what, seconds
        # No variable of the caller's speaks to the libraries that are measured.
        self.environment = {"PATH": path, "HOME": str(folder / "home"), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        for name in ("PIP_CERT", "PIP_DEFAULT_TIMEOUT", "SSL_CERT_FILE"):  # of this machine's network
            if name in os.environ:
                self.environment[name] = os.environ[name]
        (folder / "home").mkdir()

    def run(self, command, what):
        begin = time.monotonic()
        done = subprocess.run(command, shell=True, cwd=self.folder / "user", env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, executable="/bin/bash")
        self.steps.append((what, time.monotonic() - begin))
        if done.returncode != 0:
            fail(f"{command}: exit status {done.returncode}:\n{done.stdout}")
        # The folder is a temporary one, whose name tells a reader nothing.
        return done.stdout.replace(str(self.folder / "home"), "~").replace(f"{self.folder / 'user'}/", "")


def fail(text):
    sys.exit(f"first_minutes: {text}")


def check(holds, text, output):
    if not holds:
        fail(f"{text}:\n{output}")


def found(pattern, output):
    match = re.search(pattern, output)
    check(match, f"the output lacks {pattern!r}", output)
    return match


def milliseconds(output):
    """Returns how long a step takes, as the answer says."""
    match = found(r"A step takes ([0-9.]+) (s|ms|us):", output)
    return float(match[1]) * {"s": 1e3, "ms": 1, "us": 1e-3}[match[2]]


def words(output):
    return " ".join(output.split())


def without_progress(output):
    return "".join(line for line in output.splitlines(True) if not PROGRESS.search(line.rstrip()))


def megabytes(folder):
    return sum(file.lstat().st_size for file in pathlib.Path(folder).rglob("*") if not file.is_dir()) / 1e6


def install(walk, options):
    """Makes the environment. Returns the lines of the page about it."""
    env = walk.folder / "user" / "env"
    if options.torch:
        env.symlink_to(pathlib.Path(options.torch).resolve())
        walk.run("env/bin/pip uninstall --quiet --yes xsp", "")
        walk.steps.pop()
    else:
        walk.run("python3 -m venv env && env/bin/pip install --quiet torch numpy",
                 "`pip install torch numpy`")
    before = megabytes(env.resolve())
    wheel = pathlib.Path(options.wheel).resolve()
    (walk.folder / "user" / wheel.name).symlink_to(wheel)
    walk.run(f"env/bin/pip install --quiet --no-deps --force-reinstall {wheel.name}",
             "`pip install` of the wheel")
    there = megabytes(env.resolve()) - before
    return (f"The wheel has {wheel.stat().st_size / 1e6:.1f} MB, and takes {there:.0f} MB installed; "
            f"PyTorch and what it brings take {before:.0f} MB.")


def act(walk):
    """Changes the program as the finding says."""
    file = walk.folder / "user" / "infer.py"
    text = file.read_text()
    check(text.count(BEFORE) == 1, "the example has not the lines that are changed", text)
    (walk.folder / "user" / "slow.py").write_text(text)
    file.write_text(text.replace(BEFORE, AFTER))


def rates(walk):
    """Runs the program as it was and as it is, in turns, without xsp. Returns both lists of photos/s."""
    slow, fast = [], []
    for _ in range(ROUNDS):
        for name, rate in (("slow.py", slow), ("infer.py", fast)):
            output = walk.run(f"python {name}", f"both programs without xsp, {ROUNDS} times each")
            match = found(r"([0-9.]+) photos/s, the best scores add up to ([0-9.]+)", output)
            rate.append((float(match[1]), match[2]))
    sums = {score[:-2] for _, score in slow + fast}
    check(len(sums) == 1, "the change changes the scores", f"{sums}")
    return sorted(rate for rate, _ in slow), sorted(rate for rate, _ in fast)


def walk_through(walk):
    """Does what the user does. Returns the outputs and figures of the page."""
    page = {}
    page["bare"] = walk.run("python infer.py", "the program alone")
    first = ""
    for _ in range(TURNS_MAX):  # where other programs take the processors, they are rightly found first
        first = page["first"] = walk.run("xsp run -- python infer.py", "`xsp run`, first")
        if not re.search(r"\n1\. *Other programs", first):
            break
    share = page["share"] = int(found(r"made of:\n  host code +(\d+) %", first)[1])
    check(share >= 50, "the program's own code takes less than half", first)
    top = words(first[found(r"\n1\. ", first).start():]).split(" 2. ")[0]
    # Which of its two lines takes more depends on the version of Python.
    check(re.search(r"prepare\S* \(infer.py:", top) and "operators of the framework" in top,
          "the first finding does not name the culprit and what to do", first)
    act(walk)
    second = walk.run("xsp run -o fast.xsp -- python infer.py", "`xsp run`, after the change")
    page["second"] = second
    page["was"], page["takes"] = milliseconds(first), milliseconds(second)
    gained = page["gained"] = 100 * (1 - page["takes"] / page["was"])
    check(gained > share / 2, "the step is not shorter by half of what the finding says", second)
    check("prepare" not in found(r"made of:\n.*", second)[0], "the culprit is still the first", second)
    page["slow"], page["fast"] = rates(walk)
    check(statistics.median(page["fast"]) > statistics.median(page["slow"]),
          "the program without xsp is not faster", str(page))
    command = "xsp profile infer.py:build --batch 1,8 --max-time 20 -o network.xsp"
    page["profile"] = without_progress(walk.run(command, "`xsp profile`, two batch sizes"))
    for batch in (1, 8):
        found(rf"Batch {batch}: an inference takes ", page["profile"])
    return page


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    return f"a machine with {os.cpu_count()} processors ({model}) and {system}"


def difference():
    return "".join(f"{sign}{line}" for sign, lines in (("-", BEFORE), ("+", AFTER))
                   for line in lines.splitlines(True))


def write(page, walk, options, about, version):
    """Fills the page's template, tools/first_minutes.md, with what was seen."""
    steps = {}
    for what, seconds in walk.steps:
        steps[what] = steps.get(what, 0) + seconds
    total = sum(steps.values())
    check(total <= SECONDS_MAX, f"it took {total:.0f} s, more than {SECONDS_MAX}", f"{steps}")
    slow, fast = page["slow"], page["fast"]
    load = "Other programs were running, which the notes say." if "in doubt" in page["first"] else ""
    template = (ROOT / "tools" / "first_minutes.md").read_text()
    pathlib.Path(options.output).write_text(template.format(
        about=about, version=version, machine=machine(), load=load, date=time.strftime("%Y-%m-%d"),
        times=f"{statistics.median(fast) / statistics.median(slow):.1f}", rounds=ROUNDS,
        slow=f"{statistics.median(slow):.1f}", all_slow=", ".join(f"{one:.1f}" for one in slow),
        fast=f"{statistics.median(fast):.1f}", all_fast=", ".join(f"{one:.1f}" for one in fast),
        was=f"{page['was']:.4g}", takes=f"{page['takes']:.4g}", gained=f"{page['gained']:.0f}",
        share=page["share"], difference=difference().rstrip(), total=f"{total:.0f}",
        table="\n".join(f"| {what} | {seconds:.0f} |" for what, seconds in steps.items()),
        **{name: page[name].rstrip() for name in ("bare", "first", "second", "profile")}))


def version_of_torch(walk):
    command = ["bash", "-c", "python -c 'import torch; print(torch.__version__)'"]
    done = subprocess.run(command, env=walk.environment, capture_output=True, text=True)
    if done.returncode != 0:
        print("skipped: PyTorch is not there")
        sys.exit(77)
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel")
    parser.add_argument("--torch", help="a virtual environment that has PyTorch")
    parser.add_argument("--xsp")
    parser.add_argument("--python")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    if bool(options.wheel) == bool(options.xsp and options.python):
        parser.error("either --wheel, or --xsp and --python")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "user").mkdir()
        shutil.copy(ROOT / "examples" / "first_infer.py", folder / "user" / "infer.py")
        about = ""
        if options.wheel:
            walk = Walk(folder, f"{folder}/user/env/bin:/usr/bin:/bin")
            matches = glob.glob(options.wheel)
            check(len(matches) == 1, "--wheel: not one file", options.wheel)
            options.wheel = matches[0]
            about = install(walk, options)
        else:
            (folder / "bin").mkdir()
            for program, path in (("xsp", options.xsp), ("python", options.python)):
                file = folder / "bin" / program
                file.write_text(f'#!/bin/sh\nexec "{pathlib.Path(path).absolute()}" "$@"\n')
                file.chmod(0o755)
            walk = Walk(folder, f"{folder}/bin:/usr/bin:/bin")
        version = version_of_torch(walk)
        page = walk_through(walk)
        if options.output:
            write(page, walk, options, about, version)
    seconds = sum(seconds for _, seconds in walk.steps)
    print(f"a step took {page['was']:.4g} ms and takes {page['takes']:.4g} ms; {len(walk.steps)} commands "
          f"took {seconds:.0f} s")


main()
