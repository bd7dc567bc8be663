"""A CUDA graph of ResNet-18, captured once and replayed."""
import torch
import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet18(weights=None).eval().cuda()
image = torch.randn(1, 3, 224, 224, device="cuda")
with torch.inference_mode():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(image)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(image)
    for _ in range(20):
        graph.replay()
    torch.cuda.synchronize()
print(tuple(out.shape))
