#!/usr/bin/env python3
"""Compares counters of an evaluation with Nsight Compute's, for the ten heaviest kernels of a TorchScript
model.

    tests/gpu/against_ncu.py XSP EVALUATION.xsp MODEL.pt [--batch N]

The evaluation was made with --counters roofline. Prints bytes and flops of both, kernel by kernel in the
order of execution. Exit status 0 if they agree within 2 %, except for kernels that move less than 1 MiB.
"""
import argparse
import csv
import io
import subprocess
import sys

METRICS = {
    "dram_read_bytes": [("dram__bytes_read.sum", 1)],
    "dram_write_bytes": [("dram__bytes_write.sum", 1)],
    "fp32_flops": [("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2),
                   ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1),
                   ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1)],
    "tensor_tf32_flops": [("sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1)],
}
UNITS = {"": 1, "byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1}

COUNTED = """
WITH r AS (SELECT run_id FROM run
           WHERE status = 'ok' AND counters = 'roofline' AND coalesce(batch, 1) = {batch}),
k AS (SELECT s.* FROM span s JOIN r USING (run_id)
      WHERE s.level = 6 AND s.type = 'kernel' AND s.iteration = (
        SELECT max(m.iteration) FROM span m JOIN r USING (run_id) WHERE m.level = 2))
SELECT row_number() OVER (ORDER BY k.start_ns, k.span_id) - 1 AS position, k.name,
  {columns}
FROM k LEFT JOIN span_counter c USING (run_id, span_id)
GROUP BY k.span_id, k.start_ns, k.name ORDER BY position"""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[3])
import torch, torchscript
model, inputs = torchscript.load(sys.argv[1], int(sys.argv[2]))
with torch.inference_mode():
    for _ in range(5):
        model(*inputs)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    model(*inputs)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
"""


def of_evaluation(xsp, path, batch):
    names = [*METRICS, "replay_duration_ns"]
    columns = ", ".join(f"max(c.value) FILTER (c.name = '{n}') AS {n}" for n in names)
    query = COUNTED.format(batch=batch, columns=columns)
    text = subprocess.run([xsp, "query", path, query, "--format", "csv"],
                          check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


def of_ncu(model, batch):
    metrics = ",".join(m for parts in METRICS.values() for m, _ in parts)
    folder = __file__.rsplit("/", 1)[0]
    text = subprocess.run(
        ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--metrics", metrics,
         # These options count as xsp does: in place, with the caches as the previous kernels left them.
         "--replay-mode", "application", "--cache-control", "none",
         "--csv", "--page", "raw", "--print-units", "base",
         sys.executable, "-c", PROGRAM, model, str(batch), folder],
        check=True, capture_output=True, text=True).stdout
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.DictReader(lines[first:]))
    units, rows = rows[0], rows[1:]
    kernels = []
    for row in rows:
        kernel = {"name": row["Kernel Name"]}
        for counter, parts in METRICS.items():
            kernel[counter] = sum(w * float(row[m].replace(",", "")) * UNITS[units[m]] for m, w in parts)
        kernels.append(kernel)
    return kernels


def stem(name):
    """Returns the name without template arguments and parameters, which the tools write differently."""
    return name.replace("void ", "").split("<")[0].split("(")[0].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xsp")
    parser.add_argument("evaluation")
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    ours = of_evaluation(options.xsp, options.evaluation, options.batch)
    theirs = of_ncu(options.model, options.batch)
    same = [stem(a["name"]).split("::")[-1] == stem(b["name"]).split("::")[-1] for a, b in zip(ours, theirs)]
    if len(ours) != len(theirs) or not all(same):
        at = next((i for i, s in enumerate(same) if not s), len(same))
        first = [side[at]["name"] if at < len(side) else "none" for side in (ours, theirs)]
        sys.exit(f"error: the sequences of {len(ours)} and {len(theirs)} kernels differ, first at {at}: "
                 f"{first[0]} and {first[1]}")
    heaviest = sorted(range(len(ours)), key=lambda i: -float(ours[i]["replay_duration_ns"] or 0))[:10]
    worst = 0.0
    print(f"{'kernel':50} {'counter':18} {'xsp':>14} {'ncu':>14} {'diff %':>8}")
    for i in sorted(heaviest):
        for counter in METRICS:
            a, b = float(ours[i][counter] or "nan"), theirs[i][counter]
            difference = 100 * (a / b - 1) if b else (0.0 if a == 0 else float("inf"))
            is_small = counter.endswith("_bytes") and b < 2**20
            print(f"{stem(ours[i]['name'])[:50]:50} {counter:18} {a:14.0f} {b:14.0f} {difference:8.2f}"
                  f"{'  (small)' if is_small else ''}")
            if not is_small:
                worst = max(worst, abs(difference)) if difference == difference else float("inf")
    print(f"{len(ours)} kernels in the same order; the largest difference of the ten heaviest: "
          f"{worst:.2f} %")
    sys.exit(0 if worst <= 2 else 1)


if __name__ == "__main__":
    main()
