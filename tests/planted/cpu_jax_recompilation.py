# planted: rule=recompilation, culprit=score|compile|jit, device=cpu
# cause: each request has a length of its own, and jax.jit compiles the function anew for each.
# bound: the time of tracing and compiling, about nine tenths of a step.
"""Scores sentences of many lengths with a compiled function."""
import common

jax = common.need("jax", "frameworks/jax")
import jax.numpy as jnp
import numpy as np


@jax.jit
def score(weights, sentence):
    x = sentence
    for up, down in weights:
        x = x + jax.nn.gelu(x @ up) @ down
    return jax.nn.softmax(x.mean(0))


def main():
    random = np.random.default_rng(0)
    shapes = ((64, 128), (128, 64))
    weights = [[jnp.asarray(random.standard_normal(shape, np.float32) / 10) for shape in shapes]
               for _ in range(4)]
    sentences = random.standard_normal((4096, 64), np.float32)
    for step in common.steps():
        length = 32 + step * 37 % 2016
        if common.mended():
            length = (length + 511) // 512 * 512  # padded to one of four
        score(weights, sentences[:length]).block_until_ready()


if __name__ == "__main__":
    main()
