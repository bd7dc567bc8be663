# planted: rule=host_code|outside_the_model+input_output, culprit=count|save|fsync|write, device=cpu
# cause: the words of a batch are counted one by one in Python, and the model is saved in every step.
# bound: about half of a step for counting, and four tenths for saving.
"""Trains a classifier of texts on bags of words."""
import os
import tempfile

import common

torch = common.need("torch")
WORDS, TEXTS, LENGTH = 20_000, 64, 400


def count(texts):
    if common.mended("host_code"):
        texts = torch.tensor(texts)
        return torch.zeros(TEXTS, WORDS).scatter_add_(1, texts, torch.ones(texts.shape))
    counts = torch.zeros(TEXTS, WORDS)
    for row, text in enumerate(texts):
        seen = {}
        for word in text:
            seen[word] = seen.get(word, 0) + 1
        for word, times in seen.items():
            counts[row, word] = times
    return counts


def main():
    generator = torch.Generator().manual_seed(0)
    batches = torch.randint(0, WORDS, (8, TEXTS, LENGTH), generator=generator).tolist()
    model = torch.nn.Linear(WORDS, 10)
    model.register_buffer("vectors", torch.zeros(WORDS, 300))  # saved with the weights
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    labels = torch.arange(TEXTS) % 10
    every = 100 if common.mended("input_output") else 1
    with tempfile.TemporaryDirectory() as folder:
        for step in common.steps():
            loss = torch.nn.functional.cross_entropy(model(count(batches[step % 8])), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0:
                with open(os.path.join(folder, "last.pt"), "wb") as file:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
                    os.fsync(file.fileno())


if __name__ == "__main__":
    main()
