"""The options that all campaigns take, and how often a campaign does its harm."""

import argparse
import signal
import time


def arguments(doc, count, count_help="how many times"):
    """Returns a parser that has --xsp, --count, --seconds and --seed."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsp", required=True)
    parser.add_argument("--count", type=int, default=count, help=count_help)
    parser.add_argument("--seconds", type=float, default=0, help="as many as fit, instead of a count")
    parser.add_argument("--seed", type=int, default=1)
    return parser


class Rounds:
    """Iterates over the numbers of the rounds: until options.seconds are over, if that is not 0, else for
    options.count rounds, or until Ctrl-C, after which the counts so far are printed. `done` is the number of
    rounds so far, `seconds` the time since the first."""

    def __init__(self, options):
        self.options, self.began, self.done, self.is_stopped = options, time.monotonic(), 0, False
        signal.signal(signal.SIGINT, self._stop)

    def _stop(self, *_):
        self.is_stopped = True

    @property
    def seconds(self):
        return time.monotonic() - self.began

    def __iter__(self):
        while not self.is_stopped and (self.seconds < self.options.seconds if self.options.seconds
                                       else self.done < self.options.count):
            yield self.done
            self.done += 1
