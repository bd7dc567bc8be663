"""Writes small ONNX models, without the package onnx."""

FLOAT = 1  # TensorProto.FLOAT
OPSET, IR_VERSION = 17, 8


def _varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while True:
        out.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    value = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _attribute(name, values):
    if isinstance(values, int):
        return _field(1, name) + _field(3, values) + _field(20, 2)
    return _field(1, name) + b"".join(_field(8, value) for value in values) + _field(20, 7)


def _value(name, shape):
    sizes = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, sizes)))


def node(kind, inputs, output, **attributes):
    given = b"".join(_field(1, name) for name in inputs)
    told = b"".join(_field(5, _attribute(*one)) for one in attributes.items())
    return given + _field(2, output) + _field(3, output) + _field(4, kind) + told


def model(nodes, weights, entry, leave):
    """Returns the model's bytes. weights: name to array of NumPy; entry and leave: name and shape, of numbers
    and names."""
    graph = b"".join(_field(1, one) for one in nodes) + _field(2, "net")
    for name, array in weights.items():
        array = array.astype("<f4")
        sizes = b"".join(_field(1, size) for size in array.shape)
        graph += _field(5, sizes + _field(2, FLOAT) + _field(8, name) + _field(9, array.tobytes()))
    graph += _field(11, _value(*entry)) + _field(12, _value(*leave))
    return _field(1, IR_VERSION) + _field(8, _field(1, "") + _field(2, OPSET)) + _field(7, graph)
