# planted: rule=small_batch|host_code, culprit=matmul|rotate|gemm, device=cpu
# cause: thousands of small matrices are multiplied one by one, and calling costs more than multiplying.
# bound: the time of the calls less that of one batched product, about eight tenths of a step.
"""Turns many small sets of points, in NumPy."""
import common

np = common.need("numpy", "frameworks/jax")


def rotate(turns, points):
    if common.mended():
        return np.matmul(turns, points)
    return np.stack([np.matmul(turn, point) for turn, point in zip(turns, points)])


def main():
    random = np.random.default_rng(0)
    turns, points = random.random((4096, 8, 8), np.float32), random.random((4096, 8, 16), np.float32)
    for _ in common.steps(mark=True):
        moved = rotate(turns, points)
        moved.mean(axis=0)


if __name__ == "__main__":
    main()
