# planted: rule=synchronisation|outside_the_model, culprit=item|_local_scalar_dense|cpu|confusion, device=gpu
# cause: the metrics of each class are brought to the CPU one by one, and the loss is printed, in every step.
# bound: the time in which the GPU is idle after an .item() or .cpu(), about three quarters of a step.
"""Trains a classifier and counts, for each class, how often it is right."""
import sys

import common

torch, device = common.cuda()
CLASSES = 100


def confusion(found, labels, right, device_right):
    if common.mended():
        device_right.index_add_(0, labels, (found == labels).long())
        return
    for label in range(CLASSES):
        right[label] += ((found == label) & (labels == label)).sum().item()


def main():
    model = torch.nn.Sequential(torch.nn.Linear(2048, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 4096),
                                torch.nn.GELU(), torch.nn.Linear(4096, CLASSES)).to(device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    inputs = torch.randn(16384, 2048, device=device, dtype=torch.bfloat16)
    labels = torch.randint(0, CLASSES, (16384,), device=device)
    right, device_right = [0] * CLASSES, torch.zeros(CLASSES, dtype=torch.int64, device=device)
    for step in common.steps():
        scores = model(inputs)
        loss = torch.nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        confusion(scores.argmax(1), labels, right, device_right)
        if not common.mended() or step % 100 == 0:
            print("step", step, "loss", loss.detach().cpu(), file=sys.stderr)


if __name__ == "__main__":
    main()
