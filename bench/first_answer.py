#!/usr/bin/env python3
"""Measures the ways from nothing to the first answer, and writes bench/results/first_answer.csv.

  bench/first_answer.py packages [FOLDER]    the tarball, the Debian package and the wheel, in empty systems
  bench/first_answer.py demo RELEASE         demo.sh in an empty system: needs a network, and gigabytes
  bench/first_answer.py auditwheel [FOLDER]  what auditwheel says of the wheel

The empty systems are those of `tests/integration/debian.sh --fetch`. FOLDER has packages that
tools/package.sh made; without it, they are made of build/release. It needs root, for chroot.
"""

import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench" / "results" / "first_answer.csv"
COLUMNS = ["quantity", "unit", "budget", "measured", "machine", "date", "command", "note"]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
USERLANDS = CACHE / "xsp" / "userlands"
BUILD = ROOT / "build" / "release"
NAMES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
MACHINE = os.environ.get("XSP_BENCH_MACHINE", "")


def write(item, figures, command, note=""):
    """Puts an item's figures in place of those of an earlier measurement."""
    rows = []
    if TABLE.exists():
        with open(TABLE, encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["quantity"].startswith(item + " | ")]
    for name, unit, value in figures:
        rows.append({"quantity": f"{item} | {name}", "unit": unit, "measured": value, "machine": MACHINE,
                     "date": time.strftime("%Y-%m-%d"), "command": command, "note": note})
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def megabytes(count):
    return f"{int(count) / 1e6:.1f}"


def packages_of(arguments, scratch):
    if arguments:
        return pathlib.Path(arguments[0]).resolve()
    subprocess.run([ROOT / "tools/package.sh", BUILD, scratch], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(scratch)


def packages(arguments):
    with tempfile.TemporaryDirectory() as scratch:
        folder = packages_of(arguments, scratch)
        said = subprocess.run([ROOT / "tests/integration/debian.sh", folder], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    print(said, end="")
    line = re.compile(r"(\w+) (\w+): (\d+) bytes, ([\d.]+) s installed, ([\d.]+) s to the answer, "
                      r"(\d+) bytes installed")
    names = {"tarball": "tarball", "deb": "Debian package", "wheel": "wheel in a virtual environment"}
    for release, way, fetched, installed_s, answer_s, there in line.findall(said):
        write(f"{NAMES[release]}: {names[way]}",
              [("installed after", "s", installed_s), ("the first answer after", "s", answer_s),
               ("fetched", "MB", megabytes(fetched)), ("on disk", "MB", megabytes(there))],
              "bench/first_answer.py packages")


def received():
    """Returns the bytes that came in by all interfaces but the loopback."""
    lines = pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]
    return sum(int(line.split(":")[1].split()[0]) for line in lines if line.split(":")[0].strip() != "lo")


# Runs demo.sh in the empty system, on a layer of its own, and prints the time of the processors that it took.
DEMO = r"""
set -euo pipefail
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/system"
mount --bind /dev "$2/system/dev"
mount -t proc proc "$2/system/proc"
cp /etc/resolv.conf "$2/system/etc/resolv.conf"
# The certificates that this machine's network may need are trusted there, too.
mkdir -p "$2/system/srv/xsp" "$2/system/usr/local/share/ca-certificates"
cp /usr/local/share/ca-certificates/*.crt "$2/system/usr/local/share/ca-certificates" 2>/dev/null || true
tar -C "$2/system/srv/xsp" -xf "$2/tree.tar"
trusted=/etc/ssl/certs/ca-certificates.crt
exec chroot "$2/system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LC_ALL=C.UTF-8 \
  PIP_CERT=$trusted NODE_EXTRA_CA_CERTS=$trusted bash -c '
  cd /srv/xsp
  apt-get update -qq && apt-get install -qq -y ca-certificates >/dev/null
  ./demo.sh; times >times; tail -n 1 times'
"""


def demo(arguments):
    release = arguments[0]
    base = USERLANDS / release
    with tempfile.TemporaryDirectory(dir=USERLANDS.parent) as name:
        scratch = pathlib.Path(name)
        for folder in ("upper", "work", "system"):
            (scratch / folder).mkdir()
        subprocess.run(f"git -C {ROOT} archive HEAD >{scratch}/tree.tar", shell=True, check=True)
        begin, bytes_before = time.monotonic(), received()
        words = ["unshare", "--mount", "--pid", "--fork", "bash", "-c", DEMO, "bash", base, scratch]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        at, processors = {}, ""
        for line in process.stdout:
            print(line, end="", flush=True)
            step = re.match(r"step (\d) of 3", line)
            if step:
                at[step[1]] = time.monotonic()
            used = re.match(r"(\d+)m([\d.]+)s (\d+)m([\d.]+)s$", line)
            if used:
                processors = f"{60 * (int(used[1]) + int(used[3])) + float(used[2]) + float(used[4]):.0f}"
        if process.wait() != 0:
            sys.exit("first_answer: demo.sh failed")
        end, fetched = time.monotonic(), received() - bytes_before
        there = sum(file.lstat().st_size for file in (scratch / "upper").rglob("*") if file.is_file())
    write(f"{NAMES[release]}: demo.sh",
          [("what it needs is there after", "s", f"{at['2'] - begin:.0f}"),
           ("installed after", "s", f"{at['3'] - begin:.0f}"),
           ("the first answer after", "s", f"{end - begin:.0f}"), ("processors' time", "s", processors),
           ("fetched", "MB", megabytes(fetched)), ("on disk", "MB", megabytes(there))],
          "bench/first_answer.py demo")


def auditwheel(arguments):
    with tempfile.TemporaryDirectory() as scratch:
        folder = packages_of(arguments, scratch)
        wheel = next(iter(folder.glob("xsp-*.whl")))
        tool = pathlib.Path(scratch) / "env"
        subprocess.run([sys.executable, "-m", "venv", tool], check=True)
        subprocess.run([tool / "bin/pip", "install", "--quiet", "auditwheel"], check=True)
        said = subprocess.run([tool / "bin/auditwheel", "show", wheel], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
    said = " ".join(said.split())
    print(said)
    tag = re.search(r'consistent with the following platform tag: "([^"]+)"', said)
    write("auditwheel", [("the wheel is consistent with", "", tag[1] if tag else "none")],
          "bench/first_answer.py auditwheel")


def main():
    ways = {"packages": packages, "demo": demo, "auditwheel": auditwheel}
    if len(sys.argv) < 2 or sys.argv[1] not in ways:
        sys.exit(__doc__)
    ways[sys.argv[1]](sys.argv[2:])


main()
