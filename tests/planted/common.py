"""Shared by the planted programs: their options, their loop, and the printed rate.

A program runs for --seconds, or for --steps, and prints its steps per second. The first steps, in which
memory is reserved, kernels are loaded and workers are started, are not counted.
"""

import argparse
import functools
import itertools
import os
import pathlib
import sys
import time

SKIPPED = 77  # the exit status of a program that cannot run here, as in CTest
WARM_STEPS = 3
WARM_SHARE = 0.25  # share of the seconds or the steps


@functools.cache
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mended", nargs="?", const="all", metavar="RULE",
                        help="without what was planted; of two causes RULE alone is mended")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--steps", type=int, help="so many steps, however long they take")
    return parser.parse_args()


def mended(rule=None):
    """Returns whether this is the mended twin: of the cause `rule`, if there are two."""
    return options().mended == "all" or (rule is not None and options().mended == rule)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def need(module, folder=None):
    """Imports a module, from a folder of the cache of tools/deps.sh if Python has none of its own."""
    if folder is not None:
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        sys.path[:0] = [str(path) for path in sorted((cache / "xsp").glob(folder))]
    try:
        return __import__(module)
    except ImportError:
        skip(f"{sys.executable} has no {module}")


def cuda():
    """Returns PyTorch with a GPU, and that GPU."""
    torch = need("torch")
    if not torch.cuda.is_available():
        skip("PyTorch sees no GPU")
    torch.manual_seed(0)
    return torch, torch.device("cuda")


def cores():
    return len(os.sched_getaffinity(0))


def _finish_device_work():
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _marker(is_marked):
    """Returns xsp.step under `xsp run`, for programs without a framework whose steps xsp could see."""
    if is_marked:
        try:
            from xsp import step
            return step
        except ImportError:
            pass
    return lambda: None


def steps(items=None, mark=False):
    """Yields the items, or numbers, until the time is over; prints the rate of the steady steps.

    Times are taken between two items, so that fetching an item counts as a part of its step.
    """
    wanted, mark_step = options(), _marker(mark)
    begin, done, steady, first = time.perf_counter(), 0, None, 0
    for item in itertools.count() if items is None else items:
        elapsed = time.perf_counter() - begin
        if wanted.steps is None:
            is_warm, is_over = elapsed >= WARM_SHARE * wanted.seconds, elapsed >= wanted.seconds
        else:
            is_warm, is_over = done >= WARM_SHARE * wanted.steps, done >= wanted.steps
        if steady is None and is_warm and done >= WARM_STEPS:
            _finish_device_work()
            steady, first = time.perf_counter(), done
        elif steady is not None and is_over and done > first:
            break
        yield item
        done += 1
        mark_step()
    _finish_device_work()
    if steady is None or done == first:
        sys.exit(f"error: {done} steps are too few to tell a rate")
    print(f"steps_per_second {(done - first) / (time.perf_counter() - steady):.6g}", flush=True)
