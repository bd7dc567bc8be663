"""A script that computes when it is told to: standard input has counts of calls, a line each.

The answer to each is the median of a call's time in ms, without the first fifth, as a device that has
rested is slow at first.
"""
import statistics
import sys
import time


def answer(call):
    print("ready", flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        print(f"{statistics.median(times[len(times) // 5:]) * 1e3:.4f}", flush=True)
