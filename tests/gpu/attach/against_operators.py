"""Watches a training on the GPU: xsp run counts the same operators as torch.profiler, and attributes them.

    against_operators.py XSP

Compares the counts of one pass over a little data, name by name; then checks the attribution. The last
line is a summary; exit status 1 if something differs.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

# Entries of torch.profiler that are neither operators nor ranges: the calls of CUDA.
CALLS = ("cu", "Memcpy", "Memset", "Activity Buffer", "Lazy Function", "Buffer Flush", "Command Buffer")


def train_with(watch):
    import torch
    import torchvision

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    net = torchvision.models.resnet18(num_classes=10).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images = torch.utils.data.TensorDataset(torch.rand(32, 3, 64, 64), torch.arange(32) % 10)
    batches = torch.utils.data.DataLoader(images, batch_size=8)
    judge = torch.nn.CrossEntropyLoss()

    def train():
        for x, y in batches:
            optimizer.zero_grad()
            judge(net(x.cuda()), y.cuda()).backward()
            optimizer.step()
        torch.cuda.synchronize()

    train()
    watch(torch, train)


def with_profiler(torch, train):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        train()
    # These are the recorded events: torch's own lists leave out an operator that is the only call of one with
    # the same name.
    events = profiler.profiler.kineto_results.events()
    json.dump(collections.Counter(event.name() for event in events), sys.stdout)


def with_xsp(_, train):
    import xsp

    with xsp.span("measured"):
        train()


def main(program):
    folder = tempfile.mkdtemp()
    file = os.path.join(folder, "t.xsp")
    environment = dict(os.environ, XSP_PROGRAM=program)

    def run(*command):
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return done.stdout

    def ask(sql):
        return json.loads(run(program, "query", file, sql, "--format", "json"))

    expected = json.loads(run(sys.executable, __file__, "--profiler").splitlines()[-1])
    expected = {name: n for name, n in expected.items() if not name.startswith(CALLS)}
    run(program, "run", "--leveled=no", "--quiet", "-o", file, "--", sys.executable, __file__, "--xsp")
    rows = ask(
        "SELECT s.type, count(*) AS calls FROM span s JOIN span m ON m.name = 'measured' "
        "WHERE s.level = 3 AND s.device IS NULL "
        "AND s.start_ns BETWEEN m.start_ns AND m.start_ns + m.duration_ns GROUP BY s.type"
    )
    counted = {row["type"]: row["calls"] for row in rows}
    differ = {k: (n, counted.get(k, 0)) for k, n in expected.items() if n != counted.get(k, 0)}
    whole = ask(
        "SELECT count(*) AS spans, count(*) FILTER (parent_id IS NULL) AS orphans, "
        "count(*) FILTER (a.value IS NULL) AS alone FROM span s "
        "LEFT JOIN attribute a ON a.run_id = s.run_id AND a.span_id = s.span_id AND a.key = 'phase' "
        "WHERE s.level = 3 AND s.type LIKE '%ackward%'"
    )[0]
    phases = json.loads(run(program, "analyze", "training_phases", file, "--format", "json"))
    gpu_ms = {row["phase"]: round((row["gpu_ns"] or 0) / 1e6, 3) for row in phases}
    print(json.dumps({"differ": differ, "phases_gpu_ms": gpu_ms, **whole}))
    total = sum(expected.values())
    print(f"{total} operators, {len(differ)} names differ, {whole['orphans']} without a parent")
    return 1 if differ or whole["orphans"] or whole["alone"] else 0


if __name__ == "__main__":
    if sys.argv[1] == "--profiler":
        train_with(with_profiler)
    elif sys.argv[1] == "--xsp":
        train_with(with_xsp)
    else:
        sys.exit(main(sys.argv[1]))
