# planted: rule=threads, culprit=thread|blas|matmul|gemm, device=cpu
# cause: OPENBLAS_NUM_THREADS=1 leaves all cores but one idle during large products.
# bound: the products' time less that on all cores: on two cores, up to half of a step.
"""Smooths a field by products with large matrices, in NumPy."""
import os

import common

if not common.mended():
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
np = common.need("numpy", "frameworks/jax")


def main():
    if common.cores() < 2:
        common.skip("there is one core alone")
    random = np.random.default_rng(0)
    smooth = random.random((1024, 1024), np.float32) / 512
    field = random.random((1024, 1024), np.float32)
    for _ in common.steps(mark=True):
        field = np.clip(smooth @ field @ smooth.T, 0, 1)


if __name__ == "__main__":
    main()
