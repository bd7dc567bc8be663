# planted: rule=repeated_copies|pageable_copies, culprit=copy_|_to_copy|HtoD, device=gpu
# cause: the table of items, which never changes, is copied to the GPU in every step.
# bound: the time of that copy, about seven tenths of a step.
"""Finds the best item of a catalogue for batches of users."""
import common

torch, device = common.cuda()


class Ranker(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tower = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                         torch.nn.Linear(4 * width, width))

    def forward(self, users, items):
        return (self.tower(users) @ items.T).argmax(1)


def main():
    items = torch.randn(1_000_000, 192, device=device, dtype=torch.bfloat16).cpu().pin_memory()
    if common.mended():
        items = items.to(device)
    model = Ranker(192).to(device, torch.bfloat16).eval()
    users = torch.randn(256, 192, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(users, items.to(device, non_blocking=True))


if __name__ == "__main__":
    main()
