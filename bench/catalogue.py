#!/usr/bin/env python3
"""Measures how long `xsp catalogue query` takes over many evaluations, in SQLite and in PostgreSQL.

  bench/catalogue.py FILE.xsp... [--evaluations 10000] [--db postgresql://...]

Adds the files to a catalogue, and copies its rows under other keys until it has that many evaluations. Then
it asks each question 15 times, and prints the median and the longest time of the whole command, from its
start to its end. With --db, the tables of that server are replaced.
"""
import argparse
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

XSP = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/xsp"
JOINED = "FROM evaluation JOIN result ON evaluation = id WHERE"
QUESTIONS = {
    "a model's figures":
        f"SELECT framework, system, batch, metric, value, low, high {JOINED} model = 'model 17'",
    "the ten highest throughputs":
        f"SELECT model, framework, system, batch, value {JOINED} metric = 'throughput' AND value IS NOT NULL "
        "ORDER BY value DESC LIMIT 10",
    "the mean latency by framework and batch":
        f"SELECT framework, batch, count(*), avg(value) {JOINED} metric = 'inference.latency' "
        "GROUP BY framework, batch",
    "the evaluations of a system": "SELECT count(*) FROM evaluation WHERE system = 'system 3'",
}
COPY = (
    "INSERT INTO model SELECT 'model ' || {n}, 'model ' || {n}, NULL WHERE NOT EXISTS "
    "(SELECT 1 FROM model WHERE id = 'model ' || {n})",
    "INSERT INTO system SELECT 'system ' || {s}, 'made', '{{}}' WHERE NOT EXISTS "
    "(SELECT 1 FROM system WHERE fingerprint = 'system ' || {s})",
    "INSERT INTO evaluation(id, model, framework, system, scenario, device, batch, facts, file, sha256) "
    "SELECT id || '-{c}', 'model ' || {n}, framework, 'system ' || {s}, scenario, device, batch, facts, "
    "file || '-{c}', sha256 || '-{c}' FROM evaluation WHERE started_at IS NOT NULL LIMIT {limit}",
    "INSERT INTO result SELECT evaluation || '-{c}', metric, value, word, low, high, unit, levels, doubt, "
    "note FROM result WHERE evaluation || '-{c}' IN (SELECT id FROM evaluation)",
)
TABLES = "catalogue, result, evaluation, task, sweep, agent, dataset, system, framework, model"


def statements(original, wanted):
    """Yields the SQL that copies `original` evaluations until there are `wanted`."""
    made, copy = original, 0
    while made < wanted:
        limit = min(original, wanted - made)
        for sql in COPY:
            yield sql.format(c=copy, n=copy % 500, s=copy % 20, limit=limit)
        made, copy = made + limit, copy + 1


def query(place, sql):
    command = [XSP, "catalogue", "query", "--db", place, sql, "--format", "csv"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ask(place, sql):
    start = time.perf_counter()
    query(place, sql)
    return 1000 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--db", help="a PostgreSQL server whose psql needs no password")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.db or f"{folder}/catalogue.sqlite"
        if arguments.db:
            subprocess.run(["psql", "-q", place, "-c", f"DROP TABLE IF EXISTS {TABLES}"], check=True)
        start = time.perf_counter()
        subprocess.run([XSP, "catalogue", "add", "--quiet", "--db", place, *arguments.files], check=True)
        print(f"added {len(arguments.files)} files in {time.perf_counter() - start:.1f} s")
        original = int(query(place, "SELECT count(*) AS n FROM evaluation").split()[1])
        script = list(statements(original, arguments.evaluations))
        if arguments.db:
            text = "BEGIN;\n" + ";\n".join(script) + ";\nCOMMIT; ANALYZE;"
            subprocess.run(["psql", "-q", place], input=text, text=True, check=True)
        else:
            with sqlite3.connect(place) as database:
                for sql in script:
                    database.execute(sql)
        for name, sql in QUESTIONS.items():
            times = [ask(place, sql) for _ in range(15)]
            print(f"{name}: median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms")


if __name__ == "__main__":
    main()
