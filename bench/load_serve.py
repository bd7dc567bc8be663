#!/usr/bin/env python3
"""Load on xsp serve: requests per second, p99, errors, and its memory before and after each.

usage: load_serve.py XSP DIR [--seconds 5] [--connections 16]

Asks for the page, the list, an evaluation and an analysis of the newest evaluation in DIR that can be
read, by `wrk` (Debian: package wrk). Exits with 1 if any answer was an error or did not come.
"""
import argparse
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request


def memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024


def load(url, seconds, connections):
    """(requests per second, p99 as wrk says it, failed requests) of one address."""
    said = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", url],
                          capture_output=True, text=True, check=True).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    sockets = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    failed = int(bad[1]) if bad else 0
    failed += sum(map(int, sockets.groups())) if sockets else 0
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]), re.search(r"99%\s+(\S+)", said)[1], failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xsp")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    options = parser.parse_args()
    server = subprocess.Popen([options.xsp, "serve", options.folder, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True)
    try:
        base = re.search(r"http://\S+", server.stderr.readline())[0].rstrip("/")
        with urllib.request.urlopen(base + "/api/v1/evaluations") as answer:
            known = [one for one in json.load(answer)["evaluations"] if one["status"] == "ok"]
        one = "/api/v1/evaluations/" + urllib.parse.quote(known[0]["id"], safe="")
        failures = 0
        print("| request | requests/s | p99 | failed | memory before, after |\n|---|---|---|---|---|")
        for request in ("/", "/api/v1/catalogue", "/api/v1/evaluations", one,
                        one + "/analyses/layer_information"):
            before = memory_mib(server.pid)
            rate, p99, failed = load(base + request, options.seconds, options.connections)
            failures += failed
            print(f"| `{request}` | {rate:,.0f} | {p99} | {failed} "
                  f"| {before:.0f}, {memory_mib(server.pid):.0f} MiB |", flush=True)
        return 1 if failures else 0
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
