# planted: rule=growing_cache, culprit=cat, device=cpu
# cause: torch.cat copies the whole cache of keys and values for each token.
# bound: the time of copying the cache, about six tenths of a step.
"""Generates tokens with a cache of keys and values."""
import common

torch = common.need("torch")
PROMPT, TOKENS = 2048, 256


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.length = heads, PROMPT
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        room = PROMPT + TOKENS if common.mended() else PROMPT
        self.keys = torch.randn(heads, room, width // heads)
        self.values = torch.randn(heads, room, width // heads)

    def forget(self):
        self.length = PROMPT
        if not common.mended():
            self.keys, self.values = self.keys[:, :PROMPT], self.values[:, :PROMPT]

    def forward(self, x):
        q, k, v = self.qkv(x).view(3, self.heads, 1, -1)
        if common.mended():
            self.keys[:, self.length], self.values[:, self.length] = k[:, 0], v[:, 0]
        else:
            self.keys, self.values = torch.cat([self.keys, k], 1), torch.cat([self.values, v], 1)
        self.length += 1
        keys, values = self.keys[:, :self.length], self.values[:, :self.length]
        scores = (q * keys).sum(2) * q.shape[-1] ** -0.5
        return x + self.out((scores.softmax(1)[:, :, None] * values).sum(1).view(-1))


def main():
    model, token = torch.nn.Sequential(*(Layer(256, 4) for _ in range(4))).eval(), torch.randn(256)
    with torch.no_grad():
        for step in common.steps():
            if step % TOKENS == 0:
                for layer in model:
                    layer.forget()
            token = torch.nn.functional.layer_norm(model(token), (256,))


if __name__ == "__main__":
    main()
