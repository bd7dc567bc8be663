# planted: rule=none, culprit=none, device=gpu
# cause: there is none: workers prepare batches, which are copied from pinned memory beside the products.
# bound: nothing above a tenth of a step.
"""Evaluates a wide perceptron on records that a loader's workers read."""
import common

torch, device = common.cuda()


class Records(torch.utils.data.Dataset):
    def __init__(self):
        self.records = torch.randint(0, 256, (512, 1024), dtype=torch.uint8)

    def __len__(self):
        return 100_000_000

    def __getitems__(self, indices):
        return self.records[torch.tensor(indices) % 512]


def main():
    workers = min(8, common.cores())
    loader = torch.utils.data.DataLoader(Records(), batch_size=4096, num_workers=workers, pin_memory=True,
                                         prefetch_factor=4, collate_fn=torch.utils.data.default_convert)
    model = torch.nn.Sequential(*(torch.nn.Linear(width, 8192, bias=False) for width in (1024, *[8192] * 8)))
    model = model.to(device, torch.bfloat16).eval()
    copies, ahead = torch.cuda.Stream(), None
    with torch.no_grad():
        for batch in common.steps(loader):
            now = ahead
            torch.cuda.current_stream().wait_stream(copies)
            with torch.cuda.stream(copies):
                ahead = (batch.to(device, non_blocking=True), batch)
            if now is not None:
                now[0].record_stream(torch.cuda.current_stream())
                model(now[0].to(torch.bfloat16))


if __name__ == "__main__":
    main()
