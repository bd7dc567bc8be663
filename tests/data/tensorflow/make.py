"""Makes the test models of this folder: python3 make.py, with TensorFlow 2.21 installed.

tiny.pb      a frozen graph: convolution, batch normalisation, ReLU, mean, product, softmax; all but the
             mean and the softmax are fused when it runs
tiny.saved   a SavedModel with a variable, a function, and two signatures
strings.pb   a graph whose input is text
*.pb else    files that are no model
"""
import os
import shutil

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
here = os.path.dirname(os.path.abspath(__file__))


def numbers(seed, *shape):
    return np.random.RandomState(seed).uniform(-0.5, 0.5, shape).astype("float32")


def save(name, data):
    with open(os.path.join(here, name), "wb") as file:
        file.write(data)


def frozen():
    graph = v1.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        y = tf.nn.conv2d(x, tf.constant(numbers(1, 3, 3, 3, 8), name="conv1/weight"), 1, "SAME", name="conv1")
        scale, offset = tf.constant(numbers(2, 8) + 1), tf.constant(numbers(3, 8))
        mean, variance = tf.constant(numbers(4, 8)), tf.constant(numbers(5, 8) + 1)
        y, _, _ = v1.nn.fused_batch_norm(y, scale, offset, mean, variance, is_training=False, name="bn1")
        y = tf.reduce_mean(tf.nn.relu(y, name="relu1"), axis=[1, 2], name="pool")
        y = tf.matmul(y, tf.constant(numbers(6, 8, 10), name="fc/weight"), name="fc")
        y = tf.nn.bias_add(y, tf.constant(numbers(7, 10), name="fc/bias"), name="fc_bias")
        tf.nn.softmax(y, name="probabilities")
    return graph.as_graph_def().SerializeToString()


def strings():
    graph = v1.Graph()
    with graph.as_default():
        tf.strings.length(v1.placeholder(tf.string, [None], name="text"), name="length")
    return graph.as_graph_def().SerializeToString()


class Tiny(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(numbers(8, 4, 5), name="weight")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def score(self, x):
        return {"y": tf.nn.relu(tf.matmul(x, self.weight, name="fc"), name="relu")}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def double(self, x):
        return {"y": x * 2.0}


good = frozen()
save("tiny.pb", good)
save("strings.pb", strings())
save("truncated.pb", good[: len(good) // 2])
save("unknown_operator.pb", good.replace(b"Softmax", b"Hardmax"))
save("empty.pb", b"")
save("garbage.pb", b"this is not a graph, whatever its name says\n")
model = Tiny()
shutil.rmtree(os.path.join(here, "tiny.saved"), ignore_errors=True)
tf.saved_model.save(model, os.path.join(here, "tiny.saved"), {"serving_default": model.score, "double": model.double})
