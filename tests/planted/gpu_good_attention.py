# planted: rule=none, culprit=none, device=gpu
# cause: there is none: attention is fused, and so are the products around it.
# bound: nothing above a tenth of a step.
"""Evaluates the attention of a language model over long sequences, fused."""
import common

torch, device = common.cuda()


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


def main():
    model = torch.nn.Sequential(*(Attention(2048, 16) for _ in range(2))).to(device, torch.bfloat16).eval()
    tokens = torch.randn(2, 16384, 2048, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(tokens)


if __name__ == "__main__":
    main()
