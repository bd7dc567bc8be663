# planted: rule=growing_cache, culprit=cat, device=gpu
# cause: torch.cat copies the whole cache of keys and values for each token.
# bound: the time of copying the cache, about two thirds of a step.
"""Generates tokens with a cache of keys and values."""
import common

torch, device = common.cuda()
PROMPT, TOKENS = 4096, 256


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.keys = self.values = self.length = None

    def prompt(self, keys, values):
        self.length = keys.shape[2]
        if common.mended():
            if self.keys is None:
                room = (*keys.shape[:2], PROMPT + TOKENS, keys.shape[3])
                self.keys, self.values = keys.new_empty(room), values.new_empty(room)
            self.keys[:, :, :self.length], self.values[:, :, :self.length] = keys, values
        else:
            self.keys, self.values = keys, values

    def forward(self, x):
        batch, _, width = x.shape
        q, k, v = self.qkv(x).view(batch, 1, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if common.mended():
            self.keys[:, :, self.length:self.length + 1] = k
            self.values[:, :, self.length:self.length + 1] = v
        else:
            self.keys = torch.cat([self.keys, k], 2)
            self.values = torch.cat([self.values, v], 2)
        self.length += 1
        keys, values = self.keys[:, :, :self.length], self.values[:, :, :self.length]
        # One query per head: products with the cache in place, without a kernel for long sequences.
        y = torch.softmax(q @ keys.transpose(2, 3) / keys.shape[3] ** 0.5, -1) @ values
        return x + self.out(y.transpose(1, 2).reshape(batch, 1, width))


def main():
    model = torch.nn.Sequential(*(Layer(1024, 16) for _ in range(8))).to(device, torch.bfloat16).eval()
    prompt = torch.randn(2, 16, 16, PROMPT, 64, device=device, dtype=torch.bfloat16)
    token = torch.randn(16, 1, 1024, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for step in common.steps():
            if step % TOKENS == 0:
                for layer in model:
                    layer.prompt(*prompt)
            token = torch.nn.functional.layer_norm(model(token), (1024,))


if __name__ == "__main__":
    main()
