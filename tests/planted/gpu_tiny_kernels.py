# planted: rule=launch_bound, culprit=cell|LSTM|Cell|launch, device=gpu
# cause: a recurrent cell written out by hand launches some 1800 kernels of a few microseconds each.
# bound: the time in which the GPU is idle while kernels are launched, about seven tenths of a step.
"""Runs a recurrent network over sequences, cell by cell."""
import functools

import common

torch, device = common.cuda()


class Cell(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.input, self.hidden = torch.nn.Linear(width, 4 * width), torch.nn.Linear(width, 4 * width)

    def forward(self, x, state, memory):
        gates = self.input(x) + self.hidden(state)
        enter, forget, value, leave = gates.chunk(4, 1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(value)
        return torch.sigmoid(leave) * torch.tanh(memory), memory


class Recurrent(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = Cell(width)

    def forward(self, sequence):
        state = memory = torch.zeros_like(sequence[0])
        for x in sequence:
            state, memory = self.cell(x, state, memory)
        return state


def main():
    model = Recurrent(256).to(device).eval()
    sequence = torch.randn(128, 16, 256, device=device)
    run = functools.partial(model, sequence)
    with torch.no_grad():
        if common.mended():
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                model(sequence)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(sequence)
            run = graph.replay
        for _ in common.steps():
            run()


if __name__ == "__main__":
    main()
