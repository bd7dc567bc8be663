"""torchvision's ResNet-50, eager inference. resnet50.py [--batch N] [--iterations N] [--profile FILE]

Prints the median of an inference's time in ms. With --profile, torch.profiler's kernels of the last 20
inferences go to the file: name, count, summed ns, one a line.
"""
import argparse
import collections
import statistics
import time

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--iterations", type=int, default=60)
parser.add_argument("--profile")
options = parser.parse_args()

torch.manual_seed(0)
model = torchvision.models.resnet50(weights=None).eval().cuda()
image = torch.randn(options.batch, 3, 224, 224, device="cuda")


def infer(count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        model(image)
        torch.cuda.synchronize()
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
    print(f"{statistics.median(infer(options.iterations)) * 1e3:.4f}")
    if options.profile:
        profiled(20, options.profile)
