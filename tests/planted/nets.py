"""Networks that several planted programs use."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A transformer's block; the input of each of its two halves is normalised."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class ConvNet(nn.Module):
    """An image classifier with residual convolutions, in four stages."""

    def __init__(self, width=64, depth=2, classes=100, channels=3):
        super().__init__()
        self.stem = nn.Conv2d(channels, width, 7, stride=4, padding=3)
        self.stages = nn.ModuleList()
        for stage in range(4):
            wide = width << stage
            body = [nn.Sequential(nn.Conv2d(wide, wide, 3, padding=1, bias=False), nn.BatchNorm2d(wide),
                                  nn.ReLU(), nn.Conv2d(wide, wide, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(wide))
                    for _ in range(depth)]
            self.stages.append(nn.ModuleList(body))
        self.narrow = nn.ModuleList(nn.Conv2d(width << i, width << (i + 1), 1, stride=2) for i in range(3))
        self.head = nn.Linear(width * 8, classes)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for index, stage in enumerate(self.stages):
            for body in stage:
                x = torch.relu(x + body(x))
            if index < 3:
                x = self.narrow[index](x)
        return self.head(x.mean((2, 3)))


class Wide(nn.Module):
    """A perceptron whose weights are far larger than its input."""

    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def small_classifier(width, kernel, stride):
    """Returns two convolutions and a linear layer, for three colours and ten classes."""
    return nn.Sequential(
        nn.Conv2d(3, 16, kernel, stride, padding=kernel // 2), nn.ReLU(), nn.Conv2d(16, width, 3, stride=2),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def train(model, batches):
    """Runs steps of a classifier's training."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for images, labels in batches:
        loss = functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
