# planted: rule=unfused_optimizer, culprit=AdamW|Adam|step, device=gpu
# cause: the optimiser takes one parameter after the other, with a dozen small kernels for each.
# bound: the time of the optimiser's step, about two thirds of a step.
"""Trains a deep and narrow transformer."""
import common

torch, device = common.cuda()
from nets import Block


def main():
    model = torch.nn.Sequential(*(Block(256, 4) for _ in range(24))).to(device)
    way = {"fused": True} if common.mended() else {"foreach": False}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **way)
    tokens = torch.randn(8, 256, 256, device=device)
    for _ in common.steps():
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(tokens).float().pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
