#!/usr/bin/env python3
"""Profiles models again and again under load, and looks for contradictions between all of xsp's answers about
them.

  bench/contradictions.py [--xsp build/release/bin/xsp] [--models mobilenet_v2,bert_base] [--profiles 20]
                          [--load 2,4,8] [--max-time 6] [--options "--batch 1,2"] [--keep DIR] [FILE.xsp ...]

Each model is profiled --profiles times, with each number of busy processes in turn. Then every analysis is
requested at each batch size, on the command line and over HTTP, with the timelines, the evaluation's
entry, comparisons with itself and with the next, and the JSON that the profile printed. Each number is
compared with the same one elsewhere. With files, only these are checked; the JSON of a profile is
FILE.xsp.json, if it exists. Prints a line for each contradiction, and a table of the checks at the end;
exits with 1 if there was any contradiction.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from consistency import answers, comparisons, ledger, numbers, words

# The process ends with the one that started it, however that ended.
BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(10000))"


class Load:
    """Runs busy processes while the context is entered."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        for _ in range(self.count):
            command = [sys.executable, "-c", BUSY, str(os.getpid())]
            self.processes.append(subprocess.Popen(command))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def model_of(xsp, name, folder):
    """Returns a file of the model, built if the zoo has the name; another name is taken as a path."""
    file = folder / f"{name}.onnx"
    if name.startswith("fake:") or pathlib.Path(name).exists():
        return name
    if not file.exists():
        done = answers.run([xsp, "models", "build", name, "-o", file])
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
    return str(file)


def profile_all(options, folder, models):
    loads = [int(text) for text in options.load.split(",")]
    files = []
    for number in range(options.profiles):
        for name in options.models.split(","):
            load = loads[number % len(loads)]
            file = folder / f"{name.split(':')[0].rpartition('/')[2]}_{number:02}_load{load}.xsp"
            model = model_of(options.xsp, name, models)
            command = [options.xsp, "profile", model, "--format", "json", "--max-time", options.max_time,
                       "-o", file, *options.options.split()]
            # The ceilings of a machine need not be measured each time.
            command += ["--no-peaks"] if number > 0 else []
            begin = time.monotonic()
            with Load(load):
                done = answers.run(command)
            if done.returncode != 0 or not file.exists():
                print(f"not profiled: {name}: {done.stderr.strip().splitlines()[-1:]}", flush=True)
                continue
            pathlib.Path(f"{file}.json").write_text(done.stdout, encoding="utf-8")
            print(f"profiled {file.name} in {time.monotonic() - begin:.1f} s", flush=True)
            files.append(file)
    return files


def linked(files, folder):
    """Links the files into one folder, under names of their own, for a server."""
    found = []
    for number, file in enumerate(files):
        place = folder / f"{number:03}_{pathlib.Path(file).name}"
        for ending in ("", ".json"):
            if not pathlib.Path(f"{file}{ending}").exists():
                continue
            try:
                os.link(f"{file}{ending}", f"{place}{ending}")
            except OSError:
                shutil.copyfile(f"{file}{ending}", f"{place}{ending}")
        found.append(place)
    return found


def check_all(options, files, book):
    with tempfile.TemporaryDirectory() as folder:
        places = linked(files, pathlib.Path(folder))
        server = answers.Server(options.xsp, folder)
        try:
            catalogue = server.get("/catalogue")["analyses"]
            known = []
            for number, place in enumerate(places):
                one = answers.Evaluation(server, catalogue, place, place.name)
                if one.entry.get("status") != "ok" or not one.batches:
                    print(f"not checked: {place.name}: {one.entry.get('reason') or one.entry.get('error')}")
                    continue
                if number % options.command_every == 0:
                    one.ask_command(options.xsp, options.workers)
                for batch in one.batches:
                    for check in numbers.ALL + words.ALL:
                        check(book, one, batch)
                known.append(one)
            for one, other in zip(known, known[1:] + known[:1]):
                comparisons.check(book, one, one)
                if other is not one:
                    comparisons.check(book, one, other)
        finally:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", default="build/release/bin/xsp")
    parser.add_argument("--models", default="mobilenet_v2,bert_base",
                        help="names of the zoo, files, or as in 'fake:layers=4 us=200'")
    parser.add_argument("--profiles", type=int, default=20, help="of each model")
    parser.add_argument("--load", default="2,4,8", help="busy processes beside a profile, in turn")
    parser.add_argument("--max-time", default="6", help="seconds that a profile measures at most")
    parser.add_argument("--options", default="", help="further options of xsp profile")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the profiles, and what they printed")
    parser.add_argument("--command-every", type=int, default=1,
                        help="ask every Nth evaluation on the command line, too")
    parser.add_argument("--workers", type=int, default=2, help="commands at a time")
    parser.add_argument("files", nargs="*", metavar="FILE.xsp")
    options = parser.parse_args()
    options.xsp = str(pathlib.Path(options.xsp).resolve())
    book = ledger.Ledger(lambda line: print(line, flush=True))
    with tempfile.TemporaryDirectory() as scratch:
        files = options.files
        if not files:
            folder = options.keep or pathlib.Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            files = profile_all(options, folder, pathlib.Path(scratch))
        check_all(options, files, book)
    print(book.table())
    print(f"{book.contradictions()} contradictions in {len(files)} evaluations")
    return 1 if book.contradictions() or not book.checks else 0


if __name__ == "__main__":
    sys.exit(main())
