# planted: rule=gather_bound, culprit=embedding|Embedding|index_select, device=cpu
# cause: the rows of all features are gathered into memory before they are summed.
# bound: the time of gathering and summing less that of reading the rows once, about half of a step.
"""Recommends by the sum of the embeddings of what a user has seen."""
import common

torch = common.need("torch")


class Recommender(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.seen = torch.nn.Embedding(rows, width)
        self.head = torch.nn.Linear(width, 1)

    def forward(self, items):
        if common.mended():
            return self.head(torch.nn.functional.embedding_bag(items, self.seen.weight, mode="sum"))
        return self.head(self.seen(items).sum(1))


def main():
    model = Recommender(500_000, 64).eval()
    batches = [torch.randint(0, 500_000, (2048, 48)) for _ in range(4)]
    with torch.no_grad():
        for step in common.steps():
            model(batches[step % 4])


if __name__ == "__main__":
    main()
