"""BN-Inception (Ioffe and Szegedy 2015): GoogLeNet with batch normalisation, and with two convolutions of
3 x 3 where that has one of 5 x 5. The convolutions have a bias, as in the published models."""

import torch

# The channels of each module: 1 x 1; reduced and full 3 x 3; reduced and full double 3 x 3; the projection
# behind the pooling, and which pooling. A module without 1 x 1 halves the image.
MODULES = (
    (64, (64, 64), (64, 96), 32, "average"),
    (64, (64, 96), (64, 96), 64, "average"),
    (0, (128, 160), (64, 96), 0, "max"),
    (224, (64, 96), (96, 128), 128, "average"),
    (192, (96, 128), (96, 128), 128, "average"),
    (160, (128, 160), (128, 160), 128, "average"),
    (96, (128, 192), (160, 192), 128, "average"),
    (0, (128, 192), (192, 256), 0, "max"),
    (352, (192, 320), (160, 224), 128, "average"),
    (352, (192, 320), (192, 224), 128, "max"),
)


def conv(channels, out, kernel=1, stride=1, pad=0):
    return torch.nn.Sequential(torch.nn.Conv2d(channels, out, kernel, stride, pad), torch.nn.BatchNorm2d(out),
                               torch.nn.ReLU())


class Module(torch.nn.Module):
    def __init__(self, channels, single, triple, double, projection, pooling):
        super().__init__()
        stride = 1 if single else 2
        branches = [conv(channels, single)] if single else []
        branches.append(torch.nn.Sequential(conv(channels, triple[0]),
                                            conv(triple[0], triple[1], 3, stride, 1)))
        branches.append(torch.nn.Sequential(conv(channels, double[0]), conv(double[0], double[1], 3, 1, 1),
                                            conv(double[1], double[1], 3, stride, 1)))
        if not projection:
            branches.append(torch.nn.MaxPool2d(3, 2, ceil_mode=True))
        else:
            pool = torch.nn.MaxPool2d if pooling == "max" else torch.nn.AvgPool2d
            branches.append(torch.nn.Sequential(pool(3, 1, 1), conv(channels, projection)))
        self.branches = torch.nn.ModuleList(branches)
        self.channels = single + triple[1] + double[1] + (projection or channels)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class BnInception(torch.nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        layers = [conv(3, 64, 7, 2, 3), torch.nn.MaxPool2d(3, 2, ceil_mode=True), conv(64, 64),
                  conv(64, 192, 3, 1, 1), torch.nn.MaxPool2d(3, 2, ceil_mode=True)]
        channels = 192
        for sizes in MODULES:
            layers.append(Module(channels, *sizes))
            channels = layers[-1].channels
        self.features = torch.nn.Sequential(*layers)
        self.classifier = torch.nn.Linear(channels, classes)

    def forward(self, image):
        return self.classifier(self.features(image).mean((2, 3)))
