"""Runs a TorchScript file of tools/export_torch.py on the GPU, with inputs as the file describes them."""
import torch


def load(path, batch):
    """Returns the model, ready to be called, and its inputs."""
    files = {"signature": ""}
    model = torch.jit.load(path, map_location="cuda", _extra_files=files).eval()
    text = files["signature"]
    lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
    return model, [values(*line.split("\t")[2:4], batch) for line in lines if line.startswith("input\t")]


def values(dtype_name, dimensions, batch):
    shape = [int(d) if d.isdigit() else batch for d in dimensions.split(",")]
    dtype = getattr(torch, dtype_name)
    if dtype.is_floating_point:
        return torch.rand(shape, device="cuda").to(dtype)
    return torch.randint(0, 2, shape, device="cuda", dtype=dtype)
