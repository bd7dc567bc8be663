#!/usr/bin/env python3
"""Watches two processes with NCCL on two GPUs: checks that the collectives are recorded, and that recording
changes nothing.

    nccl.py XSP OUT          prints a line for each check, and last a verdict; it needs two GPUs

XSP is the program; the evaluation goes to the folder OUT. With `work` instead, this script is the watched
program.
"""

import json
import os
import subprocess
import sys
import tempfile

ELEMENTS = 1 << 20
ROUNDS = 5
STEPS = 4
GATHERED = 1000


def one_rank(rank, ranks, store):
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=ranks)
    numbers = torch.full((ELEMENTS,), float(rank + 1), device="cuda")
    for _ in range(ROUNDS):
        dist.all_reduce(numbers)
    gathered = [torch.empty(GATHERED, dtype=torch.half, device="cuda") for _ in range(ranks)]
    dist.all_gather(gathered, torch.full((GATHERED,), float(rank), dtype=torch.half, device="cuda"))
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(32, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
    weights = sum(p.detach().double().sum().item() for p in net.parameters())
    torch.cuda.synchronize()
    if rank == 0:
        seen = [numbers[0].item(), gathered[1].float().sum().item(), weights, loss.item()]
        print(" ".join(f"{number:.9g}" for number in seen))
    dist.destroy_process_group()


def work():
    import torch
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(one_rank, args=(2, os.path.join(folder, "store")), nprocs=2)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if done.returncode != 0:
        print(f"FAILED {' '.join(command[-4:])}: exit status {done.returncode}: {done.stderr[-600:]}")
    return done.stdout.strip()


def query(xsp, path, sql):
    text = run([xsp, "query", path, sql, "--format", "json"])
    return json.loads(text) if text else []


class Checks:
    def __init__(self):
        self.failures = 0

    def expect(self, is_fine, text):
        self.failures += not is_fine
        print(f"{'ok' if is_fine else 'FAILED':7} {text}")


def main(xsp, out):
    import torch
    if torch.cuda.device_count() < 2:
        print(f"skipped: {torch.cuda.device_count()} GPUs, two are needed")
        return 0
    me = [sys.executable, os.path.abspath(__file__), "work"]
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "nccl.xsp")
    checks = Checks()
    plain = run(me)
    levels = "application,model,layer,library,api,kernel"
    watched = run([xsp, "run", "--leveled=no", "--quiet", "--levels", levels, "-o", path, "--"] + me)
    checks.expect(plain == watched and plain != "", f"results: {plain} | {watched}")
    calls = query(xsp, path, "SELECT s.process, s.name, max(a.value) FILTER (a.key = 'count') AS count, "
                             "max(a.value) FILTER (a.key = 'sendcount') AS sendcount, "
                             "max(a.value) FILTER (a.key = 'dtype') AS dtype, "
                             "max(a.value) FILTER (a.key = 'ranks') AS ranks, "
                             "max(a.value) FILTER (a.key = 'rank') AS rank, "
                             "count(DISTINCT s.span_id) AS calls "
                             "FROM span s JOIN attribute a USING (run_id, span_id) "
                             "WHERE s.level = 4 AND s.type = 'nccl' "
                             "GROUP BY s.process, s.name, s.site_id ORDER BY ALL")
    for call in calls:
        print("       ", call)
    reduces = [c for c in calls if c["name"] == "ncclAllReduce" and c["count"] == str(ELEMENTS)]
    checks.expect(len(reduces) == 2 and all(int(c["calls"]) == ROUNDS for c in reduces),
                  f"{ROUNDS} large reductions in each of two processes")
    kinds = {(c["dtype"], c["ranks"]) for c in reduces}
    checks.expect(kinds == {("float32", "2")}, f"of float32, by two ranks: {kinds}")
    checks.expect(sorted(c["rank"] for c in reduces) == ["0", "1"], "ranks 0 and 1")
    ours = 64 * 128 + 128 + 128 * 8 + 8
    gradients = {}
    for c in calls:
        if c["name"] == "ncclAllReduce" and c["count"] != str(ELEMENTS):
            gradients[c["process"]] = gradients.get(c["process"], 0) + int(c["count"]) * int(c["calls"])
    checks.expect(len(gradients) == 2 and all(n >= STEPS * ours for n in gradients.values()),
                  f"the gradients of {STEPS} steps, {ours} numbers each: {gradients}")
    # Newer versions gather the parameters' sizes, too, which are 64-bit integers.
    kinds = {c["dtype"] for c in calls if c["name"] == "ncclAllGather" and c["sendcount"] == str(GATHERED)}
    checks.expect(kinds == {"float16"}, f"the gathering, of float16: {kinds}")
    devices = query(xsp, path, "SELECT process, device, count(*) AS kernels FROM span WHERE level = 6 "
                               "AND name LIKE '%nccl%' GROUP BY ALL ORDER BY ALL")
    checks.expect(len({d["device"] for d in devices}) == 2, f"NCCL's kernels on two devices: {devices}")
    print(run([xsp, "analyze", "library_calls", path])[:4000])
    print("FAILED" if checks.failures else "ok", f"{checks.failures} failures")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        sys.exit(main(*sys.argv[1:]))
