# planted: rule=threads, culprit=thread, device=cpu
# cause: eight threads for each core share the work of every operator, and wait for each other at its end.
# bound: the time in which threads wait for others that do not run, more than half of a step.
"""Smooths pictures with many small operators."""
import common

torch = common.need("torch")


class Smooth(torch.nn.Module):
    def forward(self, x):
        for _ in range(16):
            x = torch.nn.functional.avg_pool2d(torch.tanh(x), 3, stride=1, padding=1)
        return x


def main():
    torch.set_num_threads(common.cores() * (1 if common.mended() else 8))
    model, pictures = Smooth().eval(), torch.rand(4, 8, 96, 96)
    with torch.no_grad():
        for _ in common.steps():
            model(pictures)


if __name__ == "__main__":
    main()
