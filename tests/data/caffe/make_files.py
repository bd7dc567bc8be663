#!/usr/bin/env python3
"""Writes the models of this folder: tiny.caffemodel for tiny.prototxt, and files that are wrong."""

import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def blob(dimensions, values):
    """BlobProto: shape 7 { dim 1 }, data 5."""
    shape = field(1, b"".join(varint(d) for d in dimensions))
    return field(7, shape) + field(5, struct.pack(f"<{len(values)}f", *values))


def layer(name, kind, blobs):
    """A field of NetParameter: layer 100 { name 1, type 2, blobs 7 }."""
    body = field(1, name.encode()) + field(2, kind.encode())
    return field(100, body + b"".join(field(7, one) for one in blobs))


def main():
    numbers = random.Random(1)

    def uniform(count, low=-1.0, high=1.0):
        return [numbers.uniform(low, high) for _ in range(count)]

    tiny = field(1, b"tiny") + b"".join([
        layer("conv1", "Convolution", [blob([8, 3, 3, 3], uniform(216))]),
        layer("bn1", "BatchNorm", [blob([8], uniform(8)), blob([8], uniform(8, 0.5, 1.5)), blob([1], [1.0])]),
        layer("scale1", "Scale", [blob([8], uniform(8, 0.5, 1.5)), blob([8], uniform(8))]),
        layer("fc", "InnerProduct", [blob([10, 8], uniform(80)), blob([10], uniform(10))]),
    ])
    (HERE / "tiny.caffemodel").write_bytes(tiny)
    (HERE / "truncated.caffemodel").write_bytes(tiny[:500])
    text = (HERE / "tiny.prototxt").read_text()
    (HERE / "truncated.prototxt").write_text(text)
    (HERE / "no_weights.prototxt").write_text(text)
    (HERE / "unknown_layer.prototxt").write_text(text.replace('"Softmax"', '"Abacus"'))
    (HERE / "unknown_layer.caffemodel").write_bytes(tiny)
    (HERE / "wrong_shape.prototxt").write_text(text.replace("dim: 3", "dim: 4"))
    (HERE / "wrong_shape.caffemodel").write_bytes(tiny)
    (HERE / "no_shape.prototxt").write_text(text.replace(" input_param { shape { dim: 1 dim: 3 dim: 16 dim: 16 } }", ""))
    (HERE / "no_shape.caffemodel").write_bytes(tiny)
    (HERE / "garbage.prototxt").write_text("layer { this is not : a network\n")
    (HERE / "garbage.caffemodel").write_bytes(b"neither is this")


main()
