# planted: rule=gather_bound, culprit=embedding|Embedding|gather|index_select, device=gpu
# cause: the rows of all features are gathered into memory before they are summed.
# bound: the time of gathering and summing less that of reading the rows once, about half of a step.
"""Recommends by the sum of the embeddings of what a user has seen."""
import common

torch, device = common.cuda()


class Recommender(torch.nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.seen = torch.nn.Embedding(rows, width, device=device)
        self.head = torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

    def forward(self, items):
        if common.mended():
            taste = torch.nn.functional.embedding_bag(items, self.seen.weight, mode="sum")
        else:
            taste = self.seen(items).sum(1)
        return self.head(taste)


def main():
    model = Recommender(20_000_000, 64).to(device).eval()
    batches = [torch.randint(0, 20_000_000, (65536, 48), device=device) for _ in range(4)]
    with torch.no_grad():
        for step in common.steps():
            model(batches[step % 4])


if __name__ == "__main__":
    main()
