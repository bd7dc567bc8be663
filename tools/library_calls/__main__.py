#!/usr/bin/env python3
"""Writes the wrappers of collectors/library_calls from the libraries' own headers.

  tools/library_calls --out FOLDER --clang FOLDER --include FOLDER ...      LIBRARY.cc, headers.h
  tools/library_calls --compare ... --include OLD ... --with NEW ...        what differs between versions

Each wrapper has the symbol and the calling convention of a function that a library exports. It notes the
problem of the call (sizes, types, layouts: its parameters by name), and calls the real function.

A rule over the parameters (see LIBRARIES) decides which functions do work, and are wrapped, and which only
set something up, so that a new version's functions are wrapped without an edit here. Functions that cannot
be wrapped are counted and named: structs by value, variable arguments.
"""

import argparse
import os
import re
import sys
from collections import Counter

from headers import Headers
from rules import FORGETS, LIBRARIES
from writer import Writer, enumerations_text, why_left_out


def split(headers, library):
    """Returns (wrapped, plumbing, {name: why left out}) of a library's functions."""
    prefix, _, is_work, _ = LIBRARIES[library]
    wrapped, plumbing, left_out = [], [], {}
    for name, f in sorted(headers.functions.items()):
        if not re.match(prefix, name):
            continue
        if not is_work(f):
            plumbing.append(f)
        elif why_left_out(f):
            left_out[name] = why_left_out(f)
        else:
            wrapped.append(f)
    return wrapped, plumbing, left_out


def write_if_changed(path, text):
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return
    with open(path, "w") as file:
        file.write(text)


def generate(args):
    os.makedirs(args.out, exist_ok=True)
    all_headers = {}
    for library, (_, names, _, failure) in LIBRARIES.items():
        headers = all_headers[library] = Headers(args.clang, args.include, names)
        wrapped, plumbing, left_out = split(headers, library)
        writer = Writer(library, headers, headers.values.get(failure, 0))
        for f in wrapped:
            writer.add(f)
        for f in plumbing:
            if f.name in FORGETS:
                writer.add_forgetting(f)
        if library == "blas":
            for f in wrapped:
                writer.add_fortran(f)
        write_if_changed(os.path.join(args.out, f"{library}.cc"), writer.text())
        why = "".join(f", {n} with {reason}" for reason, n in Counter(left_out.values()).items())
        print(f"library calls: {library}: {len(wrapped)} functions wrapped, {len(plumbing)} set things up, "
              f"{len(left_out)} left out{why}")
        if args.list:
            print("\n".join(f"  {f.name}({', '.join(f.types)})" for f in wrapped))
            print("  plumbing: " + " ".join(f.name for f in plumbing))
    write_if_changed(os.path.join(args.out, "headers.h"), enumerations_text(all_headers))


def compare(args):
    """Returns functions that two versions of the headers declare differently: a wrapper fits only one."""
    differing = 0
    for library, (_, names, _, _) in LIBRARIES.items():
        both = []
        for folders in (args.include, args.other):
            try:
                both.append({f.name: f for f in split(Headers(args.clang, folders, names), library)[0]})
            except SystemExit as error:
                print(f"{library}: not compared: {error}")
        if len(both) < 2:
            continue
        old, new = both
        for name in sorted(old.keys() & new.keys()):
            if old[name].signature() != new[name].signature():
                print(f"{library}: {name}: {old[name].types} is now {new[name].types}")
                differing += 1
        print(f"{library}: {len(old.keys() & new.keys())} in both, only in the first: "
              f"{' '.join(sorted(old.keys() - new.keys())) or 'none'}; only in the second: "
              f"{len(new.keys() - old.keys())}")
    return 1 if differing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="where to write")
    parser.add_argument("--clang", required=True, help="the folder that holds the Python package clang")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers; may be repeated")
    parser.add_argument("--list", action="store_true", help="print what is wrapped, and what is not")
    parser.add_argument("--compare", action="store_true", help="compare with the headers in --with")
    parser.add_argument("--with", dest="other", action="append", default=[],
                        help="as --include, for --compare")
    args = parser.parse_args()
    if args.compare:
        return compare(args)
    generate(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
