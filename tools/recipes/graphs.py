"""Networks on graphs, of PyTorch Geometric, and a recommender. The graph has the size of Cora's: 2,708
nodes of 1,433 features and 7 classes, and 10,556 edges. It has no batch."""

from .recipe import DTYPES, Input, Recipe, need

NODES, EDGES, FEATURES, CLASSES = 2708, 10556, 1433, 7


def graph_network(name, options):
    torch = need("torch")
    nn = need("torch_geometric.nn")
    layers = {
        "gcn": lambda: (nn.GCNConv(FEATURES, 16), torch.nn.ReLU(), nn.GCNConv(16, CLASSES)),
        "gat": lambda: (nn.GATConv(FEATURES, 8, heads=8), torch.nn.ELU(), nn.GATConv(64, CLASSES)),
        "graphsage": lambda: (nn.SAGEConv(FEATURES, 256), torch.nn.ReLU(), nn.SAGEConv(256, CLASSES)),
    }[name]()

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.activation, self.second = layers

        def forward(self, x, edge_index):
            return self.second(self.activation(self.first(x, edge_index)), edge_index)

    return Recipe(Network(), [Input("x", DTYPES[options.dtype], [NODES, FEATURES]),
                              Input("edge_index", "int64", [2, EDGES], NODES)])


def dlrm(_, options):
    from networks import dlrm as network
    model = network.Dlrm()
    smallest = min(network.TABLE_ROWS)
    return Recipe(model, [Input("dense", DTYPES[options.dtype], ["batch", network.DENSE_FEATURES]),
                          Input("sparse", "int64", ["batch", len(network.TABLE_ROWS)], smallest)])


RECIPES = {"gcn": graph_network, "gat": graph_network, "graphsage": graph_network, "dlrm": dlrm}
