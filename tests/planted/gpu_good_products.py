# planted: rule=none, culprit=none, device=gpu
# cause: there is none: products in bf16 run near the tensor cores' roof.
# bound: nothing above a tenth of a step.
"""Evaluates a wide perceptron in half precision."""
import common

torch, device = common.cuda()


def main():
    model = torch.nn.Sequential(*(torch.nn.Linear(8192, 8192, bias=False) for _ in range(2)))
    model = model.to(device, torch.bfloat16).eval()
    inputs = torch.randn(16384, 8192, device=device, dtype=torch.bfloat16)
    with torch.no_grad():
        for _ in common.steps():
            model(inputs)


if __name__ == "__main__":
    main()
