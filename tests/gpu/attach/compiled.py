"""A model of timm under torch.compile. compiled.py [MODE], "default" or "reduce-overhead" (CUDA graphs)."""
import sys

import timm
import torch

torch.manual_seed(0)
mode = sys.argv[1] if len(sys.argv) > 1 else "default"
model = timm.create_model("resnet18", pretrained=False).eval().cuda()
compiled = torch.compile(model, mode=mode)
image = torch.randn(1, 3, 224, 224, device="cuda")
with torch.inference_mode():
    for _ in range(30):
        out = compiled(image)
    torch.cuda.synchronize()
print(tuple(out.shape))
