#!/usr/bin/env python3
"""Runs a whole plan by processes of this machine, or by ssh to an own server on it, and does it harm.

  tests/fleet/plan.py local|ssh [PLAN.yaml] [-o DIR] [--xsp BIN/xsp]

The plan is examples/fleet_zoo.yaml by default: 108 tasks, some 20 minutes. When a third of the results is
there, `xsp sweep` gets SIGKILL, and `xsp sweep resume` goes on; when two thirds are there, all processes of
the task that is measured get SIGKILL, by ssh also the server's processes of its connection, as if the machine
had died. At the end each task must have one result and one row in the catalogue, the site must have each
model and framework, and no process may be left. Prints what happened; exits with 1 if something is missing or
double.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class SshServer:
    """An ssh server of this user alone, which the hosts `one` and `two` stand for."""

    def __init__(self, folder):
        self.folder = folder
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
        port = free_port()
        (folder / "sshd_config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile {folder}/sshd.pid\n"
            f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\n")
        self.client_config = folder / "ssh_config"
        self.client_config.write_text(
            f"Host one two\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/user_key\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n"
            "  StrictHostKeyChecking accept-new\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # sshd demands it
        self.server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", folder / "sshd_config"])

    def stop(self):
        self.server.terminate()
        self.server.wait()


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def words_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def descendants(pid):
    found = {pid}
    while True:
        more = {one for one in all_pids() if one not in found and parent_of(one) in found}
        if not more:
            return found
        found |= more


class Sweep:
    def __init__(self, xsp, plan, executor, folder):
        self.xsp, self.folder = xsp, folder
        self.log = (folder.parent / f"{folder.name}.log").open("w")
        self.process = self.start([plan, "--executor", executor, "-o", folder])
        while not (folder / "plan.json").exists():
            if self.process.poll() is not None:
                sys.exit(f"the sweep has not begun: see {self.log.name}")
            time.sleep(0.1)
        self.tasks = len(json.loads((folder / "plan.json").read_text())["tasks"])

    def start(self, words):
        return subprocess.Popen([self.xsp, "sweep", *words], stdout=self.log, stderr=self.log)

    def results(self):
        return len(list((self.folder / "results").glob("*.xsp")))

    def attempts(self):
        """Yields what is known of each attempt; one whose file is being written is left out."""
        for path in self.folder.glob("attempts/*/*.json"):
            try:
                yield json.loads(path.read_text())
            except (OSError, ValueError):
                continue

    def wait_for(self, results):
        while self.results() < results:
            if self.process.poll() is not None:
                sys.exit(f"the sweep ended with {self.results()} results: see {self.log.name}")
            time.sleep(0.2)

    def kill_itself(self):
        self.process.kill()
        self.process.wait()

    def own_tasks(self):
        """Returns the processes `xsp task` of this sweep that are on this side of the connection."""
        plan = str(self.folder / "plan.json").encode()
        return [pid for pid in all_pids() if plan in words_of(pid)]

    def tasks_of(self, server):
        """Returns the processes `xsp task` on the side of the server."""
        words = [str(self.xsp).encode(), b"task", b"-"]
        return [pid for pid in descendants(server.server.pid) if words_of(pid)[:3] == words]

    def kill_machine(self, server):
        """Kills the task that is measured, where it is measured. Returns whether there was one."""
        victims = set()
        for pid in self.tasks_of(server) if server else self.own_tasks():
            if not any(b"xsp-worker" in word for one in descendants(pid) for word in words_of(one)[:1]):
                continue
            victims |= descendants(pid)
            if server:
                session = parent_of(pid)
                while session > 1 and session != server.server.pid:
                    victims.add(session)
                    session = parent_of(session)
            break
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return bool(victims)

    def asked(self, question):
        answer = subprocess.run([self.xsp, "catalogue", "query", "--db", self.folder / "catalogue.sqlite",
                                 "--format", "json", question], check=True, stdout=subprocess.PIPE)
        return json.loads(answer.stdout)

    def faults(self):
        """Returns what is missing or double at the end."""
        all_attempts = list(self.attempts())
        done = [one for one in all_attempts if one["end"] == "done"]
        rows = self.asked("SELECT count(*) AS n, count(DISTINCT task) AS tasks FROM evaluation")[0]
        states = self.asked("SELECT state, count(*) AS n FROM task GROUP BY state")
        pages = "".join(path.read_text() for path in (self.folder / "site").rglob("*.html"))
        noted = sum(one["n"] for one in states if one["state"] == "done")
        counts = {"results": self.results(), "attempts that are done": len(done),
                  "evaluations in the catalogue": rows["n"], "tasks of evaluations": rows["tasks"],
                  "tasks that are noted as done": noted}
        found = [f"{what}: {number}, not {self.tasks}" for what, number in counts.items()
                 if number != self.tasks]
        for kind in ("model", "framework"):
            names = [one["name"] for one in self.asked(f"SELECT DISTINCT name FROM {kind}")]
            if missing := [name for name in names if name not in pages]:
                found.append(f"not on the site: {', '.join(missing)}")
        if self.own_tasks():
            found.append(f"left behind: {self.own_tasks()}")
        ends = {}
        for one in all_attempts:
            ends[one["end"]] = ends.get(one["end"], 0) + 1
        print(f"{self.folder.name}: {self.tasks} tasks; attempts: {ends}; {rows['n']} evaluations of "
              f"{rows['tasks']} tasks in the catalogue; they took "
              f"{sum(one['seconds'] for one in done):.0f} s")
        return found


def plan_for(path, server, xsp, folder):
    text = path.read_text()
    if server:
        text += (f"executors: {{ssh: {{hosts: [one, two], xsp: {xsp}, "
                 f"options: [-F, {server.client_config}]}}}}\n")
    own = folder / path.name
    own.write_text(text)
    return own


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executor", choices=["local", "ssh"])
    parser.add_argument("plan", nargs="?", type=pathlib.Path, default=ROOT / "examples/fleet_zoo.yaml")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="keeps the sweep's folder here")
    parser.add_argument("--xsp", type=pathlib.Path, default=ROOT / "build/release/bin/xsp")
    options = parser.parse_args()
    xsp = options.xsp.resolve()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        folder = options.output.resolve() if options.output else work / options.executor
        server = SshServer(work) if options.executor == "ssh" else None
        try:
            sweep = Sweep(xsp, plan_for(options.plan, server, xsp, work), options.executor, folder)
            sweep.wait_for(sweep.tasks // 3)
            sweep.kill_itself()
            print(f"xsp sweep was killed at {sweep.results()} results", flush=True)
            sweep.process = sweep.start(["resume", folder])
            sweep.wait_for(2 * sweep.tasks // 3)
            while not sweep.kill_machine(server):
                time.sleep(0.2)
            print(f"the task that was measured was killed at {sweep.results()} results", flush=True)
            status = sweep.process.wait()
            found = sweep.faults() + ([f"resume ended with {status}"] if status else [])
        finally:
            if server:
                server.stop()
    seconds = time.monotonic() - begin
    print(f"{options.executor}: {seconds:.0f} s; " + ("; ".join(found) or "complete, none double"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
