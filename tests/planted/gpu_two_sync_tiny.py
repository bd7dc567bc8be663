# planted: rule=synchronisation+launch_bound, culprit=item|_local_scalar_dense|cell|relax|launch, device=gpu
# cause: an iteration is made of many tiny kernels, and after each .item() asks whether it has converged.
# bound: about a third of a step for the synchronisation, and half for the launches.
"""Solves many small systems of equations by iteration."""
import common

torch, device = common.cuda()
ITERATIONS = 64


class Solver(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        matrix = torch.randn(width, width, device=device) / width ** 0.5
        self.matrix = torch.nn.Parameter(matrix + 3 * torch.eye(width, device=device))
        self.graph = self.state = None

    def relax(self, x, b):
        residual = b - x @ self.matrix
        momentum = torch.tanh(residual.norm(dim=1, keepdim=True))
        x = x + 0.2 * residual * momentum
        return x.clamp(-10, 10), residual.abs().amax()

    def one(self, x, b):
        if not common.mended("launch_bound"):
            return self.relax(x, b)
        if self.graph is None:
            self.state = torch.zeros_like(x)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                y, self.left = self.relax(self.state, b)
                self.state.copy_(y)
        if x is not self.state:
            self.state.copy_(x)
        self.graph.replay()
        return self.state, self.left

    def forward(self, x, b):
        for iteration in range(ITERATIONS):
            x, left = self.one(x, b)
            is_time = not common.mended("synchronisation") or iteration == ITERATIONS - 1
            if is_time and left.item() < 1e-9:
                break
        return x


def main():
    model = Solver(256).eval()
    b = torch.randn(128, 256, device=device)
    x = torch.zeros_like(b)
    with torch.no_grad():
        model.relax(x, b)
        for _ in common.steps():
            model(x, b)


if __name__ == "__main__":
    main()
