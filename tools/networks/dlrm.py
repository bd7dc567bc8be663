"""The deep learning recommendation model (Naumov et al. 2019), in the size for Criteo's Kaggle data set."""

import torch

DENSE_FEATURES = 13
WIDTH = 16
# The numbers of categories of the data set's 26 columns.
TABLE_ROWS = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
              5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572)
BOTTOM = (DENSE_FEATURES, 512, 256, 64, WIDTH)
TOP = (512, 256, 1)


def perceptron(sizes, last):
    layers = []
    for here, there in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(here, there), torch.nn.ReLU()]
    layers[-1] = last
    return torch.nn.Sequential(*layers)


class Dlrm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = perceptron(BOTTOM, torch.nn.ReLU())
        self.tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(rows, WIDTH, mode="sum")
                                          for rows in TABLE_ROWS)
        vectors = len(TABLE_ROWS) + 1
        self.top = perceptron((WIDTH + vectors * (vectors - 1) // 2, *TOP), torch.nn.Sigmoid())
        # Each pair of different vectors counts once.
        pairs = torch.tril_indices(vectors, vectors, offset=-1)
        self.register_buffer("pairs", pairs[0] * vectors + pairs[1], persistent=False)

    def forward(self, dense, sparse):
        numbers = self.bottom(dense)
        found = [table(sparse[:, i:i + 1]) for i, table in enumerate(self.tables)]
        vectors = torch.stack([numbers, *found], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([numbers, products.index_select(1, self.pairs)], dim=1))
