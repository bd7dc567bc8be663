#!/usr/bin/env python3
"""Asks a real `xsp serve` for every operation of its OpenAPI document, rightly and wrongly, with and without
tokens, and checks every answer against the document.

  tests/api/routes.py --xsp BIN/xsp
"""

import argparse
import http.client
import json
import sys
import tempfile
import time

from document import Document
from served import Served

READS = [  # that succeed
    "/openapi.json", "/catalogue", "/evaluations", "/evaluations/a.xsp",
    "/evaluations/a.xsp/analyses/model_information", "/evaluations/a.xsp/analyses/layer_information?batch=1",
    "/evaluations/a.xsp/analyses/kernels_in_model", "/evaluations/a.xsp/timeline?run=1",
    "/evaluations/a.xsp/timeline/tile?run=1&zoom=0&tile=0", "/evaluations/a.xsp/timeline/span?run=1&span=1",
    "/evaluations/a.xsp/timeline/search?run=1&text=model",
    "/evaluations/a.xsp/timeline/names?run=1&from=0&to=100000000",
    "/evaluations/a.xsp/query?sql=FROM%20run", "/evaluations/a.xsp/query?sql=FROM%20range(20000)",
    "/compare/model?e=a.xsp&e=b.xsp",
    "/compare/layers?e=a.xsp&e=b.xsp&batch=1", "/compare/kernels?e=a.xsp&e=b.xsp",
    "/models", "/models?model=fake", "/datasets", "/frameworks?limit=1", "/systems", "/agents", "/sweeps",
    "/sweeps?state=done", "/tasks",
    "/metrics", "/predictions", "/results", "/results?metric=inference.latency&batch=1&limit=3",
    "/results?limit=0", "/results?limit=5&offset=5", "/results?limit=5&offset=9999999"]
WRONG = [  # (target, status)
    ("/nothing", 404), ("/evaluations/none.xsp", 404), ("/evaluations/..%2Fa.xsp", 404),
    ("/evaluations/a.xsp/analyses/none", 404), ("/evaluations/a.xsp/analyses/audit?x=1", 400),
    ("/evaluations/%zz", 400), ("/evaluations/none.xsp/query?sql=FROM%20run", 404),
    ("/evaluations/a.xsp/query", 400), ("/evaluations/a.xsp/query?sql=FROM%20none", 400),
    ("/evaluations/a.xsp/query?sql=DELETE%20FROM%20run", 400),
    ("/evaluations/a.xsp/query?sql=FROM%20run&x=1", 400),
    ("/evaluations/a.xsp/query?sql=FROM%20%27/etc/passwd%27", 400), ("/compare/model?e=a.xsp", 400),
    ("/compare/none?e=a.xsp&e=b.xsp", 404),
    ("/results?nonsense=1", 400), ("/results?batch=x", 400), ("/results?limit=-1", 400),
    ("/results?limit=10001", 400), ("/results?after=", 400), ("/results?after=x", 400),
    ("/results?after=726573756c7473.00.00", 400), ("/results?after=6d6f64656c73.61", 400),
    ("/models?after=6d6f64656c73.61&offset=1", 400),
    ("/results?metric=a&metric=b", 400), ("/models?limit=x", 400), ("/evaluations/a.xsp/timeline?run=x", 400),
    ("/evaluations/a.xsp/timeline/names?run=1&from=x&to=1", 400)]


class Suite:
    def __init__(self, served):
        self.served, self.faults, self.succeeded = served, [], set()
        status, body = self.raw("GET", "/api/v1/openapi.json")
        assert status == 200, body
        self.document = Document(body)

    def raw(self, method, target, token=None, body=None):
        client = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=120)
        headers = {"Authorization": "Bearer " + token} if token else {}
        client.request(method, target, body=body, headers=headers)
        answer = client.getresponse()
        text = answer.read()
        client.close()
        return answer.status, text

    def ask(self, method, route, wanted, scope=None, body=None, token=None):
        """Asks, with a token of the scope; the status must be `wanted`. Returns the answer."""
        target = "/api/v1" + route
        status, text = self.raw(method, target, self.served.tokens[scope] if scope else token, body)
        fault = self.document.fault(method, target, status, text)
        if fault:
            self.faults.append(fault)
        if status != wanted:
            self.faults.append(f"{method} {route} as {scope or token}: {status}, not {wanted}: {text[:200]}")
        if status < 300:
            self.succeeded.add(self.document.find(method, target)[0])
        return json.loads(text) if text else None

    def expect(self, is_true, text):
        if not is_true:
            self.faults.append(text)


def reads(suite):
    for route in READS:
        suite.ask("GET", route, 200)
        suite.ask("GET", route, 200, "read")
    for route, status in WRONG:
        suite.ask("GET", route, status)
    # Pages of rows are parts of the whole.
    whole = suite.ask("GET", "/results", 200)
    parts, at = [], 0
    while page := suite.ask("GET", f"/results?limit=7&offset={at}", 200)["rows"]:
        parts += page
        at += len(page)
    suite.expect(parts == whole["rows"], "the pages of /results are not the whole")
    parts, after = [], ""
    while after is not None:
        page = suite.ask("GET", "/results?limit=7" + after, 200)
        parts += page["rows"]
        after = "&after=" + page["next"] if "next" in page else None
    suite.expect(parts == whole["rows"], "the pages of /results by cursor are not the whole")
    suite.expect(whole["total_rows"] == len(parts) > 20, f"/results: {whole['total_rows']} rows in total")
    sweeps = suite.ask("GET", "/sweeps", 200)
    row = dict(zip([column["name"] for column in sweeps["columns"]], sweeps["rows"][0]))
    told = (row["state"], row["tasks"], row["done"], row["evaluations"])
    suite.expect(told == ("done", 2, 2, 2), f"/sweeps: {row}")
    for route, rows in ((f"/tasks?sweep={row['id']}", 2), ("/tasks?sweep=none", 0),
                        (f"/results?sweep={row['id']}&metric=inference.latency", 2)):
        found = suite.ask("GET", route, 200)["total_rows"]
        suite.expect(found == rows, f"{route}: {found} rows, not {rows}")
    files = {row[[c["name"] for c in whole["columns"]].index("file")] for row in whole["rows"]}
    suite.expect({"a.xsp", "b.xsp"} <= files, f"/results: the files are {files}")
    for file in files:
        suite.ask("GET", "/evaluations/" + file.replace("/", "%2F"), 200)


def writes(suite):
    text = b"# A title\n\nSome words in *Markdown*, with a list:\n\n* one\n* two\n" * 20
    for scope, status in ((None, 401), ("read", 403)):
        suite.ask("POST", "/predictions?model=magika", status, scope, text)
        suite.ask("POST", "/evaluations?name=c.xsp", status, scope, text)
    suite.ask("POST", "/predictions?model=magika", 401, None, text, token="xsp_" + "0" * 64)
    suite.ask("POST", "/evaluations?name=c.xsp", 400, "run", b"no evaluation")
    with open(suite.served.folder + "/a.xsp", "rb") as file:
        suite.ask("POST", "/evaluations?name=c.xsp", 201, "run", file.read())
    suite.ask("GET", "/evaluations/c.xsp", 200)
    for models in ("", "?model=", "?model=..%2Fx", "?model=%2Fetc%2Fpasswd", "?model=-o", "?model=a&model=a",
                   "?x=1", "?model=bytes&system=nosuch", "?model=bytes&system=here&system=here",
                   "?model=bytes&system=", "?model=a&model=b&model=c&model=d&model=e", "?model=a.yaml%00"):
        suite.ask("POST", "/predictions" + models, 400, "run", text)
    suite.ask("POST", "/predictions?model=magika", 400, "run", b"")
    answer = suite.ask("POST", "/predictions?model=no_such_model", 200, "run", text)
    suite.expect(answer["predictions"][0]["status"] == "failed", f"an unknown model: {answer}")
    # A manifest in the served folder is none that xsp knows by name.
    with open(suite.served.folder + "/own.yaml", "w") as file:
        file.write("name: own\n")
    answer = suite.ask("POST", "/predictions?model=own.yaml", 200, "run", text)
    suite.expect(answer["predictions"][0]["status"] == "failed", f"a file of the folder: {answer}")


def notes(suite):
    """Notes on c.xsp, which writes() uploaded."""
    route = "/evaluations/c.xsp/notes"
    note = {"run": 1, "from_ns": 1000, "to_ns": 5000, "text": "a slow start"}
    none = suite.ask("GET", route, 200)
    suite.expect(none == {"notes": [], "why_not": ""}, f"before any was written: {none}")
    for scope, status in ((None, 401), ("read", 403)):
        suite.ask("POST", route, status, scope, json.dumps(note))
    for wrong in (b"", b"[]", b"text", b'{"run": 1}', json.dumps(note | {"text": ""}),
                  json.dumps(note | {"text": "x" * 3000}), json.dumps(note | {"to_ns": "late"})):
        suite.ask("POST", route, 400, "run", wrong)
    suite.ask("POST", "/evaluations/none.xsp/notes", 404, "run", json.dumps(note))
    suite.ask("POST", route, 404, "run", json.dumps(note | {"run": 99}))
    written = suite.ask("POST", route, 201, "run", json.dumps(note))["notes"]
    told = [(one["id"], one["text"]) for one in written]
    suite.expect(told == [(1, "a slow start")], f"written: {written}")
    changed = suite.ask("POST", route + "/1", 200, "run", json.dumps({"text": "a cold start"}))["notes"]
    suite.expect([one["text"] for one in changed] == ["a cold start"], f"changed: {changed}")
    for wrong in ("/2", "/x", "/-1"):
        suite.ask("DELETE", route + wrong, 404, "run")
    suite.ask("DELETE", route + "/1", 403, "read")
    suite.expect(suite.ask("DELETE", route + "/1", 200, "run")["notes"] == [], "removed")
    # A file of foreign bytes is not used, and stays as it is.
    foreign = suite.served.folder + "/c.xsp.notes"
    for text in (b"\xff", b"{}", b'{"version": 1, "of": "", "notes": [{"id": 9223372036854775807}]}'):
        with open(foreign, "wb") as file:
            file.write(text)
        why = suite.ask("GET", route, 200)["why_not"]
        suite.expect(why.endswith("move the file away"), f"{text}: used")
        suite.ask("POST", route, 400, "run", json.dumps(note))
        with open(foreign, "rb") as file:
            suite.expect(file.read() == text, f"{text}: changed")


def predicts(suite):
    text = b"aaaaazaa"
    with open(suite.served.folder + "/text", "wb") as file:
        file.write(text)
    same = json.loads(suite.served.run("predict", "bytes", "text", "--format", "json"))
    offered = suite.ask("GET", "/predictions", 200)
    models = {one["name"]: one for one in offered["models"]}
    suite.expect(offered["systems"] == ["here"], f"systems: {offered['systems']}")
    suite.expect(models.get("bytes", {}).get("from") == "bytes", f"models: {models}")
    suite.expect("snake" not in models, f"a model with a step in Python is offered: {models}")
    answers = suite.ask("POST", "/predictions?model=bytes&model=snake", 200, "run", text)["predictions"]
    answer, snake = answers
    suite.expect(answer["status"] == "ok", f"bytes: {answer['reason']}")
    suite.expect(answer["outputs"][0]["label"] == "five", f"bytes: {answer['outputs']}")
    suite.expect([(row["label"], row["score"]) for row in answer["outputs"]] ==
                 [(row["label"], row["score"]) for row in same], f"bytes: {answer} is not {same}")
    suite.ask("GET", "/evaluations/" + answer["evaluation"].replace("/", "%2F"), 200)
    columns = [column["name"] for column in answer["trace"]["columns"]]
    spans = [dict(zip(columns, row)) for row in answer["trace"]["rows"]]
    suite.expect({"request", "model", "byte_window", "top"} <= {span["name"] for span in spans},
                 f"the trace has {spans}")
    request = next(span for span in spans if span["name"] == "request")
    inner = sum(span["duration_ns"] for span in spans
                if span["parent_id"] == request["span_id"] and span["name"] != "batch")
    suite.expect(0 < inner <= request["duration_ns"], f"the steps take {inner} ns of {request}")
    suite.expect(snake["status"] == "failed" and "ython" in snake["reason"], f"a step in Python: {snake}")


def sweep_text(name, more=""):
    return (f"name: {name}\nmodels: [bytes]\nframeworks: [fake]\nbatches: [1, 2]\n"
            f"options: {{max-time: 0.3, no-peaks: true}}\n{more}").encode()


def state_of(suite, name, states, seconds=120):
    """Waits until the sweep has one of the states, and returns its state."""
    until = time.monotonic() + seconds
    while True:
        state = suite.ask("GET", "/sweeps/" + name, 200, "read")
        if state["state"] in states or time.monotonic() > until:
            return state
        time.sleep(0.2)


def sweeps(suite):
    for scope, status in ((None, 401), ("read", 403)):
        suite.ask("POST", "/sweeps", status, scope, sweep_text("one"))
        suite.ask("DELETE", "/sweeps/one", status, scope)
    for text in (b"", b"x", b"name: a\nmodels: [bytes]\nunknown: 1\n", sweep_text("../a"), b"\xff" * 100,
                 b"name: a\nmodels: [/etc/passwd]\n", b"name: a\nmodels: [bytes, own.yaml]\n",
                 b"name: a\nmodels: [snake]\n", b"name: a\nmodels: [none]\n",
                 sweep_text("a", "executors: {ssh: {hosts: [x]}}\n"), sweep_text("a", "systems: all\n"),
                 b"name: a\nmodels: [bytes]\noptions: {output: x}\n"):
        suite.ask("POST", "/sweeps", 400, "run", text)
    suite.ask("POST", "/sweeps", 413, "run", sweep_text("long") + b"#" * 70000)
    for name in ("none", "..", "%2e%2e%2ftiny", "."):
        suite.ask("GET", "/sweeps/" + name, 404)
    before = suite.ask("POST", "/sweeps", 201, "run", sweep_text("one"))
    suite.expect((before["name"], before["tasks"]) == ("one", 2), f"a new sweep: {before}")
    suite.ask("POST", "/sweeps", 400, "run", sweep_text("one"))
    # The next two wait; one is ended before it begins, and one while it runs.
    slow = sweep_text("slow").replace(b"0.3", b"60")
    for name in ("slow", "never"):
        suite.ask("POST", "/sweeps", 201, "run", slow.replace(b"slow", name.encode()))
    ended = suite.ask("DELETE", "/sweeps/never", 200, "run")
    suite.expect(ended["state"] == "cancelled", f"never: it goes on: {ended}")
    one = state_of(suite, "one", ("done", "failed"))
    suite.expect((one["state"], one["done"]) == ("done", 2), f"the sweep ended as {one}")
    rows = suite.ask("GET", f"/sweeps?sweep={one['id']}", 200)
    suite.expect(rows["total_rows"] == 1, f"/sweeps: {rows}")
    results = suite.ask("GET", f"/results?sweep={one['id']}&metric=inference.latency", 200)
    suite.expect(results["total_rows"] == 2, f"the results of the sweep: {results}")
    suite.ask("GET", "/evaluations/sweeps%2Fone%2Fresults%2Fbytes-fake-b1.xsp", 200)
    suite.expect(state_of(suite, "slow", ("running",))["state"] == "running", "slow: it does not run")
    suite.expect(suite.ask("DELETE", "/sweeps/slow", 200, "run")["state"] == "cancelled", "slow: it goes on")


def administers(suite):
    for route in ("/tokens", "/audit"):
        for scope, status in ((None, 401), ("run", 403), ("admin", 200)):
            suite.ask("GET", route, status, scope)
    suite.ask("DELETE", "/tokens/none", 404, "admin")
    suite.ask("DELETE", "/tokens/of-run", 403, "run")
    suite.ask("DELETE", "/tokens/of-run", 200, "admin")
    suite.ask("POST", "/predictions?model=magika", 401, "run", b"x")
    tokens = suite.ask("GET", "/tokens", 200, "admin")["tokens"]
    suite.expect([one["name"] for one in tokens if one["revoked_at"]] == ["of-run"], f"/tokens: {tokens}")
    log = suite.ask("GET", "/audit", 200, "admin")["entries"]
    suite.expect(all(entry["address"] == "127.0.0.1" for entry in log), "an entry has another address")
    revoked = [entry for entry in log
               if entry["path"] == "/api/v1/tokens/of-run" and entry["status"] == 200]
    suite.expect([entry["name"] for entry in revoked] == ["of-admin"], f"who revoked: {revoked}")
    uploads = [entry["name"] for entry in log
               if entry["status"] == 201 and entry["path"].startswith("/api/v1/evaluations")
               and not entry["path"].endswith("/notes")]
    suite.expect(uploads == ["of-run"], f"who uploaded: {uploads}")
    with open(suite.served.folder + "/catalogue.sqlite", "rb") as file:
        bytes_of_file = file.read()
    for scope, secret in suite.served.tokens.items():
        suite.expect(secret[4:].encode() not in bytes_of_file, f"the secret of {scope} is in the catalogue")
    shown = json.loads(suite.served.run("catalogue", "audit", "--format", "json", "--limit", "1"))
    suite.expect(shown[0]["path"] == "/api/v1/audit", f"xsp catalogue audit: {shown}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Served(options.xsp, folder, "--upload", "--notes", "--allow-run", "local")
        suite = None
        try:
            suite = Suite(served)
            reads(suite)
            writes(suite)
            notes(suite)
            predicts(suite)
            sweeps(suite)
            administers(suite)
        finally:
            ended = served.stop()
    asked = {name for _, _, name, _ in suite.document.operations}
    suite.expect(suite.succeeded == asked, f"never asked with success: {asked - suite.succeeded}")
    suite.expect(ended == 0, f"the server ended with {ended}")
    for fault in suite.faults:
        print(fault)
    print(f"{len(asked)} operations, {len(suite.faults)} faults")
    return 1 if suite.faults else 0


if __name__ == "__main__":
    sys.exit(main())
