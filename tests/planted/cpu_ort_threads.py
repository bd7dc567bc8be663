# planted: rule=threads, culprit=thread, device=cpu
# cause: ONNX Runtime is given sixteen threads for each core, which spin while they wait for one another.
# bound: the time in which threads wait for others that do not run, nearly all of a step.
"""Classifies small images by ONNX Runtime."""
import common
import onnx_file

ort = common.need("onnxruntime", "deps/ort-lib-*")
import numpy as np


def net(depth, width):
    random = np.random.default_rng(0)
    nodes, weights, last = [], {}, "image"
    for layer in range(depth):
        enter = 3 if layer == 0 else width
        weights[f"w{layer}"] = random.standard_normal((width, enter, 3, 3)) / (9 * enter) ** 0.5
        nodes.append(onnx_file.node("Conv", [last, f"w{layer}"], f"conv{layer}", pads=[1] * 4,
                                    kernel_shape=[3, 3]))
        nodes.append(onnx_file.node("Relu", [f"conv{layer}"], f"relu{layer}"))
        last = f"relu{layer}"
    nodes.append(onnx_file.node("GlobalAveragePool", [last], "pooled"))
    leave = ("pooled", ["batch", width, 1, 1])
    return onnx_file.model(nodes, weights, ("image", ["batch", 3, 32, 32]), leave)


def main():
    options = ort.SessionOptions()
    options.intra_op_num_threads = common.cores() * (1 if common.mended() else 16)
    session = ort.InferenceSession(net(12, 32), options, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(1).random((4, 3, 32, 32), dtype=np.float32)
    for _ in common.steps():
        session.run(None, {"image": images})


if __name__ == "__main__":
    main()
