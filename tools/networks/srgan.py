"""The generator of SRGAN, SRResNet (Ledig et al. 2017): 16 residual blocks, four times the size."""

import torch

BLOCKS, WIDTH, DOUBLINGS = 16, 64, 2


def conv(channels, out, kernel):
    return torch.nn.Conv2d(channels, out, kernel, padding=kernel // 2)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            conv(WIDTH, WIDTH, 3), torch.nn.BatchNorm2d(WIDTH), torch.nn.PReLU(),
            conv(WIDTH, WIDTH, 3), torch.nn.BatchNorm2d(WIDTH))

    def forward(self, x):
        return x + self.body(x)


class Generator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Sequential(conv(3, WIDTH, 9), torch.nn.PReLU())
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(BLOCKS)), conv(WIDTH, WIDTH, 3),
                                          torch.nn.BatchNorm2d(WIDTH))
        tail = []
        for _ in range(DOUBLINGS):
            tail += [conv(WIDTH, 4 * WIDTH, 3), torch.nn.PixelShuffle(2), torch.nn.PReLU()]
        self.tail = torch.nn.Sequential(*tail, conv(WIDTH, 3, 9))

    def forward(self, image):
        first = self.head(image)
        return self.tail(first + self.blocks(first))
