# planted: rule=small_batch, culprit=batch, device=cpu
# cause: 64 requests are answered one by one, and each reads all weights from memory.
# bound: for an input, the time at batch 1 less that at batch 64, about eight tenths of a step.
"""Answers requests with a wide perceptron by ONNX Runtime."""
import common
import onnx_file

ort = common.need("onnxruntime", "deps/ort-lib-*")
import numpy as np


def net(depth, width):
    random = np.random.default_rng(0)
    nodes, weights, last = [], {}, "request"
    for layer in range(depth):
        weights[f"w{layer}"] = random.standard_normal((width, width)) / width ** 0.5
        nodes.append(onnx_file.node("MatMul", [last, f"w{layer}"], f"product{layer}"))
        nodes.append(onnx_file.node("Relu", [f"product{layer}"], f"relu{layer}"))
        last = f"relu{layer}"
    return onnx_file.model(nodes, weights, ("request", ["batch", width]), (last, ["batch", width]))


def main():
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(net(4, 1536), options, providers=["CPUExecutionProvider"])
    requests = np.random.default_rng(1).random((64, 1536), dtype=np.float32)
    size = 64 if common.mended() else 1
    for _ in common.steps():
        for first in range(0, 64, size):
            session.run(None, {"request": requests[first:first + size]})


if __name__ == "__main__":
    main()
