"""Another program, which a planted one finds on its machine: in a session of its own and not watched."""

import os
import subprocess
import sys

SECONDS_MAX = 300


def start(text):
    """Runs a Python program until ours ends; it prints a line when it is ready."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS_MAX},) * 2)\n"
    # Ends with the pipe that it reads, which ends with us.
    watch = ("import os, threading\n"
             "threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()\n")
    kept = ("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    other = subprocess.Popen([sys.executable, "-c", limit + watch + text], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, env=environment, start_new_session=True)
    if not other.stdout.readline():
        sys.exit("error: the other program did not start")
    return other
