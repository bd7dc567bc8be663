#!/usr/bin/env python3
"""Checks that PyTorch's calls of cuBLAS, cuDNN and cuFFT are recorded with the right sizes, and that
recording changes nothing.

    library_calls.py XSP OUT          prints a line for each check, a table of costs, and last a verdict

XSP is the program; evaluations go to the folder OUT. With `work` or `cost` instead, this script is the
watched program.
"""

import json
import os
import subprocess
import sys
import time

# function begins with, facts; torch's row-major matrices are cuBLAS's transposed: m and n change places.
EXPECTED = [
    ("cublasSgemm", {"m": "256", "n": "64", "k": "128", "dtype": "float32"}),
    ("cublasGemmEx", {"m": "256", "n": "64", "k": "128", "a_type": "float16"}),
    ("cublasSgemmStridedBatched", {"m": "13", "n": "7", "k": "11", "batch_count": "5"}),
    ("cublasLtMatmul", {"d_rows": "96", "d_cols": "32", "a_rows": "48", "a_type": "float32"}),
    ("cublasSgemv", {"m": "200", "n": "300"}),
    ("cublasDgemm", {"m": "64", "n": "64", "k": "64", "dtype": "float64"}),
    ("cudnnBackendExecute", {"operation": "convolution_forward", "x_shape": "[2,3,32,32]",
                             "w_shape": "[8,3,3,3]", "y_shape": "[2,8,32,32]", "padding": "[1,1]"}),
    ("cudnnBackendExecute", {"operation": "convolution_backward_data", "dx_shape": "[2,3,32,32]"}),
    ("cudnnBackendExecute", {"operation": "convolution_backward_filter", "dw_shape": "[8,3,3,3]"}),
    ("cudnnRNNForward", {"cell": "LSTM", "input_size": "16", "hidden_size": "24", "layers": "2",
                         "x_sequence": "10", "x_batch": "4"}),
    ("cufftXtExec", {"n": "[100]", "batch": "6", "direction": "-1"}),
    ("cufftXtExec", {"n": "[24,32]", "batch": "3"}),
    ("cudnnBatchNormalizationForwardTrainingEx", {"x_shape": "[2,8,16,16]", "x_dtype": "float32"}),
]


def work():
    import torch
    from torch.nn import functional
    torch.manual_seed(0)
    sums = []

    def random(*shape, dtype=torch.float32):
        return torch.randn(*shape, dtype=dtype).cuda()

    def keep(tensor):
        sums.append(tensor.detach().double().sum().item())

    half = torch.float16
    keep(random(64, 128) @ random(128, 256))
    keep(random(64, 128, dtype=half) @ random(128, 256, dtype=half))
    keep(torch.bmm(random(5, 7, 11), random(5, 11, 13)))
    keep(functional.linear(random(32, 48), random(96, 48), random(96)))
    keep(random(300, 200) @ random(200))
    keep(random(64, 64).double() @ random(64, 64).double())
    x = random(2, 3, 32, 32).requires_grad_()
    y = torch.nn.Conv2d(3, 8, 3, padding=1).cuda()(x)
    keep(y)
    y.sum().backward()
    keep(x.grad)
    out, _ = torch.nn.LSTM(16, 24, 2, batch_first=True).cuda()(random(4, 10, 16))
    keep(out)
    out.sum().backward()
    for _ in range(2):
        keep(torch.fft.fft(random(6, 100)).abs())
    keep(torch.fft.rfft2(random(3, 24, 32)).abs())
    q = random(2, 4, 64, 32).half()
    keep(functional.scaled_dot_product_attention(q, q, q))
    keep(torch.nn.BatchNorm2d(8).cuda()(random(2, 8, 16, 16)))
    print(" ".join(f"{value:.9g}" for value in sums))


def cost():
    """Returns microseconds of the host for a call, the best of several rounds."""
    import torch
    a, bias = torch.randn(32, 32).cuda(), torch.randn(32).cuda()
    image, weights = torch.randn(1, 8, 8, 8).cuda(), torch.randn(8, 8, 3, 3).cuda()
    linear = torch.nn.functional.linear
    calls = {"mm": lambda: torch.mm(a, a), "linear": lambda: linear(a, a, bias),
             "conv": lambda: torch.conv2d(image, weights), "relu": lambda: torch.relu(a)}
    result = {}
    for name, call in calls.items():
        rounds = []
        for _ in range(7):
            for _ in range(200):
                call()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(2000):
                call()
            rounds.append((time.perf_counter() - start) / 2000 * 1e6)
            torch.cuda.synchronize()
        result[name] = min(rounds)
    print(json.dumps(result))


# Selects the kernels of matrix products, and whether each is below a call of a library.
PRODUCTS = """
WITH RECURSIVE up AS (
  SELECT span_id AS kernel, parent_id, name, false AS is_in FROM span
  WHERE level = 6 AND regexp_matches(name, 'gemm|cutlass|nvjet|gemv')
  UNION ALL
  SELECT kernel, s.parent_id, up.name, s.level = 4 FROM up JOIN span s ON s.span_id = up.parent_id
  WHERE NOT is_in)
SELECT kernel, any_value(name) AS name, bool_or(is_in) AS is_in FROM up GROUP BY kernel"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        print(f"FAILED {' '.join(command[-4:])}: exit status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout.strip()


def query(xsp, path, sql):
    text = run([xsp, "query", path, sql, "--format", "json"])
    return json.loads(text) if text else []


def check_calls(xsp, path):
    """Returns the number of failures."""
    calls = {}
    for row in query(xsp, path, "SELECT s.span_id, s.name, a.key, a.value FROM span s "
                                "JOIN attribute a USING (run_id, span_id) WHERE s.level = 4"):
        calls.setdefault(row["span_id"], (row["name"], {}))[1][row["key"]] = row["value"]
    failures = 0
    for function, facts in EXPECTED:
        same = [c for c in calls.values() if c[0].startswith(function)]
        found = any(all(call[1].get(key) == value for key, value in facts.items()) for call in same)
        failures += not found
        seen = "" if found else f": seen: {same[:3]}"
        print(f"{'ok' if found else 'FAILED':7} {function} {facts}{seen}")
    return failures


def main(xsp, out):
    me = [sys.executable, os.path.abspath(__file__)]
    os.makedirs(out, exist_ok=True)
    failures = 0
    path = os.path.join(out, "library.xsp")
    watch = [xsp, "run", "--leveled=no", "--quiet", "--levels"]
    plain = run(me + ["work"])
    watched = run(watch + ["application,model,layer,library,api,kernel", "-o", path, "--"] + me + ["work"])
    failures += plain != watched or not plain
    print(f"{'ok' if plain and plain == watched else 'FAILED':7} results: {plain} | {watched}")
    failures += check_calls(xsp, path)
    rows = query(xsp, path, PRODUCTS)
    outside = sorted({row["name"] for row in rows if not row["is_in"]})
    failures += not rows or bool(outside)
    print(f"{'ok' if rows and not outside else 'FAILED':7} {len(rows)} kernels of products are below a call; "
          f"outside: {outside[:4]}")
    print(run([xsp, "analyze", "library_calls", path])[:6000])
    levels = {"bare": None, "loaded, off": "application", "library": "application,library"}
    for turn in range(2):
        for name, wanted in levels.items():
            before = [] if wanted is None else watch + [wanted, "-o", os.path.join(out, "cost.xsp"), "--"]
            print(f"us per call, {name:12}", run(before + me + ["cost"]))
    print("FAILED" if failures else "ok", f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    elif sys.argv[1:] == ["cost"]:
        cost()
    else:
        sys.exit(main(*sys.argv[1:]))
