# planted: rule=allocation, culprit=zeros|empty|zero_|fault|alloc, device=cpu
# cause: every step takes fresh memory for its large results, whose pages the system must make and clear.
# bound: the time of the pages' faults, six tenths of a step.
"""Blends pairs of large pictures into results that are new in each step."""
import common

torch = common.need("torch")


class Blend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.room = None

    def forward(self, one, other):
        if self.room is None or not common.mended():
            self.room = torch.empty(4, *one.shape)
        for number, share in enumerate((0.2, 0.4, 0.6, 0.8)):
            torch.lerp(one, other, share, out=self.room[number])
        return self.room


def main():
    model, one, other = Blend().eval(), torch.rand(4, 3, 1024, 1024), torch.rand(4, 3, 1024, 1024)
    with torch.no_grad():
        for _ in common.steps():
            model(one, other)


if __name__ == "__main__":
    main()
