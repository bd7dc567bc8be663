"""A few training steps of torchvision's ResNet-50: forward, backward, SGD with momentum."""
import torch
import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet50(weights=None).train().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_of = torch.nn.CrossEntropyLoss()
images = torch.randn(16, 3, 224, 224, device="cuda")
labels = torch.randint(0, 1000, (16,), device="cuda")
for _ in range(8):
    optimizer.zero_grad()
    loss = loss_of(model(images), labels)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
