"""A program that uses torch.profiler itself. Prints how many kernels the profiler saw: as many as without
`xsp run`."""
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(8)]).cuda()
x = torch.randn(4, 64, device="cuda")
for _ in range(10):
    model(x)
torch.cuda.synchronize()
activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
with torch.profiler.profile(activities=activities) as profile:
    for _ in range(5):
        model(x)
    torch.cuda.synchronize()
for _ in range(10):
    model(x)
torch.cuda.synchronize()
events = profile.profiler.kineto_results.events()
print(sum(event.device_type() == torch.autograd.DeviceType.CUDA for event in events))
