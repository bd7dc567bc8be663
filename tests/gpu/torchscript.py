"""A TorchScript file of tools/export_torch.py on the GPU, with inputs as the file describes them."""
import json

import torch


def load(path, batch):
    """The model, ready to be called, and its inputs."""
    files = {"xsp.json": ""}
    model = torch.jit.load(path, map_location="cuda", _extra_files=files).eval()
    described = json.loads(files["xsp.json"])["inputs"]
    return model, [values(one, batch) for one in described]


def values(described, batch):
    shape = [batch if isinstance(d, str) else d for d in described["shape"]]
    dtype = getattr(torch, described["dtype"])
    if dtype.is_floating_point:
        return torch.rand(shape, device="cuda").to(dtype)
    return torch.randint(0, 2, shape, device="cuda", dtype=dtype)
