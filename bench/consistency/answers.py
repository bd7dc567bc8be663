"""All answers of xsp about one evaluation: over HTTP, on the command line, and while it was profiled."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

PREFIX = "/api/v1"


def run(command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


class Server:
    """Runs xsp serve over one folder, on a free port of this machine."""

    def __init__(self, xsp, folder):
        self.process = subprocess.Popen([xsp, "serve", str(folder), "--listen", "127.0.0.1:0"],
                                        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"http://[^/\s]+", line)
        if not found:
            self.process.kill()
            raise SystemExit(f"xsp serve: {line.strip()}")
        self.base = found[0]

    def get(self, path, **query):
        text = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None}, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.base}{PREFIX}{path}{'?' + text if text else ''}") as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"error": f"{error.code}: {error.read().decode(errors='replace')}"}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()


class Told:
    """Holds one analysis at one batch size: rows by column, or why there are none; and its doubts."""

    def __init__(self, rows, columns, why, doubts):
        self.rows, self.columns, self.why, self.doubts = rows, columns, why, doubts


def told_by_http(answer):
    if "error" in answer:
        return Told([], [], answer["error"], [])
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, cells)) for cells in answer["rows"]]
    return Told(rows, names, answer.get("not_measured"), answer.get("doubts", answer.get("warnings", [])))


def told_by_command(xsp, name, file, batch):
    params = [] if batch is None else ["--param", f"batch={batch}"]
    done = run([xsp, "analyze", name, file, "--format", "json", *params])
    lines = done.stderr.splitlines()
    notes = [line[6:] for line in lines if line.startswith("note: ")]
    if done.returncode != 0:
        why = " ".join(line for line in lines if not line.startswith("note: "))
        return Told([], [], re.sub(r"^error: ", "", why), notes)
    rows = json.loads(done.stdout)
    return Told(rows, list(rows[0]) if rows else [], None, notes)


class Evaluation:
    """Represents an .xsp file, and all answers about it."""

    def __init__(self, server, catalogue, file, identity):
        self.file, self.name, self.id, self.server = file, pathlib.Path(identity).name, identity, server
        self.path = "/evaluations/" + urllib.parse.quote(identity, safe="")
        self.catalogue = catalogue
        self.entry = server.get(self.path)
        self.batches = sorted(self.entry.get("batches") or [])
        self.facts = self.entry.get("facts") or {}
        self.runs = self.entry.get("runs") or []
        self.answers, self.commands, self.tables = {}, {}, {}
        self.profiled = self.beside(".json")
        self.diff = None
        self.ask()

    def beside(self, ending):
        """Returns the JSON that xsp profile printed for it, if it was kept beside the file."""
        place = pathlib.Path(str(self.file) + ending)
        try:
            return json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def wanted(self):
        for analysis in self.catalogue:
            takes_batch = any(param["name"] == "batch" for param in analysis["params"])
            for batch in self.batches if takes_batch else [None]:
                yield analysis["name"], batch

    def ask(self):
        for name, batch in self.wanted():
            self.answers[name, batch] = told_by_http(
                self.server.get(f"{self.path}/analyses/{name}", batch=batch))
        self.timelines = {run["run_id"]: self.server.get(f"{self.path}/timeline", run=run["run_id"])
                          for run in self.runs}

    def ask_command(self, xsp, workers):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            asked = {key: pool.submit(told_by_command, xsp, key[0], self.file, key[1])
                     for key in self.wanted()}
            tables = {name: pool.submit(run, [xsp, "analyze", name, self.file])
                      for name in ("model_summary", "model_information", "layer_information")}
            diff = pool.submit(run, [xsp, "diff", self.file, self.file, "--format", "json"])
        self.commands = {key: one.result() for key, one in asked.items()}
        self.tables = {name: one.result().stdout for name, one in tables.items()}
        self.diff = json.loads(diff.result().stdout) if diff.result().returncode == 0 else None

    def compared(self, table, other, batch=None):
        return told_by_http(self.server.get(f"/compare/{table}", e=[self.id, other.id], batch=batch))

    def told(self, name, batch):
        return self.answers.get((name, batch)) or self.answers.get((name, None))

    def rows(self, name, batch, /, **wanted):
        told = self.told(name, batch)
        if told is None:
            return []
        return [row for row in told.rows if row.get("batch", batch) == batch
                and all(row.get(key) == value for key, value in wanted.items())]

    def cell(self, name, batch, column, /, **wanted):
        found = self.rows(name, batch, **wanted)
        return found[0].get(column) if len(found) == 1 else None

    def total(self, name, batch, column, /, **wanted):
        values = [row[column] for row in self.rows(name, batch, **wanted) if row.get(column) is not None]
        return sum(values) if values else None

    def run_of(self, levels, batch):
        """Returns the run of exactly these levels, which has a level's own numbers."""
        for one in self.runs:
            if one["levels"] == levels and (one["batch"] or 1) == batch and one["status"] != "failed":
                return one
        return None

    def texts(self, batch):
        """Returns (where, text) of all texts at a batch size."""
        for (name, at), told in self.answers.items():
            if at not in (None, batch):
                continue
            for row in told.rows:
                if row.get("batch", batch) == batch:
                    yield from ((name, value) for value in row.values() if isinstance(value, str))
            yield from ((name, doubt) for doubt in told.doubts)
