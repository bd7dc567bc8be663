# planted: rule=input_output, culprit=save, device=gpu
# cause: the model is saved to a file in every step.
# bound: the time of saving, about nine tenths of a step.
"""Trains a transformer, and keeps its last state."""
import os
import tempfile

import common

torch, device = common.cuda()
from nets import Block


def main():
    model = torch.nn.Sequential(*(Block(512, 8) for _ in range(8))).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randn(16, 256, 512, device=device)
    every = 100 if common.mended() else 1
    with tempfile.TemporaryDirectory() as folder:
        for step in common.steps():
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(tokens).float().pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0:
                torch.save(model.state_dict(), os.path.join(folder, "last.pt"))


if __name__ == "__main__":
    main()
