# planted: rule=threads, culprit=thread, device=cpu
# cause: 64 threads, as many as on the machine that the script was written for, share every operator's work.
# bound: the time in which threads are woken and wait for others that do not run, about half of a step.
"""Smooths pictures with many small operators."""
import common

torch = common.need("torch")


class Smooth(torch.nn.Module):
    def forward(self, x):
        for _ in range(16):
            x = torch.nn.functional.avg_pool2d(x, 3, stride=1, padding=1)
        return x


def main():
    torch.set_num_threads(common.cores() if common.mended() else 64)
    model, pictures = Smooth().eval(), torch.rand(8, 8, 32, 32)
    with torch.no_grad():
        for _ in common.steps():
            model(pictures)


if __name__ == "__main__":
    main()
