"""Eager models of many small operators.

    eager.py gpt|gpt-training|unet [--turns [--profiler kernels|operators]]

`gpt` is a transformer like nanoGPT's of 124 M parameters over 256 tokens, `gpt-training` a step of its
training, `unet` an image network of 31 M parameters with skips, over a picture of 256 x 256. With --turns
it computes on request (turns.py); else it prints the median of a call's time in ms.
"""
import statistics
import sys
import time

import torch
import turns
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A transformer's block: attention and a perceptron; the input of each is normalised."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(self.act(self.up(self.norm2(x)))))


class Gpt(nn.Module):
    """Returns logits of the next token, for (batch, length) tokens."""

    def __init__(self, words=50304, width=768, depth=12, heads=12, length=256):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def two_convolutions(channels, wide):
    return nn.Sequential(nn.Conv2d(channels, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(),
                         nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU())


class UNet(nn.Module):
    """Returns an image of the same size as its input, through four halvings and back."""

    def __init__(self, width=64):
        super().__init__()
        wide = [width << i for i in range(5)]
        self.down = nn.ModuleList(map(two_convolutions, [3, *wide[:4]], wide))
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide[i + 1], wide[i], 2, stride=2) for i in range(4))
        self.join = nn.ModuleList(map(two_convolutions, wide[1:], wide))
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        skips = []
        for index, down in enumerate(self.down):
            x = down(x if index == 0 else self.pool(x))
            skips.append(x)
        for index in (3, 2, 1, 0):
            x = self.join[index](torch.cat((skips[index], self.up[index](x)), 1))
        return self.head(x)


torch.manual_seed(0)
name = sys.argv[1]
tokens = torch.randint(0, 50000, (1, 257), device="cuda")
model = (UNet() if name == "unet" else Gpt()).cuda()
if name == "gpt-training":
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def call():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[0, 1:])
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
else:
    model.eval().bfloat16()
    given = tokens[:, :-1] if name == "gpt" else torch.randn(1, 3, 256, 256, device="cuda").bfloat16()

    @torch.inference_mode()
    def call():
        model(given)
        torch.cuda.synchronize()

times = []
for _ in range(40):
    start = time.perf_counter()
    call()
    times.append(time.perf_counter() - start)
if turns.told():
    turns.answer(call)
else:
    print(f"{statistics.median(times[20:]) * 1e3:.4f}")
