#!/usr/bin/env python3
"""Compares the kernels of `xsp run` with torch.profiler's, for the same script in separate processes.

    against_profiler.py XSP

Exit status 0 if every kernel's count in 20 inferences is equal, and their summed time within 3 %.
"""
import collections
import csv
import io
import os
import subprocess
import sys
import tempfile

xsp = sys.argv[1]
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "resnet50.py")
# The last 20 inferences are those of the model spans with the highest iterations.
KERNELS = """SELECT k.name, count(*) AS n, sum(k.duration_ns) AS ns
FROM span k JOIN span m ON m.span_id = k.model_id
WHERE k.level = 6 AND k.type = 'kernel'
  AND m.iteration > (SELECT max(iteration) FROM span WHERE level = 2) - 20
GROUP BY k.name"""


def plain(name):
    return "".join(name.split())


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, script, "--profile", folder + "/kernels.txt"], check=True,
                   stdout=subprocess.DEVNULL)
    theirs = {}
    with open(folder + "/kernels.txt") as file:
        for line in file:
            name, count, total = line.rstrip("\n").rsplit("\t", 2)
            theirs[plain(name)] = (int(count), int(total))
    file = folder + "/t.xsp"
    watch = [xsp, "run", "--leveled=no", "--quiet", "-o", file, "--"]
    subprocess.run([*watch, sys.executable, script], check=True,
                   stdout=subprocess.DEVNULL)
    text = subprocess.run([xsp, "query", file, KERNELS, "--format", "csv"], check=True,
                          capture_output=True, text=True).stdout
ours = collections.defaultdict(lambda: (0, 0))
for row in csv.DictReader(io.StringIO(text)):
    count, total = ours[plain(row["name"])]
    ours[plain(row["name"])] = (count + int(row["n"]), total + float(row["ns"]))
none = (0, 0)
different = {name for name in set(ours) | set(theirs) if ours.get(name, none)[0] != theirs.get(name, none)[0]}
for name in sorted(different):
    print("count differs:", name[:80], ours.get(name, none)[0], "and", theirs.get(name, none)[0])
our_ns, their_ns = sum(t for _, t in ours.values()), sum(t for _, t in theirs.values())
ratio = our_ns / their_ns if their_ns else float("nan")
print(f"{sum(c for c, _ in ours.values())} kernels and {sum(c for c, _ in theirs.values())}, "
      f"summed {our_ns / 1e6:.3f} ms and {their_ns / 1e6:.3f} ms, ratio {ratio:.4f}")
sys.exit(0 if not different and abs(ratio - 1) <= 0.03 else 1)
