"""MobileNet v1 (Howard et al. 2017) in any width. Its paper reduces it to 0.25, 0.5 and 0.75 of the
channels, and to images of 192, 160 and 128 pixels a side."""

import torch

# The channels of each depthwise separable convolution, at width 1, and its stride.
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1),
          (512, 1), (1024, 2), (1024, 1))


def conv(channels, out, kernel=1, stride=1, groups=1):
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False),
        torch.nn.BatchNorm2d(out), torch.nn.ReLU6())


class MobileNetV1(torch.nn.Module):
    """Takes images [batch, 3, height, width], and returns scores [batch, classes]."""

    def __init__(self, width=1.0, classes=1000):
        super().__init__()
        channels = int(32 * width)
        layers = [conv(3, channels, 3, 2)]
        for at_width_1, stride in BLOCKS:
            out = int(at_width_1 * width)
            layers += [conv(channels, channels, 3, stride, channels), conv(channels, out)]
            channels = out
        self.features = torch.nn.Sequential(*layers)
        self.pool = torch.nn.AdaptiveAvgPool2d(1)
        self.classifier = torch.nn.Linear(channels, classes)

    def forward(self, image):
        return self.classifier(self.pool(self.features(image)).flatten(1))
