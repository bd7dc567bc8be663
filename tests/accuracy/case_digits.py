"""scikit-learn's digits, by a perceptron with one hidden layer that is trained here."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from accuracy import Case

HELD_OUT = 500

MANIFEST = """name: digits
version: 1.0.0
task: classification
framework: {name: onnxruntime}
model: {path: digits.onnx}
inputs:
  - name: pixels
    dtype: float32
    dimensions: [N, 64]
    from: bytes
    steps:
      - byte_window: {begin: 64}
      - normalise: {scale: 16}
outputs:
  - name: scores
    dtype: float32
    dimensions: [N, 10]
    labels: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
    steps: [softmax, top: {count: 10}]
"""


def save_onnx(model, path):
    """Writes relu(x W1 + b1) W2 + b2, in float32."""
    weights = [numpy_helper.from_array(array.astype(numpy.float32), name)
               for name, array in (("w1", model.coefs_[0]), ("b1", model.intercepts_[0]),
                                   ("w2", model.coefs_[1]), ("b2", model.intercepts_[1]))]
    nodes = [helper.make_node("Gemm", ["pixels", "w1", "b1"], ["sums"]),
             helper.make_node("Relu", ["sums"], ["hidden"]),
             helper.make_node("Gemm", ["hidden", "w2", "b2"], ["scores"])]
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["N", 64])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])
    graph = helper.make_graph(nodes, "digits", [pixels], [scores], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def make(folder):
    digits = load_digits()
    model = MLPClassifier((32,), max_iter=400, random_state=0)
    model.fit(digits.data[:-HELD_OUT] / 16, digits.target[:-HELD_OUT])
    held = digits.data[-HELD_OUT:]
    save_onnx(model, folder / "digits.onnx")
    (folder / "digits.yaml").write_text(MANIFEST)
    lines = ["file\tlabel"]
    for i, (pixels, label) in enumerate(zip(held, digits.target[-HELD_OUT:])):
        (folder / f"{i}.bin").write_bytes(bytes(int(pixel) for pixel in pixels))
        lines.append(f"{i}.bin\t{label}")
    (folder / "digits.tsv").write_text("\n".join(lines) + "\n")
    original = [(str(row.argmax()), float(row.max())) for row in model.predict_proba(held / 16)]
    return Case(str(folder / "digits.yaml"), str(folder / "digits.tsv"), original,
                "scikit-learn's MLPClassifier of 32 hidden units, trained on the first 1,297 digits "
                "(random_state 0)",
                "the last 500 of scikit-learn's 1,797 digits, as files of 64 bytes",
                "MLPClassifier.predict_proba, in float64")
