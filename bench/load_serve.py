#!/usr/bin/env python3
"""Puts load on xsp serve: requests per second, p99, failures, and whether its memory stays constant.

usage: load_serve.py XSP DIR [--seconds 3] [--connections 16] [--rounds 5]

Asks for the page, the catalogue, the list, an evaluation and an analysis of the newest evaluation in DIR
that can be read, by `wrk` (Debian: package wrk), in rounds. Each is requested once before: the time of
this first answer has its own column, since wrk's p99 would count it many times (wrk counts requests that
it did not send while one waited). Exits with 1 if an answer was an error or did not come, or if the memory
grew by more than a fiftieth after the first round.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

# wrk's kinds of errors: no connection; it ended too early; nothing was taken; no answer for two seconds.
SOCKET_ERRORS = ("connect", "read", "write", "timeout")
GROWTH = 1.02


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def load(url, seconds, connections):
    """Returns (requests per second, p99 as wrk reports it, failures by kind) of one address."""
    said = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url],
                          capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    failures = {"status": int(bad[1])} if bad else {}
    if sockets:
        failures.update((kind, int(n)) for kind, n in zip(SOCKET_ERRORS, sockets.groups()) if int(n))
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    return rate, re.search(r"99%\s+(\S+)", said)[1], failures


def first_answer_ms(url):
    begin = time.monotonic()
    with urllib.request.urlopen(url) as answer:
        answer.read()
    return (time.monotonic() - begin) * 1000


def measure(base, pid, options):
    """Loads each address in each round. Returns (failures, memory after each round)."""
    with urllib.request.urlopen(base + "/api/v1/evaluations") as answer:
        known = [one for one in json.load(answer)["evaluations"] if one["status"] == "ok"]
    one = "/api/v1/evaluations/" + urllib.parse.quote(known[0]["id"], safe="")
    requests = ("/", "/api/v1/catalogue", "/api/v1/evaluations", one, one + "/analyses/layer_information")
    first = {request: first_answer_ms(base + request) for request in requests}
    failed, memory = 0, [memory_mib(pid)]
    print("| round | request | first answer | requests/s | p99 | failed | memory |")
    print("|---|---|---|---|---|---|---|")
    for number in range(1, options.rounds + 1):
        for request in requests:
            rate, p99, failures = load(base + request, options.seconds, options.connections)
            failed += sum(failures.values())
            said = ", ".join(f"{kind} {count}" for kind, count in failures.items()) or "0"
            print(f"| {number} | `{request}` | {first[request]:.0f} ms | {rate:,.0f} | {p99} | {said} "
                  f"| {memory_mib(pid):.0f} MiB |", flush=True)
        memory.append(memory_mib(pid))
    return failed, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xsp")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    server = subprocess.Popen([options.xsp, "serve", options.folder, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        base = re.search(r"http://\S+", server.stderr.readline())[0].rstrip("/")
        failed, memory = measure(base, server.pid, options)
    finally:
        server.terminate()
        server.wait()
    is_flat = memory[-1] <= memory[1] * GROWTH
    print(f"\nfailed: {failed}; memory at the start and after each round: "
          + ", ".join(f"{one:.0f}" for one in memory) + f" MiB: {'flat' if is_flat else 'it grows'}; "
          + "load of the machine: " + " ".join(f"{one:.1f}" for one in os.getloadavg()))
    return 1 if failed or not is_flat else 0


if __name__ == "__main__":
    sys.exit(main())
