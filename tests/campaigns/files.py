#!/usr/bin/env python3
"""Hostile files: the real program reads changed .xsp files, traces and models. It must end in time, without a
signal, and name the error in one line.

  tests/campaigns/files.py --xsp BIN/xsp --duckdb LIB/libduckdb.so --program BUILD/examples/annotate
                           [--count N | --seconds S] [--seed N] [--keep DIR]

Prints counts by kind and status; exits 1 if any file caused another end, and keeps it in DIR.
"""

import collections
import ctypes
import glob
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import campaign

LIMIT_S = 120
BLOCKS_AT, BLOCK = 12288, 262144  # in DuckDB's files: three headers of 4096 bytes, then blocks
VERBS = [["query", "FILE", "SELECT level, count(*), sum(duration_ns) FROM span GROUP BY level"],
         ["query", "FILE", "FROM evaluation"], ["analyze", "model_summary", "FILE"], ["findings", "FILE"],
         ["analyze", "hotspots", "FILE", "--format", "json"]]
REPORT = ["report", "FILE", "-o", "r.html"]
REPORT_EVERY = 20  # it runs all analyses, which takes as long as twenty other verbs
ENDLESS = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t)"
COLUMNS = ["evaluation.value", "evaluation.key", "run.batch", "run.levels", "run.iterations", "loss.count",
           "block.duration_ns", "span_row.duration_ns", "span_row.level", "span_site.name",
           "audit_fact.value"]
VALUES = ["NULL", "-1", "0", "9223372036854775807", "'x'", "repeat('x', 1000000)", "''", "[1]",
          "chr(27) || '[2J'",
          "170141183460469231731687303715884105727", "'NaN'::DOUBLE", "i / 0"]
TYPES = ["VARCHAR", "HUGEINT", "DOUBLE", "INTEGER[]", "BLOB", "BIGINT"]


class Database:
    """Opens an .xsp file, which any SQL may change."""

    def __init__(self, library, path):
        self.lib, self.db, self.con = library, ctypes.c_void_p(), ctypes.c_void_p()
        assert library.duckdb_open(path.encode(), ctypes.byref(self.db)) == 0
        assert library.duckdb_connect(self.db, ctypes.byref(self.con)) == 0

    def run(self, sql):
        return self.lib.duckdb_query(self.con, sql.encode(), None) == 0

    def close(self):
        self.lib.duckdb_disconnect(ctypes.byref(self.con))
        self.lib.duckdb_close(ctypes.byref(self.db))


def crafted(rng, library, path):
    """Puts views, computed columns, other types and values in place of a file's tables."""
    database = Database(library, path)
    last = []  # these run last: reading an endless view never returns
    for _ in range(rng.randrange(1, 4)):
        table, column = rng.choice(COLUMNS).split(".")
        choice = rng.randrange(5)
        if choice == 0:
            last.append(f"DROP TABLE {table} CASCADE; CREATE VIEW {table} AS {ENDLESS} "
                        f"SELECT i AS {column} FROM t")
        elif choice in (1, 2):
            value = rng.choice(VALUES) if choice == 1 else f"TRY_CAST({column} AS {rng.choice(TYPES)})"
            database.run(f"CREATE OR REPLACE TABLE {table} AS SELECT * REPLACE ({value} AS {column}) "
                         f"FROM {table}")
        elif choice == 3:
            last.append(f"CREATE OR REPLACE VIEW {rng.choice(['span', 'attribute', 'counter'])} AS {ENDLESS} "
                        f"SELECT i AS {column} FROM t")
        else:
            name = rng.choice(["sum", "coalesce", "layers", "kernels", "inference", "source_run"])
            body = rng.choice(["a", "1", "(SELECT max(i) FROM range(9))"])
            database.run(f"CREATE MACRO {name}(a) AS ({body})")
    for sql in last:
        database.run(sql)
    database.close()


def checksum(data):
    """Returns DuckDB's checksum of a block."""
    sum_ = 5381
    for word in struct.unpack(f"<{len(data) // 8}Q", data):
        sum_ ^= word * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return struct.pack("<Q", sum_)


def page(rng, data):
    """Changes some bytes of a block, which then gets a valid checksum."""
    count = (len(data) - BLOCKS_AT) // BLOCK
    if rng.random() < 0.15 or count < 1:
        at, size = 4096 * rng.randrange(3), 4096
    else:
        at, size = BLOCKS_AT + BLOCK * rng.randrange(count), BLOCK
    for _ in range(rng.randrange(1, 30)):
        data[at + 8 + rng.randrange(4096 - 8 if rng.random() < 0.5 else size - 8)] = rng.choice(
            [0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    data[at:at + 8] = checksum(bytes(data[at + 8:at + size]))


def mutated(rng, data):
    """Changes, cuts, or repeats bytes."""
    choice = rng.randrange(4)
    if choice == 0 and len(data) > 1:
        del data[rng.randrange(1, len(data)):]
    elif choice == 1:
        at = rng.randrange(len(data))
        data[at:at] = data[at:at + rng.randrange(1, 200)]
    else:
        for _ in range(rng.choice([1, 1, 3, 20])):
            data[rng.randrange(len(data))] = rng.choice([0, 0xFF, 0x80, rng.randrange(256)])


def verdict(command, folder):
    """Returns how a run ended, and whether that is allowed."""
    environment = dict(os.environ, TMPDIR=folder)
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        return "hang", False, LIMIT_S
    errors = sum(line.startswith(b"error: ") for line in done.stderr.splitlines())
    good = 0 <= done.returncode <= 4 and errors == (1 if done.returncode in (1, 2, 4) else 0)
    return str(done.returncode), good, time.monotonic() - began


def sources(options, folder):
    """Returns the files to change: kind -> files, each with those that belong to it."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([options.xsp, "profile", "fake:layers=3,us=100,wait=sleep", "--max-time", "0.5",
                    "--no-peaks", "--quiet", "-o", "base.xsp"], check=True, **quiet)
    subprocess.run([options.program], **quiet)
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
    models = [os.path.join(data, one) for one in ("onnx/tiny.onnx", "onnx/branch.onnx", "ggml/tiny.gguf",
                                                  "caffe/tiny.prototxt", "caffe/tiny.caffemodel",
                                                  "mxnet/tiny-symbol.json", "mxnet/tiny-0000.params")]
    models += sorted(glob.glob(data + "/stablehlo/tiny*"))
    return os.path.join(folder, "base.xsp"), glob.glob(folder + "/*.xtrace"), models


def beside(model):
    """Returns the other file of a model of two."""
    for one, other in ((".prototxt", ".caffemodel"), ("-symbol.json", "-0000.params")):
        if model.endswith(one):
            return [model[:-len(one)] + other]
        if model.endswith(other):
            return [model[:-len(other)] + one]
    return []


def main():
    parser = campaign.arguments(__doc__, count=24)
    parser.add_argument("--duckdb", required=True)
    parser.add_argument("--program", required=True, help="that records itself into an .xtrace where it runs")
    parser.add_argument("--keep", help="where files that did harm go")
    options = parser.parse_args()
    options.xsp, options.program = os.path.abspath(options.xsp), os.path.abspath(options.program)
    library = ctypes.CDLL(os.path.abspath(options.duckdb))
    rng = random.Random(options.seed)
    counts, bad, slowest = collections.Counter(), 0, 0.0
    rounds = campaign.Rounds(options)
    with tempfile.TemporaryDirectory() as folder:
        base, traces, models = sources(options, folder)
        kinds = ["sql", "page", "page", "bytes", "model", "model"] + (["trace"] if traces else [])
        for number in rounds:
            kind = kinds[number % len(kinds)]
            source = {"model": rng.choice(models), "trace": rng.choice(traces or [base])}.get(kind, base)
            with tempfile.TemporaryDirectory() as place:
                path = os.path.join(place, os.path.basename(source))
                for one in [source, *beside(source)]:
                    shutil.copy(one, place)
                if kind == "sql":
                    crafted(rng, library, path)
                else:
                    with open(path, "rb") as file:
                        data = bytearray(file.read())
                    page(rng, data) if kind == "page" else mutated(rng, data)
                    with open(path, "wb") as file:
                        file.write(data)
                if kind == "model":
                    command = ["profile", path, "--max-time", "0.2", "--no-peaks", "--quiet", "-o", "out.xsp"]
                elif kind == "trace":
                    command = ["import", path, "--quiet", "-o", "out.xsp"]
                else:
                    verb = REPORT if rng.randrange(REPORT_EVERY) == 0 else rng.choice(VERBS)
                    command = [path if word == "FILE" else word for word in verb]
                status, good, seconds = verdict([options.xsp, *command], place)
                label = os.path.basename(source).split(".")[-1] if kind == "model" else kind
                counts[f"{label} {status}"] += 1
                slowest = max(slowest, seconds)
                if not good:
                    bad += 1
                    print(f"file {number} (seed {options.seed}), {label}: {status}: {' '.join(command)}",
                          flush=True)
                    if options.keep:
                        shutil.copytree(place, os.path.join(options.keep, f"{options.seed}-{number}"),
                                        dirs_exist_ok=True)
    print(f"{rounds.done} files in {rounds.seconds:.0f} s, the slowest {slowest:.0f} s, {bad} bad: "
          + ", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
