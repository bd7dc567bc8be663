#!/usr/bin/env python3
"""Hostile requests: random and crafted ones against a real `xsp serve`, which must survive and answer.

  tests/campaigns/requests.py --xsp BIN/xsp [--count N | --seconds S] [--seed N]

Prints counts by status; exits 1 if the server ended, did not answer in time, or sent an answer that is not
HTTP.
"""

import collections
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import urllib.parse

import campaign

ANSWER_S = 90  # above the server's own limits
TEXTS = ["%FF", "%C0%AF", "%00", "%1B[2J", "'; DROP TABLE run; --", "%25", "%2e%2e%2f", "a" * 4000,
         "1e308", "-1", "9223372036854775808", "NaN", "", "0", "1", "layer", "resnet%F0%9F%98%80",
         "%ED%A0%80", "../../etc/passwd"]
ROUTES = ["/catalogue", "/evaluations", "/evaluations/{}", "/evaluations/{}/analyses/{}",
          "/evaluations/{}/timeline",
          "/evaluations/{}/timeline/tile", "/evaluations/{}/timeline/span",
          "/evaluations/{}/timeline/search",
          "/compare/{}", "/{}", "/evaluations/{}/{}/{}"]
NAMES = ["run", "text", "level", "batch", "zoom", "tile", "span", "lane", "from", "before", "e", "time",
         "rule", "%FF"]
PARTS = ["a.xsp", "hotspots", "model_summary", "findings", "layers", "model", "kernels", "facts"]


def target(rng):
    """Returns a request's address: a route, with parts and parameters that may or may not match it."""
    path = re.sub(r"\{\}", lambda _: rng.choice(PARTS if rng.random() < 0.7 else TEXTS), rng.choice(ROUTES))
    query = "&".join(f"{rng.choice(NAMES)}={rng.choice(TEXTS + PARTS)}" for _ in range(rng.randrange(4)))
    return ("/api/v1" + path + ("?" + query if query else "")).replace(" ", "+")


def request(rng):
    """Returns the bytes of one request, which may be invalid."""
    kind = rng.random()
    line = f"{rng.choice(['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'PUT', 'BREW'])} {target(rng)} HTTP/1.1"
    head = ["Host: " + rng.choice(["127.0.0.1"] * 8 + ["evil.example", "", "[::1]"])]
    if rng.random() < 0.1:
        head.append("Content-Length: " + rng.choice(["0", "5", "-1", "99999999999999999999", "x"]))
    if rng.random() < 0.05:
        head.append("Transfer-Encoding: chunked")
    if rng.random() < 0.05:
        head.append("X-" + "y" * rng.choice([10, 9000, 40000]) + ": z")
    whole = "\r\n".join([line, *head, "Connection: close", "", ""]).encode("latin-1", "replace")
    if kind < 0.05:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400)))
    if kind < 0.15:
        changed = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        return bytes(changed)
    return whole[:rng.randrange(1, len(whole))] if kind < 0.2 else whole


def ask(port, sent):
    """Returns the status of the answer to one request, or why there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := client.recv(1 << 16):
                answer += piece
        except TimeoutError:
            return "no answer"
        except OSError:
            return "closed"
    if not answer:
        return "closed"
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return status.group(1).decode() if status else "no HTTP"


def main():
    options = campaign.arguments(__doc__, count=300).parse_args()
    rng = random.Random(options.seed)
    counts = collections.Counter()
    xsp = os.path.abspath(options.xsp)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([xsp, "profile", "fake:layers=3,us=100,wait=sleep", "--max-time", "0.5", "--no-peaks",
                        "--quiet", "-o", "a.xsp"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        server = subprocess.Popen([xsp, "serve", "--listen", "127.0.0.1:0"], cwd=folder,
                                  stderr=subprocess.PIPE, text=True)
        port = urllib.parse.urlsplit(re.search(r"http://\S+", server.stderr.readline()).group(0)).port
        rounds = campaign.Rounds(options)
        for number in rounds:
            sent = request(rng)
            try:
                counts[ask(port, sent)] += 1
            except OSError as error:
                counts["refused"] += 1
                print(f"request {number} (seed {options.seed}): {error}: {sent!r}")
            if server.poll() is not None:
                print(f"the server ended with {server.returncode} at request {number}: {sent!r}")
                break
        lives = server.poll() is None
        peak = next((line.split()[1] for line in open(f"/proc/{server.pid}/status")
                     if line.startswith("VmHWM")), "0") if lives else "0"
        server.terminate()
        ended = server.wait(timeout=30)
    print(f"{rounds.done} requests in {rounds.seconds:.0f} s, at most {int(peak) >> 10} MiB: "
          + ", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    bad = counts["no answer"] + counts["no HTTP"] + counts["refused"]
    return 0 if lives and ended == 0 and bad == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
