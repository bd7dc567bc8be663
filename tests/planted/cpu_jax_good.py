# planted: rule=none, culprit=none, device=cpu
# cause: there is none: a compiled function multiplies large matrices on all cores.
# bound: nothing above a tenth of a step.
"""Evaluates a perceptron that is compiled by XLA."""
import common

jax = common.need("jax", "frameworks/jax")
import numpy as np


@jax.jit
def net(weights, x):
    for one in weights:
        x = jax.nn.relu(x @ one)
    return x


def main():
    random = np.random.default_rng(0)
    weights = [jax.device_put(random.standard_normal((1024, 1024), np.float32) / 32) for _ in range(4)]
    x = jax.device_put(random.standard_normal((512, 1024), np.float32))
    for _ in common.steps():
        net(weights, x).block_until_ready()


if __name__ == "__main__":
    main()
