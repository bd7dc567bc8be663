"""Lets a script compute on request: each line of standard input has a number of calls.

The answer to each is the median and the mean of a call's time in ms, without the first fifth, because a
device is slow at first after a rest. With --profiler it does so within torch.profiler.
"""
import contextlib
import os
import statistics
import sys
import time


def told():
    return "--turns" in sys.argv


def answer(call):
    with profiler():
        print("ready", flush=True)
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            steady = times[len(times) // 5:]
            print(f"{statistics.median(steady) * 1e3:.4f} {statistics.mean(steady) * 1e3:.4f}", flush=True)
        if "--profiler" in sys.argv:
            os._exit(0)  # The recording is not needed, and the profiler would take minutes to prepare it.


def profiler():
    if "--profiler" not in sys.argv:
        return contextlib.nullcontext()
    from torch import profiler as torch_profiler
    activity = torch_profiler.ProfilerActivity
    kinds = {"kernels": [activity.CUDA], "operators": [activity.CPU, activity.CUDA]}
    return torch_profiler.profile(activities=kinds[sys.argv[sys.argv.index("--profiler") + 1]])
