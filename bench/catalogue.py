#!/usr/bin/env python3
"""Measures how long `xsp catalogue query` and the API of `xsp serve` take over many evaluations, in SQLite
and in PostgreSQL.

  bench/catalogue.py FILE.xsp... [--evaluations 10000] [--db postgresql://...]

Adds the files to a catalogue, and copies its rows under other keys until it has that many evaluations. Then
it asks each question 15 times, and prints the median and the longest time of the whole command, from its
start to its end, and of the request, from its first byte to its answer's last, with the processor time of the
server, which other programs do not lengthen as much. With --db, the tables of that server are replaced.
"""
import argparse
import http.client
import os
import pathlib
import re
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
REQUESTS = {  # the first two are those of the page
    "a metric's first 500 rows": "/results?metric=inference.latency&limit=500",
    "a metric's rows, up to 10,000": "/results?metric=inference.latency&limit=10000",
    "a model's rows of a metric": "/results?metric=inference.latency&model=model%2017",
    "the first 1,000 rows of all": "/results",
    "the models": "/models",
    "the metrics": "/metrics",
}
# Copies are made of these two tables, so that a copy takes as long when there are many.
ORIGINALS = (
    "CREATE TEMP TABLE made_of AS SELECT * FROM evaluation",
    "CREATE TEMP TABLE figure_of AS SELECT * FROM result",
)
COPY = (
    "INSERT INTO model SELECT 'model ' || {n}, 'model ' || {n}, NULL WHERE NOT EXISTS "
    "(SELECT 1 FROM model WHERE id = 'model ' || {n})",
    "INSERT INTO system SELECT 'system ' || {s}, 'made', '{{}}' WHERE NOT EXISTS "
    "(SELECT 1 FROM system WHERE fingerprint = 'system ' || {s})",
    "INSERT INTO evaluation(id, model, framework, system, scenario, device, batch, facts, file, sha256) "
    "SELECT id || '-{c}', 'model ' || {n}, framework, 'system ' || {s}, scenario, device, batch, facts, "
    "file || '-{c}', sha256 || '-{c}' FROM made_of ORDER BY id LIMIT {limit}",
    "INSERT INTO result SELECT evaluation || '-{c}', metric, value, word, low, high, unit, levels, doubt, "
    "note FROM figure_of WHERE evaluation IN (SELECT id FROM made_of ORDER BY id LIMIT {limit})",
)
TABLES = "catalogue, result, evaluation, task, sweep, agent, dataset, system, framework, model"


def statements(original, wanted):
    """Yields the SQL that copies `original` evaluations until there are `wanted`."""
    yield from ORIGINALS
    made, copy = original, 0
    while made < wanted:
        limit = min(original, wanted - made)
        for sql in COPY if copy < 500 else COPY[2:]:  # later copies are of models and systems that exist
            yield sql.format(c=copy, n=copy % 500, s=copy % 20, limit=limit)
        made, copy = made + limit, copy + 1


def query(place, sql):
    command = [XSP, "catalogue", "query", "--db", place, sql, "--format", "csv"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ask(place, sql):
    start = time.perf_counter()
    query(place, sql)
    return 1000 * (time.perf_counter() - start)


def processor_ms(pid):
    """Returns the processor time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request(place, folder):
    """Prints how long each request takes, over one connection."""
    server = subprocess.Popen([XSP, "serve", folder, "--listen", "127.0.0.1:0", "--catalogue", place],
                              stderr=subprocess.PIPE, text=True)
    try:
        host = re.search(r"http://([^/]+)", server.stderr.readline()).group(1)
        client = http.client.HTTPConnection(host)
        for name, route in REQUESTS.items():
            times, used = [], processor_ms(server.pid)
            for _ in range(15):
                start = time.perf_counter()
                client.request("GET", "/api/v1" + route)
                answer = client.getresponse()
                size = len(answer.read())
                assert answer.status == 200, route
                times.append(1000 * (time.perf_counter() - start))
            used = (processor_ms(server.pid) - used) / len(times)
            print(f"{name}, by HTTP, {size / 1000:.0f} kB: median {statistics.median(times):.1f} ms, longest "
                  f"{max(times):.1f} ms, processor time {used:.1f} ms")
    finally:
        server.terminate()
        server.wait()


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
        start = time.perf_counter()
        original = int(query(place, "SELECT count(*) AS n FROM evaluation").split()[1])
        script = list(statements(original, arguments.evaluations))
        if arguments.db:
            text = "BEGIN;\n" + ";\n".join(script) + ";\nCOMMIT; ANALYZE;"
            subprocess.run(["psql", "-q", place], input=text, text=True, check=True)
        else:
            with sqlite3.connect(place) as database:
                for sql in script:
                    database.execute(sql)
        seconds = time.perf_counter() - start
        print(f"made {arguments.evaluations} evaluations of {original} in {seconds:.1f} s")
        for name, sql in QUESTIONS.items():
            times = [ask(place, sql) for _ in range(15)]
            print(f"{name}: median {statistics.median(times):.1f} ms, longest {max(times):.1f} ms")
        request(place, folder)


if __name__ == "__main__":
    main()
