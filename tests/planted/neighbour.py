"""Other programs that run beside a planted one on its machine: in sessions of their own, and not watched."""

import atexit
import os
import subprocess
import sys

SECONDS_MAX = 120  # processor time, even if this program is killed

# It ends with the pipe that it reads, which ends with this program.
PREAMBLE = f"""
import os, resource, threading
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS_MAX}, {SECONDS_MAX}))
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
"""


def start(text, copies=1):
    """Runs copies of a Python program, which print a line when they are ready, until this program ends."""
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    others = []

    def end():
        for other in others:
            other.kill()
            other.wait()

    atexit.register(end)
    for _ in range(copies):
        others.append(subprocess.Popen(
            [sys.executable, "-c", PREAMBLE + text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, start_new_session=True))
        if not others[-1].stdout.readline():
            sys.exit("error: the other program did not start")
