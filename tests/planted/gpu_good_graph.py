# planted: rule=none, culprit=none, device=gpu
# cause: there is none: a CUDA graph launches products in half precision back to back.
# bound: nothing above a tenth of a step.
"""Evaluates a perceptron by a CUDA graph."""
import common

torch, device = common.cuda()


def main():
    model = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096, bias=False) for _ in range(24)))
    model = model.to(device, torch.bfloat16).eval()
    inputs = torch.randn(8192, 4096, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            model(inputs)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(inputs)
        for _ in common.steps():
            graph.replay()


if __name__ == "__main__":
    main()
