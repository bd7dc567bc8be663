# planted: rule=repeated_copies, culprit=_to_copy|copy_|float|to, device=cpu
# cause: a table of weights in half precision, which never changes, is converted to 32 bits in every step.
# bound: the time of the conversion, nearly all of a step.
"""Looks up embeddings that are stored in half precision."""
import common

torch = common.need("torch")


class Lookup(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        table = torch.randn(rows, width).half()
        self.register_buffer("table", table.float() if common.mended() else table)

    def forward(self, items):
        table = self.table.float()
        return torch.nn.functional.embedding(items, table).sum(1)


def main():
    model, items = Lookup(100_000, 128).eval(), torch.randint(0, 100_000, (256, 32))
    with torch.no_grad():
        for _ in common.steps():
            model(items)


if __name__ == "__main__":
    main()
