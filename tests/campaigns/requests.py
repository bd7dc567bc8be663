#!/usr/bin/env python3
"""Hostile requests: random and crafted ones against a real `xsp serve --catalogue`, which must survive and
answer.

  tests/campaigns/requests.py --xsp BIN/xsp [--count N | --seconds S] [--seed N] [--clients N] [--memory FILE]

Then that many clients ask at once. Every answer to a request that arrived as it was made is checked against
the API's OpenAPI document. Prints counts by status, and the server's memory; exits 1 if the server ended, did
not answer in time, sent what is no HTTP or not in the document, told of or wrote a file that is not its own,
or kept memory or files. --memory gets a table of the memory and files after each hundredth of the requests.
"""

import asyncio
import collections
import os
import random
import re
import resource
import socket
import sys
import tempfile
import time

import campaign

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from document import Document  # noqa: E402
from served import Served  # noqa: E402

ANSWER_S = 90  # above the server's own limits
SECRET = "a-foreign-file-has-this"
FOREIGN = [SECRET.encode(), b"root:x:0:0"]  # in /etc/passwd
# What the server may keep of an answer (docs/http_api.md), and the fragments between.
KEPT_MIB = 64 + 32
TEXTS = ["%FF", "%C0%AF", "%00", "%1B[2J", "'; DROP TABLE run; --", "' OR '1'='1", "%25", "%2e%2e%2f",
         "a" * 4000, "1e308", "-1", "9223372036854775808", "NaN", "", "0", "1", "layer",
         "resnet%F0%9F%98%80", "%ED%A0%80", "../../etc/passwd", "..%2F..%2F..%2Fetc%2Fpasswd",
         "..%2Fforeign.xsp", "%2Fetc%2Fpasswd", "--help", "-o", "$1", "*", "%", "{}"]
NAMES = ["run", "text", "level", "batch", "zoom", "tile", "span", "lane", "from", "before", "e", "time",
         "rule", "limit", "offset", "metric", "model", "name", "%FF"]
PARTS = ["a.xsp", "hotspots", "model_summary", "findings", "layers", "model", "kernels", "facts", "bytes",
         "snake", "inference.latency", "fake", "victim", "new.xsp", "own.yaml", "1", "2"]
# Requests that succeed with the right token, and lead to the code behind the checks.
RIGHT = [("POST", "/predictions?model=bytes"), ("POST", "/evaluations?name=new.xsp"), ("GET", "/audit"),
         ("DELETE", "/tokens/victim"), ("GET", "/results?metric=inference.latency&limit=10"),
         ("GET", "/metrics"), ("GET", "/evaluations/a.xsp/analyses/model_summary"),
         ("GET", "/evaluations/a.xsp/timeline?run=1"),
         ("GET", "/compare/model?e=a.xsp&e=b.xsp"), ("GET", "/tasks?state=done"), ("GET", "/tokens")]
UNKNOWN = ["/{}", "/evaluations/{}/{}/{}", "/tokens", "/openapi.json/{}"]


class Maker:
    """Makes requests from the operations of the document. `tokens` are valid."""

    def __init__(self, rng, document, tokens):
        self.rng, self.tokens = rng, tokens
        self.operations = document.operations

    def target(self):
        """Returns a method and an address: an operation's, with parts and parameters that may not fit it."""
        rng = self.rng
        if rng.random() < 0.2:
            method, path = rng.choice(RIGHT)
            return method, "/api/v1" + path
        method, _, name, operation = rng.choice(self.operations)
        path = name.split(" ", 1)[1] if rng.random() < 0.9 else rng.choice(UNKNOWN)
        path = re.sub(r"\{[^}]*\}", lambda _: rng.choice(PARTS if rng.random() < 0.7 else TEXTS), path)
        known = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
        query = [f"{rng.choice(known if known and rng.random() < 0.7 else NAMES)}={rng.choice(TEXTS + PARTS)}"
                 for _ in range(rng.randrange(4))]
        if rng.random() < 0.1:
            method = rng.choice(["head", "get", "post", "put", "delete", "brew"])
        return method.upper(), ("/api/v1" + path + ("?" + "&".join(query) if query else "")).replace(" ", "+")

    def token(self):
        kind = self.rng.random()
        if kind < 0.4:
            return None
        if kind < 0.85:
            return self.rng.choice(self.tokens)
        return self.rng.choice(["", "xsp_" + "0" * 64, "x" * 300, "xsp_' OR '1'='1", self.tokens[0][:-1]])

    def body(self):
        size = self.rng.choice([0, 1, 8, 8, 100, 5000, 100_000])
        return bytes(self.rng.randrange(256) for _ in range(min(size, 100))) * (size // 100 or 1)

    def request(self):
        """Returns the bytes of a request, which may be invalid, and its method and address if it is whole."""
        rng = self.rng
        kind = rng.random()
        method, target = self.target()
        head = ["Host: " + rng.choice(["127.0.0.1"] * 12 + ["evil.example", "", "[::1]"])]
        token, body = self.token(), b""
        if token is not None:
            head.append("Authorization: Bearer " + token)
        if method == "POST" and rng.random() < 0.8:
            body = self.body()
            head.append(f"Content-Length: {len(body)}")
        elif rng.random() < 0.1:
            head.append("Content-Length: " + rng.choice(["0", "5", "-1", "99999999999999999999", "x"]))
        if rng.random() < 0.05:
            head.append("Transfer-Encoding: chunked")
        if rng.random() < 0.05:
            head.append("X-" + "y" * rng.choice([10, 9000, 40000]) + ": z")
        text = "\r\n".join([f"{method} {target} HTTP/1.1", *head, "Connection: close", "", ""])
        whole = text.encode("latin-1", "replace") + body
        if kind < 0.05:
            return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400))), None
        if kind < 0.15:
            changed = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            return bytes(changed), None
        return (whole[:rng.randrange(1, len(whole))], None) if kind < 0.2 else (whole, (method, target))


def split(answer):
    """Returns the status and the body of an answer, or why there is none, and nothing."""
    if not answer:
        return "closed", b""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    return (status.group(1).decode(), body) if status else ("no HTTP", b"")


def ask(port, sent):
    """Returns the status and the body of the answer to one request, or why there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as client:
        answer = b""
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(1 << 16):
                answer += piece
        except TimeoutError:
            return "no answer", b""
        except OSError:
            return ("closed", b"") if not answer else split(answer)
    return split(answer)


async def ask_at_once(port, requests):
    """Returns the statuses of the answers to requests that are all sent before one answer is read."""
    async def one(sent):
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), ANSWER_S)
        except (OSError, TimeoutError):
            return "refused"
        ready.append(writer)
        while len(ready) < len(requests) and time.monotonic() < begin + 20:
            await asyncio.sleep(0.05)
        try:
            writer.write(sent)
            answer = await asyncio.wait_for(reader.read(-1), ANSWER_S)
            return split(answer)[0]
        except TimeoutError:
            return "no answer"
        except OSError:
            return "closed"
        finally:
            writer.close()

    ready, begin = [], time.monotonic()
    return collections.Counter(await asyncio.gather(*(one(sent) for sent in requests)))


class State:
    """The memory, files and threads of a process."""

    def __init__(self, pid):
        status = open(f"/proc/{pid}/status").read()
        found = re.findall(r"(VmRSS|VmHWM|RssAnon|Threads):\s+(\d+)", status)
        number = {key: int(value) for key, value in found}
        self.mib, self.peak_mib = number["VmRSS"] >> 10, number["VmHWM"] >> 10
        self.threads, self.files = number["Threads"], len(os.listdir(f"/proc/{pid}/fd"))
        self.own_mib = number["RssAnon"] / 1024

    def __str__(self):
        return f"{self.mib} MiB, {self.files} files, {self.threads} threads"


def files_below(folder):
    return {os.path.relpath(os.path.join(path, name), folder)
            for path, _, names in os.walk(folder) for name in names}


class Campaign:
    def __init__(self, options, served):
        self.options, self.served, self.problems = options, served, []
        self.counts, self.slowest, self.states = collections.Counter(), (0, b""), []
        self.document = Document(self.plain("/api/v1/openapi.json")[1])
        self.maker = Maker(random.Random(options.seed), self.document, list(served.tokens.values()))

    def plain(self, target):
        sent = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        return ask(self.served.port, sent.encode())

    def lives(self):
        return self.served.server.poll() is None

    def look(self, number, sent, asked, status, body):
        where = f"request {number} (seed {self.options.seed}): {sent[:300]!r}"
        if status in ("no answer", "no HTTP"):
            self.problems.append(f"{status}: {where}")
        # A body that is refused may end the connection before the client has read why.
        if asked and status == "closed" and b"Content-Length" not in sent and b"Transfer-" not in sent:
            self.problems.append(f"a whole request got no answer: {where}")
        if any(text in body for text in FOREIGN):
            self.problems.append(f"a foreign file is in the answer: {where}")
        # A server may answer before it has read the head: these answers have no address to check by.
        if asked and status.isdigit() and status not in ("408", "414", "421", "431"):
            fault = self.document.fault(*asked, int(status), body)
            if fault:
                self.problems.append(f"{fault}: {where}")

    def hostile(self, rounds):
        """Returns the server's state after half of the requests, when it has what it keeps."""
        middle = None
        for number in rounds:
            sent, asked = self.maker.request()
            begin = time.monotonic()
            try:
                status, body = ask(self.served.port, sent)
            except OSError as error:
                status, body = "refused", b""
                self.problems.append(f"request {number}: {error}: {sent[:300]!r}")
            self.counts[status] += 1
            self.slowest = max(self.slowest, (time.monotonic() - begin, sent[:150]))
            self.look(number, sent, asked, status, body)
            if not self.lives():
                self.problems.append(f"the server ended at request {number}: {sent!r}")
                return middle
            if number == self.options.count // 2:
                middle = State(self.served.server.pid)
            if self.options.memory and number % max(1, self.options.count // 100) == 0:
                self.states.append((number, State(self.served.server.pid)))
        return middle

    def crowd(self, clients):
        wanted = [self.maker.request()[0] for _ in range(clients // 2)]
        plain = b"GET /api/v1/results?limit=100 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        counts = asyncio.run(ask_at_once(self.served.port, wanted + [plain] * (clients - len(wanted))))
        print(f"{clients} clients at once: " + told(counts))
        if counts["no answer"] or counts["no HTTP"] or counts["refused"]:
            self.problems.append("the crowd: not every client was answered or told")
        if not counts["200"]:
            self.problems.append("the crowd: nobody was answered")

    def write_memory(self, path):
        with open(path, "w") as file:
            file.write("requests,resident_mib,own_mib,files,threads\n")
            for number, state in self.states:
                file.write(f"{number},{state.mib},{state.own_mib:.1f},{state.files},{state.threads}\n")

    def settled(self):
        """Returns the server's state once it is idle."""
        time.sleep(3)
        return State(self.served.server.pid)


def told(counts):
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))


def main():
    parser = campaign.arguments(__doc__, count=300)
    parser.add_argument("--clients", type=int, default=0, help="clients that ask at once, afterwards")
    parser.add_argument("--memory", help="file for the table of the server's memory")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with tempfile.TemporaryDirectory() as outer:
        folder = os.path.join(outer, "served")
        os.mkdir(folder)
        with open(os.path.join(outer, "foreign.xsp"), "w") as file:
            file.write(SECRET)
        os.symlink("../foreign.xsp", os.path.join(folder, "link.xsp"))
        os.mkdir(os.path.join(outer, "tmp"))
        os.environ["TMPDIR"] = os.path.join(outer, "tmp")
        served = Served(options.xsp, folder, "--upload", "--rate", "0")
        served.new_token("victim", "read")
        before = files_below(outer)
        work = Campaign(options, served)
        begin = State(served.server.pid)
        rounds = campaign.Rounds(options)
        middle = work.hostile(rounds)
        if options.clients and work.lives():
            work.crowd(options.clients)
        lives = work.lives()
        if lives:
            end = work.settled()
            if work.plain("/api/v1/results?limit=1")[0] != "200":
                work.problems.append("it answers no more")
            print(f"at first {begin}; half-way {middle}; at the end {end}; at most {end.peak_mib} MiB")
            if middle and end.mib > middle.mib + KEPT_MIB:
                work.problems.append(f"the second half kept {end.mib - middle.mib} MiB")
            if middle and end.files > middle.files + 8:
                work.problems.append(f"the second half kept {end.files - middle.files} files open")
        ended = served.stop()
        if options.memory:
            work.write_memory(options.memory)
        new = files_below(outer) - before
        own = re.compile(r"served/(predictions/[\w.-]+\.xsp|new\.xsp|a\.xsp|catalogue\.sqlite-journal)")
        for name in sorted(new):
            if not own.fullmatch(name):
                work.problems.append(f"a new file: {name}")
    print(f"{rounds.done} requests in {rounds.seconds:.0f} s: {told(work.counts)}")
    answered = sum(name.startswith("served/predictions/") for name in new)
    print(f"{answered} predictions left their traces (at most 200 are kept)")
    print(f"the slowest took {work.slowest[0]:.2f} s: {work.slowest[1]!r}")
    if ended != 0:
        work.problems.append(f"the server ended with {ended}")
    for problem in work.problems[:50]:
        print(problem)
    return 1 if work.problems else 0


if __name__ == "__main__":
    sys.exit(main())
