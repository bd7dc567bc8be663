# planted: rule=input_output, culprit=save, device=cpu
# cause: the model and its optimiser are saved to a file in every step.
# bound: the time of saving, about eight tenths of a step.
"""Trains a recommender with a table of embeddings, and keeps its last state."""
import os
import tempfile

import common

torch = common.need("torch")


def main():
    table = torch.nn.EmbeddingBag(50_000, 64, mode="mean", sparse=True)
    model = torch.nn.Sequential(table, torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    items, liked = torch.randint(0, 50_000, (1024, 16)), torch.rand(1024, 1)
    every = 100 if common.mended() else 1
    with tempfile.TemporaryDirectory() as folder:
        for step in common.steps():
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(items), liked)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0:
                with open(os.path.join(folder, "last.pt"), "wb") as file:
                    torch.save(model.state_dict(), file)
                    os.fsync(file.fileno())


if __name__ == "__main__":
    main()
