# planted: rule=none, culprit=none, device=cpu
# cause: there is none: OpenBLAS multiplies large matrices on all cores.
# bound: nothing above a tenth of a step.
"""Multiplies large matrices, in NumPy."""
import common

np = common.need("numpy", "frameworks/jax")


def main():
    random = np.random.default_rng(0)
    one, other = random.random((1536, 1536), np.float32), random.random((1536, 1536), np.float32)
    room = np.empty_like(one)
    for _ in common.steps(mark=True):
        np.matmul(one, other, out=room)


if __name__ == "__main__":
    main()
