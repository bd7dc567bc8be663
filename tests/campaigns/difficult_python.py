"""Difficult programs in Python: name -> script, and how to start it if not by PYTHON script.py."""

SCRIPTS, LINES = {}, {}

SCRIPTS["py_processes"] = r"""
import multiprocessing, os, sys
def work(n): return n * n, os.path.basename(os.getcwd()), multiprocessing.current_process().name[:5]
def fails(n): raise ValueError(n)
if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(how)
        with context.Pool(2) as pool:
            print(how, [one[0] for one in pool.map(work, range(8))], pool.apply(work, (3,))[1:2])
            try:
                pool.apply(fails, (4,))
            except ValueError as error:
                print("error", error)
        process = context.Process(target=os._exit, args=(7,))
        process.start(); process.join()
        print(process.exitcode, flush=True)
        queue = context.Queue()
        process = context.Process(target=queue.put, args=(list(range(1000)),))
        process.start(); print(sum(queue.get())); process.join()
"""
SCRIPTS["py_executor"] = r"""
import concurrent.futures, os, signal
def work(n):
    if n == 5: os.kill(os.getpid(), signal.SIGKILL)
    return n
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        for n in (1, 5, 2):
            try:
                print(pool.submit(work, n).result())
            except Exception as error:
                print(type(error).__name__)
"""
SCRIPTS["py_shared_memory"] = r"""
import multiprocessing.shared_memory as shared, subprocess, sys
piece = shared.SharedMemory("difficult-program", create=True, size=100)
piece.buf[0] = 7
code = "import sys, multiprocessing.shared_memory as s; p = s.SharedMemory(sys.argv[1])\n" \
    "p.buf[1] = p.buf[0] + 1; p.close()"
print(subprocess.run([sys.executable, "-c", code, piece.name], capture_output=True,
    text=True).returncode, piece.buf[1])
piece.close()
try:
    piece.unlink()
except FileNotFoundError:
    print("gone")
"""
SCRIPTS["py_subprocess"] = r"""
import os, subprocess, sys
run = subprocess.run
print(run(["sh", "-c", "echo out; echo err >&2; exit 3"], capture_output=True))
print(run("ls /proc/self/fd | grep -v ^5..$", shell=True, capture_output=True, close_fds=True).stdout)
print(run(["sh", "-c", "kill -9 $$"]).returncode)
print(run(["cat"], input=b"x" * 200000, capture_output=True).stdout == b"x" * 200000)
try:
    run(["sleep", "20"], timeout=0.2)
except subprocess.TimeoutExpired:
    print("late")
try:
    run(["/none"])
except FileNotFoundError as error:
    print(error)
read, write = os.pipe()
print(run(["sh", "-c", f"echo by {'pipe'} >&{write}"], pass_fds=[write]).returncode, os.read(read, 99))
print(run(["sh", "-c", "umask; pwd; id -u"], umask=0o27, cwd="/", user=65533, capture_output=True,
    preexec_fn=None).stdout)
print(run(["sh", "-c", "grep Sig[BI] /proc/self/status"], restore_signals=False, capture_output=True).stdout)
print(run(["env"], env={}, capture_output=True).stdout)
print(run([sys.executable, "-c", "import os; print(sorted(os.environ))"], env={"A": "1"},
    capture_output=True).stdout)
for _ in range(30):
    run(["true"])
one = subprocess.Popen(["sh", "-c", "sleep 30"], start_new_session=True)
os.killpg(one.pid, 15)
print(one.wait())
"""
SCRIPTS["py_threads"] = r"""
import os, threading, queue, sys, time
local, results, lock = threading.local(), queue.Queue(), threading.Lock()
def work(n):
    local.n = n
    time.sleep(0.001)
    with lock:
        results.put(local.n)
def forks():
    pid = os.fork()
    if pid == 0:
        print("child", threading.active_count(), threading.current_thread() is threading.main_thread(),
            flush=True)
        os._exit(4)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
threads = [threading.Thread(target=work, args=(n,)) for n in range(100)]
for one in threads: one.start()
for one in threads: one.join()
print(sum(results.get() for _ in range(100)))
one = threading.Thread(target=forks); one.start(); one.join()
def raises(): raise KeyError("x")
threading.excepthook = lambda a: print("hook", a.exc_type.__name__)
one = threading.Thread(target=raises); one.start(); one.join()
threading.stack_size(65536)
one = threading.Thread(target=work, args=(1,)); one.start(); one.join()
print(threading.active_count(), len(sys._current_frames()), len(threading.enumerate()))
threading.Thread(target=lambda: (time.sleep(0.1), print("after main", flush=True))).start()
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
sys.exit(6)
"""
SCRIPTS["py_asyncio"] = r"""
import asyncio, contextvars, signal, os
value = contextvars.ContextVar("value", default=0)
async def work(n):
    value.set(n)
    await asyncio.sleep(0.001 * (n % 3))
    return value.get()
async def main():
    print(sum(await asyncio.gather(*[work(n) for n in range(200)])))
    process = await asyncio.create_subprocess_exec("sh", "-c", "cat; exit 5", stdin=-1, stdout=-1)
    print(await process.communicate(b"text"), process.returncode)
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError:
        print("late")
    loop, seen = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, seen.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await seen.wait()
    print(await loop.run_in_executor(None, lambda: 3))
    task = asyncio.create_task(asyncio.sleep(9)); await asyncio.sleep(0); task.cancel()
    print((await asyncio.gather(task, return_exceptions=True))[0].__class__.__name__)
asyncio.run(main(), debug=True)
"""
SCRIPTS["py_signals"] = r"""
import os, signal, sys, threading, time
seen = []
for number in sorted(signal.valid_signals() - {9, 19}):
    try:
        before = signal.signal(number, lambda n, frame: seen.append((n, frame.f_code.co_name)))
        print(int(number), before)
    except (OSError, ValueError) as error:
        print(int(number), error)
        continue
    os.kill(os.getpid(), number)
    signal.signal(number, signal.SIG_DFL)
print(len(seen), sorted(set(name for _, name in seen)))
def late(n, frame): raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    time.sleep(5)
except TimeoutError:
    print("late")
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigpending(), signal.sigwait({signal.SIGUSR2}))
read, write = os.pipe(); os.set_blocking(write, False)
signal.set_wakeup_fd(write); signal.signal(signal.SIGUSR1, lambda *_: None)
signal.raise_signal(signal.SIGUSR1); print(os.read(read, 10), flush=True)
os.kill(os.getpid(), signal.SIGINT)
"""
SCRIPTS["py_interrupt"] = r"""
import os
try:
    os.kill(os.getpid(), 2)
    input()
finally:
    print("at last")
"""
SCRIPTS["py_ends"] = r"""
import atexit, os, sys, threading, weakref, gc
class Thing:
    def __del__(self): print("del", flush=True)
thing = Thing(); thing.self = thing
weakref.finalize(thing, print, "finalize")
atexit.register(print, "first"); atexit.register(print, "last", "registered")
@atexit.register
def fails(): 1 / 0
threading._register_atexit(print, "threads") if hasattr(threading, "_register_atexit") else None
for what in ("sys.exit('text')", "sys.exit(300)", "os._exit(4)", "os.abort()", "raise SystemExit",
    "1/0", "quit(3)",
             "import ctypes; ctypes.string_at(0)", "sys.stdout.close()", "os.close(1)", "os.close(2); 1/0"):
    pid = os.fork()
    if pid == 0:
        exec(what)
        break
    print(what, os.waitpid(pid, 0)[1], flush=True)
"""
SCRIPTS["py_fault_handler"] = r"""
import faulthandler, os, signal, sys, threading
faulthandler.enable(all_threads=False)
faulthandler.register(signal.SIGUSR1, all_threads=False, chain=False)
os.kill(os.getpid(), signal.SIGUSR1)
faulthandler.dump_traceback_later(100, exit=True)
faulthandler.cancel_dump_traceback_later()
def deep():
    faulthandler._sigsegv() if hasattr(faulthandler, "_sigsegv") else os.kill(os.getpid(), 11)
deep()
"""
SCRIPTS["py_traces"] = r"""
import sys, threading, cProfile, pstats, bdb
events = []
def trace(frame, event, arg):
    if frame.f_code.co_filename == __file__: events.append((event,
        frame.f_lineno - frame.f_code.co_firstlineno))
    return trace
def work(n): return sum(i for i in range(n))
print(sys.gettrace(), sys.getprofile())
sys.settrace(trace); work(3); sys.settrace(None)
print(events); events.clear()
sys.setprofile(lambda frame, event, arg: events.append(event)); work(2); len("x"); sys.setprofile(None)
print(events); events.clear()
threading.settrace(trace); one = threading.Thread(target=work, args=(2,)); one.start(); one.join()
threading.settrace(None)
print(events)
profile = cProfile.Profile(); profile.runcall(work, 10)
print(sorted(one[0][2] + str(one[1][0]) for one in pstats.Stats(profile).stats.items()))
print(sys.gettrace(), sys.getprofile())
"""
SCRIPTS["py_inside"] = r"""
import atexit, builtins, gc, os, signal, site, sys, threading, warnings
print(sys.argv, sys.orig_argv if hasattr(sys, "orig_argv") else "", sys.flags, site.ENABLE_USER_SITE)
for one in sys.path: print("path", one)
for one in sorted(sys.modules): print("module", one)
for one in gc.callbacks: print("collector calls", one.__qualname__)
for one in sorted(os.environ): print("environment", one, os.environ[one])
for one in sys.meta_path: print("finder", one)
print([getattr(one, "__qualname__", one) for one in sys.path_hooks], warnings.filters)
print(sys.excepthook, sys.displayhook, sys.breakpointhook, sys.unraisablehook, threading.excepthook)
print(gc.get_threshold(), gc.isenabled(), gc.get_debug(), sys.getrecursionlimit(), sys.getswitchinterval())
print(sorted(dir(builtins)), sys.warnoptions, sys._xoptions, sys.getfilesystemencoding(), sys.gettrace())
print([signal.getsignal(n) for n in range(1, 32)], sys.pycache_prefix, sys.dont_write_bytecode,
    sys.getprofile())
print(__spec__, __file__, __loader__.__class__, __builtins__, sorted(globals()))
print(atexit._ncallbacks(), threading.active_count(), sys.stdin, sys.stdout, sys.stderr)
"""
for flags in ("I", "S", "E", "OO", "bb", "s", "u"):
    LINES["py_flags_" + flags] = f"exec {{run}} {{python}} -{flags} {{scripts}}/py_inside.py a b"
LINES["py_inside"] = "exec {run} {python} {scripts}/py_inside.py"
LINES["py_isolated_no_site"] = "exec {run} {python} -I -S {scripts}/py_inside.py"
LINES["py_warnings_are_errors"] = "exec {run} {python} -W error -X dev {scripts}/py_processes.py"
LINES["py_warnings_user"] = ("PYTHONPATH=$PWD PYTHONWARNINGS=error exec {run} {python} "
                             "{scripts}/py_subprocess.py")
LINES["py_import_times"] = ("{run} {python} -X importtime -c 'import json' 2>&1 | sed 's/.*| //' | "
                            "sed 's/^ *//' | sort | grep -v '^$'")
LINES["py_stdin"] = "echo 'import sys; print(sys.argv, __name__); raise SystemExit(4)' | {run} {python} - a b"
LINES["py_module"] = "exec {run} {python} -m json.tool --sort-keys <<< '{{\"b\": 1, \"a\": [2]}}'"
LINES["py_interactive"] = "printf 'x = 3\\nx * 2\\n1/0\\nexit(5)\\n' | {run} {python} -i -q"
LINES["py_own_path"] = ("mkdir -p own/pkg; "
                        "echo 'print(\"sitecustomize of the user\")' > own/sitecustomize.py; "
                        "echo 'print(\"usercustomize\")' > own/usercustomize.py; "
                        "PYTHONPATH=$PWD/own {run} {python} -c 'import sys; print(sys.path[:2])'; rm -r own")
LINES["py_pth"] = ("{python} -m venv --without-pip v && cd v/lib/python3*/site-packages && "
                   "echo 'import sys; sys.marked = 3' >a.pth && cd ../../../.. && "
                   "{run} v/bin/python -c 'import sys; print(sys.marked, sys.prefix)'; rm -r v")
LINES["py_zipapp"] = ("mkdir app; "
                      "echo 'import sys; print(sys.argv[0], __file__, sys.path[0]); sys.exit(9)' "
                      "> app/__main__.py; {python} -m zipapp app -p '{python}' && "
                      "{run} ./app.pyz x; echo $?; rm app.pyz")
LINES["py_stdout_closed"] = "exec {run} {python} -c 'import sys; print(sys.stdout, file=sys.stderr)' >&-"
LINES["py_full"] = "exec {run} {python} -c 'print(3)' >/dev/full"
LINES["py_pipe_broken"] = ("{run} {python} -c 'for i in range(100000): print(i)' | head -1; "
                           "echo ${{PIPESTATUS[0]}}")
LINES["py_memory_limit"] = ("ulimit -v 2000000; exec {run} {python} -c 'try:\n    x = [0] * (1 << 30)\n"
                            "except MemoryError:\n    print(\"memory\")'")
LINES["py_memory_small"] = "exec {run} bash -c 'ulimit -v 300000; exec {python} -c \"print(sum(range(10)))\"'"
LINES["py_bytes"] = "exec {run} {python} -c 'import sys; print(ascii(sys.argv))' $'a\\xff' '' $'\\xc3\\xa9'"
LINES["py_syntax_error"] = "echo 'def f(:' > bad.py; exec {run} {python} bad.py"

SCRIPTS["py_embedded"] = r"""
import ctypes, os, sys, sysconfig, subprocess
code = '#include <Python.h>\nint main(void) { for (int i = 0; i < 3; ++i) { Py_Initialize(); ' \
    'PyRun_SimpleString("import sys; print(sys.path[0] == \'\', flush=True)"); ' \
    'if (Py_FinalizeEx() != 0) return 9; } return 7; }'
open("e.c", "w").write(code)
v, include = sysconfig.get_config_var, sysconfig.get_paths()["include"]
shared = f"cc e.c -o e -I{include} -L{v('LIBDIR')} -Wl,-rpath,{v('LIBDIR')} -lpython{v('LDVERSION')}"
static = f"cc e.c -o e -I{include} {v('LIBPL')}/{v('LIBRARY')}"
built = subprocess.run(f"{shared} {v('LIBS')} -rdynamic || {static} {v('LIBS')} -lm -rdynamic", shell=True,
                       capture_output=True)
if built.returncode != 0:
    sys.exit(77)
os.environ["PYTHONHOME"] = sys.base_prefix
os.execv("./e", ["./e"])
"""
SCRIPTS["py_subinterpreters"] = r"""
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    raise SystemExit(77)
for n in range(5):
    one = interpreters.create()
    interpreters.run_string(one,
        "import sys, threading; print(len(sys.argv), threading.active_count(), flush=True)")
    interpreters.destroy(one)
"""
SCRIPTS["py_ctypes"] = r"""
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
def compare(a, b): return a[0] - b[0]
values = (ctypes.c_int * 50)(*[(i * 37) % 50 for i in range(50)])
libc.qsort(values, 50, 4, Compare(compare))
print(list(values) == list(range(50)))
Thread = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
work = Thread(lambda n: print("in a foreign thread", threading.current_thread().name[:5]))
made = ctypes.c_ulong()
print(libc.pthread_create(ctypes.byref(made), None, work, None))
libc.pthread_join(made, None)
libc.open(b"/none", 0)
print(ctypes.get_errno())
pid = libc.fork()
if pid == 0:
    libc._exit(3)
status = ctypes.c_int(); libc.waitpid(pid, ctypes.byref(status), 0); print(status.value, flush=True)
libc.pthread_exit(None)
"""
SCRIPTS["py_collector"] = r"""
import gc, tracemalloc, sys
counts = []
gc.callbacks.append(lambda phase, info: counts.append((phase, info["generation"])))
gc.collect(); gc.collect(0)
print(counts[-4:])
class Node: pass
for _ in range(1000): one = Node(); one.self = one
del one
gc.callbacks.clear()
print(gc.collect() >= 1)
gc.disable(); gc.freeze(); print(gc.get_freeze_count() > 0); gc.unfreeze()
tracemalloc.start(5)
kept = [bytes(1000) for _ in range(100)]
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print(snapshot.statistics("lineno")[0].count, sys.getsizeof(kept[0]))
"""
SCRIPTS["py_errors"] = r"""
import sys, threading, traceback
def deep(n): return deep(n + 1)
for limit in (1000, 5000):
    sys.setrecursionlimit(limit)
    try:
        deep(0)
    except RecursionError as error:
        print(error, len(traceback.extract_tb(error.__traceback__)))
class Loud:
    def __getattr__(self, name): return getattr(self, name + "x")
try:
    Loud().a
except RecursionError:
    print("again")
try:
    x = "a" * (1 << 62)
except (MemoryError, OverflowError) as error:
    print(type(error).__name__)
sys.unraisablehook = lambda one: print("unraisable", one.exc_type.__name__)
class Bad:
    def __del__(self): 1 / 0
Bad()
sys.excepthook = lambda kind, error, frames: print("hook", kind.__name__)
{}["none"]
"""
SCRIPTS["py_descriptors"] = r"""
import os, resource, sys
print([os.open("/dev/null", 0) for _ in range(5)], resource.getrlimit(resource.RLIMIT_NOFILE))
os.closerange(3, 4096)
print(os.open("/dev/null", 0))
if os.fork() == 0:
    os.execvp("sh", ["sh", "-c", "ls /proc/self/fd | grep -v ^5..$"])
os.wait()
os.setsid() if os.getpgrp() != os.getpid() else None
terminal = os.openpty(); print(os.isatty(terminal[0]), terminal)
import pty; print(pty.spawn(["sh", "-c", "tty >/dev/null && echo a terminal"]) >> 8)
os.dup2(1, 500); os.write(500, b"five hundred\n"); os.execv("/bin/echo", ["echo", "executed"])
"""
for name in SCRIPTS:
    LINES.setdefault(name, f"exec {{run}} {{python}} {{scripts}}/{name}.py")
