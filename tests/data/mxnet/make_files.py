#!/usr/bin/env python3
"""Writes the models of this folder: tiny-symbol.json with tiny-0000.params, and files that are wrong."""

import json
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent
NUMBERS = random.Random(1)
ARRAYS_MAGIC, ARRAY_MAGIC = 0x112, 0xF993FAC9
CPU, FLOAT32 = 1, 0


def uniform(count, low=-1.0, high=1.0):
    return [NUMBERS.uniform(low, high) for _ in range(count)]


class Symbol:
    def __init__(self):
        self.nodes, self.variables = [], []

    def variable(self, name, **attributes):
        self.variables.append(len(self.nodes))
        return self.operator("null", name, [], **attributes)

    def operator(self, op, name, inputs, **attributes):
        self.nodes.append({"op": op, "name": name, "inputs": [[i, 0, 0] for i in inputs]})
        if attributes:
            self.nodes[-1]["attrs"] = attributes
        return len(self.nodes) - 1

    def text(self):
        return json.dumps({"nodes": self.nodes, "arg_nodes": self.variables,
                           "heads": [[len(self.nodes) - 1, 0, 0]],
                           "attrs": {"mxnet_version": ["int", 10901]}}, indent=1)


def tiny(shape="(0, 3, 16, 16)", last="SoftmaxOutput"):
    s = Symbol()
    x = s.variable("data", __shape__=shape) if shape else s.variable("data")
    x = s.operator("Convolution", "conv1", [x, s.variable("conv1_weight")], kernel="(3, 3)", pad="(1, 1)",
                   num_filter="8", no_bias="True")
    parts = [s.variable("bn1_" + part) for part in ("gamma", "beta", "moving_mean", "moving_var")]
    x = s.operator("BatchNorm", "bn1", [x] + parts, eps="1e-05", fix_gamma="False", use_global_stats="True")
    x = s.operator("Activation", "relu1", [x], act_type="relu")
    x = s.operator("Pooling", "pool", [x], global_pool="True", pool_type="avg", kernel="(1, 1)")
    x = s.operator("FullyConnected", "fc", [x, s.variable("fc_weight"), s.variable("fc_bias")], num_hidden="10")
    s.operator(last, "prob", [x, s.variable("prob_label")])
    return s.text()


def array(shape, values):
    """NDArray: magic, dense storage, shape, device, type, values."""
    return (struct.pack("<Iii", ARRAY_MAGIC, 0, len(shape)) + struct.pack(f"<{len(shape)}q", *shape) +
            struct.pack("<iii", CPU, 0, FLOAT32) + struct.pack(f"<{len(values)}f", *values))


def main():
    parameters = [
        ("arg:conv1_weight", [8, 3, 3, 3], uniform(216)),
        ("arg:bn1_gamma", [8], uniform(8, 0.5, 1.5)),
        ("arg:bn1_beta", [8], uniform(8)),
        ("aux:bn1_moving_mean", [8], uniform(8)),
        ("aux:bn1_moving_var", [8], uniform(8, 0.5, 1.5)),
        ("arg:fc_weight", [10, 8], uniform(80)),
        ("arg:fc_bias", [10], uniform(10)),
    ]
    out = struct.pack("<QQQ", ARRAYS_MAGIC, 0, len(parameters))
    out += b"".join(array(shape, values) for _, shape, values in parameters)
    out += struct.pack("<Q", len(parameters))
    out += b"".join(struct.pack("<Q", len(name)) + name.encode() for name, _, _ in parameters)

    def write(name, symbol, weights):
        (HERE / f"{name}-symbol.json").write_text(symbol + "\n")
        if weights is not None:
            (HERE / f"{name}-0000.params").write_bytes(weights)

    write("tiny", tiny(), out)
    write("truncated", tiny(), out[:600])
    write("no_params", tiny(), None)
    write("no_shape", tiny(shape=None), out)
    write("wrong_shape", tiny(shape="(0, 4, 16, 16)"), out)
    write("unknown_operator", tiny(last="Abacus"), out)
    write("garbage", "{\"nodes\": 7}", b"neither is this")


main()
