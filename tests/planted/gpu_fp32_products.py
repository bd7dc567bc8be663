# planted: rule=idle_tensor_cores, culprit=gemm|linear|addmm|Linear, device=gpu
# cause: products of matrices in fp32 run off the tensor cores, as TF32 is not allowed.
# bound: the products' time less what they take at the tensor cores' roof, about eight tenths of a step.
"""Evaluates a perceptron in 32 bits."""
import common

torch, device = common.cuda()


def main():
    if common.mended():
        torch.set_float32_matmul_precision("high")
    model = torch.nn.Sequential(torch.nn.Linear(4096, 8192), torch.nn.ReLU(), torch.nn.Linear(8192, 8192),
                                torch.nn.ReLU(), torch.nn.Linear(8192, 4096)).to(device).eval()
    inputs = torch.randn(4096, 4096, device=device)
    with torch.no_grad():
        for _ in common.steps():
            model(inputs)


if __name__ == "__main__":
    main()
