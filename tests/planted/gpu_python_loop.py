# planted: rule=host_code, culprit=assign, device=gpu
# cause: the targets of a detector are assigned box by box in Python, in the loop's own thread.
# bound: the time in which the GPU is idle while `assign` runs, about eight tenths of a step.
"""Trains a detector whose boxes are assigned to the cells of three grids."""
import random

import common

torch, device = common.cuda()
from nets import ConvNet

GRIDS = (8, 16, 32)
BOXES = 12


def assign(boxes):
    """Returns, for each grid, the cells that hold a box's centre or lie beside it."""
    cells = []
    for number, image in enumerate(boxes):
        for x, y, width, height in image:
            for scale, grid in enumerate(GRIDS):
                column, row = int(x * grid), int(y * grid)
                for i in range(max(0, row - 1), min(grid, row + 2)):
                    for j in range(max(0, column - 1), min(grid, column + 2)):
                        overlap = max(0.0, 1 - abs(x * grid - j) - abs(y * grid - i)) * width * height
                        cells.append((number, scale * 20 + i % 5 * 4 + j % 4, overlap))
    return torch.tensor(cells)


def assign_at_once(boxes):
    boxes = torch.tensor(boxes)
    numbers, cells = torch.arange(len(boxes)).view(-1, 1).expand(-1, BOXES), []
    near = torch.arange(-1, 2)
    for scale, grid in enumerate(GRIDS):
        x, y = boxes[..., 0] * grid, boxes[..., 1] * grid
        i, j = y.long()[..., None, None] + near[:, None], x.long()[..., None, None] + near
        overlap = (1 - (x[..., None, None] - j).abs() - (y[..., None, None] - i).abs()).clamp(min=0)
        overlap = overlap * (boxes[..., 2] * boxes[..., 3])[..., None, None]
        place = (scale * 20 + i.clamp(0, grid - 1) % 5 * 4 + j.clamp(0, grid - 1) % 4).float()
        number = numbers[..., None, None].expand_as(overlap).float()
        cells.append(torch.stack([number, place.expand_as(overlap), overlap], -1).view(-1, 3))
    return torch.cat(cells)


def some_boxes(images):
    return [[[random.random() for _ in range(4)] for _ in range(BOXES)] for _ in range(images)]


def main():
    model = ConvNet(classes=60).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    images = torch.randn(48, 3, 256, 256, device=device).to(memory_format=torch.channels_last)
    batches = [some_boxes(48) for _ in range(8)]
    for step in common.steps():
        cells = (assign_at_once if common.mended() else assign)(batches[step % 8]).to(device)
        targets = torch.zeros(48, 60, device=device)
        targets[cells[:, 0].long(), cells[:, 1].long()] = cells[:, 2]
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(images).float(), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
