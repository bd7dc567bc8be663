"""torchvision's ResNet-50, eager inference.

    resnet50.py [--batch N] [--iterations N] [--profile FILE] [--turns [--profiler kernels|operators]]

Prints the median of an inference's time in ms; with --turns it does so on request (turns.py). With
--profile, torch.profiler's kernels of the last 20 inferences go to the file, a line each: name, count, ns.
"""
import argparse
import collections
import statistics
import time

import torch
import torchvision
import turns

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--iterations", type=int, default=60)
parser.add_argument("--profile")
parser.add_argument("--turns", action="store_true")
parser.add_argument("--profiler", choices=["kernels", "operators"])
options = parser.parse_args()

torch.manual_seed(0)
model = torchvision.models.resnet50(weights=None).eval().cuda()
image = torch.randn(options.batch, 3, 224, 224, device="cuda")


def infer_once():
    model(image)
    torch.cuda.synchronize()


def infer(count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        infer_once()
        times.append(time.perf_counter() - start)
    return times


def profiled(count, path):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        infer(count)
    kernels = collections.defaultdict(lambda: [0, 0])
    for event in profile.profiler.kineto_results.events():
        if event.device_type() == torch.autograd.DeviceType.CUDA and not event.name().startswith("Mem"):
            entry = kernels["".join(event.name().split())]
            entry[0] += 1
            entry[1] += event.duration_ns()
    with open(path, "w") as file:
        for name, (count, total) in kernels.items():
            print(name, count, total, sep="\t", file=file)


with torch.inference_mode():
    infer(20)
    if options.turns:
        turns.answer(infer_once)
    print(f"{statistics.median(infer(options.iterations)) * 1e3:.4f}")
    if options.profile:
        profiled(20, options.profile)
