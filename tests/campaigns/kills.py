#!/usr/bin/env python3
"""Kills: SIGKILL or another signal ends a recording, or a process around it, at a random moment. The rest
must be readable; each missing span must be counted, or be from the last moment; and no process may wait
for one that is gone.

  tests/campaigns/kills.py --xsp BIN/xsp [--count N | --seconds S] [--seed N] [--keep DIR]

Four things are killed in turn: a program that records itself; a program that `xsp run` watches; `xsp run`
itself, whose program must continue to its end; and `xsp profile`, with which its workers must end, and
which leaves no incomplete file. The program's threads number their spans: a number that is missing between
two others is a loss. Prints counts by kind and outcome; exits 1 if any outcome is bad.
"""

import collections
import csv
import glob
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import campaign

PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "xsp/xsp.h"

static int until_killed = 0;

static void* work(void* of) {
  static __thread xsp_site site = XSP_SITE(XSP_LEVEL_LAYER, "numbered");
  const uint32_t number = xsp_intern_key("number");
  const long turns = (long)of;
  for (double n = 0; until_killed || n < 40000; ++n) {
    xsp_span span = xsp_begin(&site);
    xsp_span_counter(&span, number, n);
    xsp_end(&span);
    for (volatile long i = 0; i < turns; ++i) {
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = atoi(argv[1]);
  const long turns = atol(argv[2]);
  until_killed = atoi(argv[3]);
  if (argc > 4) xsp_start(NULL);
  pthread_t made[16];
  for (int i = 0; i < threads; ++i) pthread_create(&made[i], NULL, work, (void*)turns);
  puts("begun");
  fflush(stdout);
  for (int i = 0; i < threads; ++i) pthread_join(made[i], NULL);
  puts("ended");
  return 7;
}
"""
LIMIT_S = 60
# Spans of this time before a process's end may be missing from its file.
LAST_MOMENT_S = 2.0
NUMBERS = """SELECT count(*), coalesce(sum(missing), 0), (SELECT coalesce(sum(count), 0) FROM loss) FROM (
  SELECT max(c.value) - min(c.value) + 1 - count(*) AS missing
  FROM span s JOIN span_counter c USING (run_id, span_id)
  WHERE c.name = 'number' GROUP BY s.run_id, s.process, s.thread)"""


class Bad(Exception):
    """Reports an outcome that must not happen."""


def with_default_signals():
    """Restores SIGINT, which a shell ignores in processes that it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finish(process, limit_s=LIMIT_S):
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Bad("hung") from None


class Killer:
    def __init__(self, options, folder):
        self.xsp, self.rng, self.folder = os.path.abspath(options.xsp), random.Random(options.seed), folder
        self.program, self.started = os.path.join(folder, "numbered"), []
        tree = os.path.dirname(os.path.dirname(self.xsp))
        here = os.path.dirname(os.path.abspath(__file__))
        include = [path for path in (os.path.join(tree, "include"), os.path.join(here, "../../include"))
                   if os.path.exists(os.path.join(path, "xsp", "xsp.h"))][0]
        source = self.program + ".c"
        with open(source, "w") as file:
            file.write(PROGRAM)
        libraries = os.path.join(tree, "lib")
        subprocess.run(["cc", "-std=gnu11", "-O1", "-I", include, source, "-o", self.program, "-L", libraries,
                        f"-Wl,-rpath,{libraries}", "-lxsp", "-lpthread"], check=True)

    def start(self, command, place, **extra):
        environment = dict(os.environ, TMPDIR=place, **extra)
        process = subprocess.Popen(command, cwd=place, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True, preexec_fn=with_default_signals)
        self.started.append(process)
        return process

    def leave_nobody(self):
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.stdout.close()
            process.stderr.close()
        self.started.clear()

    def ask(self, *words, place):
        """Returns the output of a verb of xsp; a failure is bad."""
        done = subprocess.run([self.xsp, *words], cwd=place, capture_output=True, text=True, timeout=LIMIT_S,
                              env=dict(os.environ, TMPDIR=place))
        if done.returncode != 0:
            raise Bad(f"{words[0]} ends with {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout

    def numbers(self, file, place):
        """Returns the number of spans; a gap that is not counted is bad."""
        text = self.ask("query", file, NUMBERS, "--format", "csv", place=place)
        spans, missing, lost = (float(value) for value in list(csv.reader(io.StringIO(text)))[1])
        if missing > lost:
            raise Bad(f"{missing:.0f} numbers are missing, {lost:.0f} are counted as lost")
        return int(spans)

    def imported(self, traces, place):
        """Imports the truncated traces, and returns the number of their spans, or 0 if they have none."""
        try:
            self.ask("import", *traces, "--quiet", "-o", "left.xsp", place=place)
        except Bad:
            if sum(os.path.getsize(trace) for trace in traces) > 64 * 1024:
                raise
            return 0
        return self.numbers("left.xsp", place)

    def arguments(self, until_killed):
        return [str(self.rng.choice([1, 1, 2, 4])), str(self.rng.choice([20] + [400, 2000, 20000] * 3)),
                "1" if until_killed else "0"]

    def recorder(self, place):
        process = self.start([self.program, *self.arguments(True), "self"], place, XSP_TRACE="self.xtrace")
        process.stdout.readline()
        alive_s = self.rng.uniform(0, 0.5 if self.rng.random() < 0.9 else 3)
        time.sleep(alive_s)
        process.kill()
        finish(process)
        spans = self.imported(["self.xtrace"], place)
        if spans == 0 and alive_s > LAST_MOMENT_S:
            raise Bad(f"no span of {alive_s:.1f} s is there")
        return "read" if spans > 0 else "ended before the first span was written"

    def watched(self, place):
        killer = self.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV,
                                  signal.SIGINT])
        process = self.start([self.xsp, "run", "--quiet", "-o", "run.xsp", "--", self.program,
                              *self.arguments(True)], place)
        process.stdout.readline()
        time.sleep(self.rng.uniform(0, 0.6))
        for child in children(process.pid):
            os.kill(child, killer)
        status = finish(process)
        if status != -killer and status != 128 + killer:
            raise Bad(f"status {status} of a program that signal {killer} ended")
        if not os.path.exists(os.path.join(place, "run.xsp")):
            return "ended before a trace was begun"
        return "read" if self.numbers("run.xsp", place) > 0 else "ended before the first span was written"

    def watcher(self, place):
        process = self.start([self.xsp, "run", "--quiet", "-o", "run.xsp", "--", self.program,
                              *self.arguments(False)], place)
        process.stdout.readline()
        time.sleep(self.rng.uniform(0, 0.3))
        process.kill()
        process.wait()
        # The program holds the pipe, and prints its last line there.
        last = process.stdout.read()
        if "ended" not in last:
            raise Bad(f"the program did not go on: {process.stderr.read()[-200:]}")
        traces = glob.glob(place + "/xsp-*/**/*.xtrace", recursive=True)
        if not traces and os.path.exists(os.path.join(place, "run.xsp")):
            return "came to its end" if self.numbers("run.xsp", place) > 0 else "no span was written"
        if not traces:
            raise Bad("no trace is left")
        return "read" if self.imported(traces, place) > 0 else "no span was written"

    def profile(self, place):
        process = self.start([self.xsp, "profile", "fake:layers=4,us=200,wait=sleep", "--max-time", "1",
                              "--no-peaks", "--quiet", "-o", "p.xsp"], place)
        time.sleep(self.rng.uniform(0, 2.0))
        victims = [process.pid] if self.rng.random() < 0.6 else children(process.pid)[:1]
        workers = children(process.pid)
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        status = finish(process)
        until = time.monotonic() + 10
        while any(is_running(one) for one in workers):
            if time.monotonic() > until:
                raise Bad("a worker outlives xsp profile")
            time.sleep(0.05)
        if os.path.exists(os.path.join(place, "p.xsp")):
            self.ask("query", "p.xsp", "FROM evaluation", place=place)
            return f"whole, status {status}"
        if status == 0:
            raise Bad("status 0 without a file")
        return f"no file, status {status}"


def children(process):
    """Returns the ids of its children."""
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        return []


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def main():
    parser = campaign.arguments(__doc__, count=40)
    parser.add_argument("--keep", help="where the folders of bad ends go")
    options = parser.parse_args()
    counts, bad = collections.Counter(), 0
    rounds = campaign.Rounds(options)
    with tempfile.TemporaryDirectory() as folder:
        killer = Killer(options, folder)
        kinds = [killer.recorder, killer.watched, killer.watcher, killer.profile]
        for number in rounds:
            kind = kinds[number % len(kinds)]
            place = tempfile.mkdtemp(dir=folder)
            try:
                outcome = kind(place)
            except (Bad, subprocess.TimeoutExpired) as error:
                bad += 1
                outcome = "bad"
                print(f"kill {number} (seed {options.seed}), {kind.__name__}: {error}", flush=True)
                if options.keep:
                    shutil.copytree(place, os.path.join(options.keep, f"{options.seed}-{number}"))
            killer.leave_nobody()
            counts[f"{kind.__name__}: {outcome}"] += 1
            shutil.rmtree(place, ignore_errors=True)
    print(f"{rounds.done} kills in {rounds.seconds:.0f} s, {bad} bad")
    for what, count in sorted(counts.items()):
        print(f"{count:7} {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
