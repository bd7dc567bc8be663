"""A real `xsp serve --catalogue` over a folder with two evaluations, a sweep and tokens of each scope."""

import os
import re
import subprocess
import urllib.parse

SCOPES = ("read", "run", "admin")
SWEEP = "name: tiny\nmodels: ['fake:layers=2,us=50,wait=sleep']\nframeworks: [fake]\nbatches: [1, 2]\n" \
        "options: {max-time: 0.3, no-peaks: true}\n"

# Models whose answers are known: the adapter `fake` halves its input, so the best of eight classes is the
# place of the largest of a file's first eight bytes. The second has a step in Python.
MANIFEST = """name: {name}
version: 1.0.0
task: classification
framework: {{name: fake}}
model: {{path: model.fake}}
inputs:
  - {{name: x, dtype: float32, dimensions: [N, 8], from: bytes, steps: [byte_window: {{begin: 8}}, {step}]}}
outputs:
  - name: y
    labels: [zero, one, two, three, four, five, six, seven]
    steps: [top: {{count: 2}}]
"""
STEPS = {"bytes": "cast: {to: float32}", "snake": "python: {function: 'own.py:run'}"}


class Served:
    """`folder` is empty. `port`, `tokens` by scope, and `server`, a subprocess.Popen, live until stop()."""

    def __init__(self, xsp, folder, *options):
        self.xsp, self.folder = os.path.abspath(xsp), folder
        manifests = os.path.join(folder, "manifests")
        os.mkdir(manifests)
        for name, text in [("model.fake", "fake:layers=1,us=10")] + [
                (name + ".yaml", MANIFEST.format(name=name, step=step)) for name, step in STEPS.items()]:
            with open(os.path.join(manifests, name), "w") as written:
                written.write(text)
        self.environment = {**os.environ, "XSP_MANIFESTS": manifests}
        for model, file in (("fake:layers=3,us=100,wait=sleep", "a.xsp"),
                            ("fake:layers=2,us=200,wait=sleep", "b.xsp")):
            self.run("profile", model, "--max-time", "0.5", "--no-peaks", "--quiet", "-o", file)
        with open(os.path.join(folder, "tiny.yaml"), "w") as file:
            file.write(SWEEP)
        self.run("sweep", "tiny.yaml", "-o", "tiny", "--db", "catalogue.sqlite")
        self.run("catalogue", "add", "a.xsp", "b.xsp", "--db", "catalogue.sqlite", "--quiet")
        self.tokens = {scope: self.new_token("of-" + scope, scope) for scope in SCOPES}
        self.server = subprocess.Popen(
            [self.xsp, "serve", "--listen", "127.0.0.1:0", "--catalogue", "catalogue.sqlite", *options],
            cwd=folder, env=self.environment, stderr=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+", self.server.stderr.readline()).group(0)
        self.port = urllib.parse.urlsplit(self.address).port

    def run(self, *words):
        return subprocess.run([self.xsp, *words], cwd=self.folder, env=self.environment, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def new_token(self, name, scope):
        return self.run("catalogue", "token", "new", "--name", name, "--scope", scope).strip()

    def stop(self):
        """Returns the server's exit status."""
        self.server.terminate()
        return self.server.wait(timeout=60)
