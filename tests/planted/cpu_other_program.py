# planted: rule=other_programs, culprit=indexer|program|process, device=cpu
# cause: another program computes on all cores, and the scheduler shares them out.
# bound: the time in which our threads could run and do not, about half of a step.
"""Classifies images on a machine that somebody else uses, too."""
import common
import neighbour

torch = common.need("torch")
from nets import ConvNet

OTHER = """
open("/proc/self/comm", "w").write("indexer")
print("ready", flush=True)
while True:
    sum(range(100_000))
"""


def main():
    if not common.mended():
        neighbour.start(OTHER, copies=2 * common.cores())
    model, images = ConvNet(width=16, depth=1).eval(), torch.rand(4, 3, 128, 128)
    with torch.no_grad():
        for _ in common.steps():
            model(images)


if __name__ == "__main__":
    main()
