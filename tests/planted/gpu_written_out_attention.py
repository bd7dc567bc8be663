# planted: rule=written_out_attention, culprit=softmax|attend|matmul|masked_fill, device=gpu
# cause: attention is written out, so that its matrix of scores goes through memory several times.
# bound: the time of the attention's kernels less that of a fused one, about seven tenths of a step.
"""Evaluates the attention of a language model over long sequences."""
import common

torch, device = common.cuda()


class Attention(torch.nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.register_buffer("future", torch.ones(length, length, dtype=torch.bool).triu(1))

    def attend(self, q, k, v):
        if common.mended():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        return scores.masked_fill(self.future, float("-inf")).softmax(-1) @ v

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        y = self.attend(*qkv.permute(2, 0, 3, 1, 4))
        return x + self.out(y.transpose(1, 2).reshape(batch, length, width))


def main():
    model = torch.nn.Sequential(*(Attention(1024, 16, 4096) for _ in range(2)))
    model = model.to(device, torch.bfloat16).eval()
    tokens = torch.randn(2, 4096, 1024, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(tokens)


if __name__ == "__main__":
    main()
