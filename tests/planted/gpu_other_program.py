# planted: rule=other_programs, culprit=program|process, device=gpu
# cause: another process computes on the same GPU, and both take turns.
# bound: the time in which the other one has the GPU, about half of a step.
"""Evaluates a perceptron on a GPU that somebody else uses, too."""
import common
import neighbour

torch, device = common.cuda()

OTHER = """
import torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
a @ a
torch.cuda.synchronize()
print("ready", flush=True)
while True:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""


def main():
    if not common.mended():
        neighbour.start(OTHER)
    model = torch.nn.Sequential(torch.nn.Linear(4096, 16384), torch.nn.ReLU(), torch.nn.Linear(16384, 4096))
    model = model.to(device, torch.bfloat16).eval()
    inputs = torch.randn(16384, 4096, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(inputs)


if __name__ == "__main__":
    main()
