# planted: rule=none, culprit=none, device=cpu
# cause: there is none: convolutions run on all cores, at a batch that is large enough.
# bound: nothing above a tenth of a step.
"""Classifies images with convolutions on all cores."""
import ctypes

import common

torch = common.need("torch")


def keep_memory():
    """Makes the C library keep freed memory; otherwise the system makes the pages of each result anew."""
    m_trim_threshold, m_mmap_threshold = -1, -3
    ctypes.CDLL(None).mallopt(m_mmap_threshold, 1 << 30)
    ctypes.CDLL(None).mallopt(m_trim_threshold, (1 << 31) - 1)


def main():
    keep_memory()
    torch.set_num_threads(common.cores())
    model = torch.nn.Sequential(*(torch.nn.Conv2d(128, 128, 3, padding=1) for _ in range(6))).eval()
    images = torch.rand(8, 128, 32, 32)
    with torch.no_grad():
        for _ in common.steps():
            model(images)


if __name__ == "__main__":
    main()
