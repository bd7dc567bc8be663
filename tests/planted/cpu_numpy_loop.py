# planted: rule=host_code, culprit=histogram, device=cpu
# cause: a histogram is counted value by value in Python.
# bound: the time in `histogram`, about nine tenths of a step.
"""Equalises the brightness of pictures, in NumPy."""
import common

np = common.need("numpy", "frameworks/jax")


def histogram(picture):
    if common.mended():
        return np.bincount(picture.ravel(), minlength=256)
    counts = [0] * 256
    for value in picture.ravel():
        counts[value] += 1
    return np.array(counts)


def main():
    picture = np.random.default_rng(0).integers(0, 200, (384, 384), dtype=np.uint8)
    for _ in common.steps(mark=True):
        cumulated = histogram(picture).cumsum()
        bright = (cumulated * 255 // cumulated[-1]).astype(np.uint8)
        bright[picture].astype(np.float32).std()


if __name__ == "__main__":
    main()
