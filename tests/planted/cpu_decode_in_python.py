# planted: rule=host_code, culprit=decode, device=cpu
# cause: what a network heard is decoded symbol by symbol in Python.
# bound: the time in `decode`, about three quarters of a step.
"""Recognises speech with a small convolutional network and a greedy decoder."""
import common

torch = common.need("torch")
BLANK = 0


def decode(scores):
    """Returns the best symbol of each moment, without repetitions and blanks."""
    if common.mended():
        best = scores.argmax(2)
        is_new = torch.ones_like(best, dtype=torch.bool)
        is_new[:, 1:] = best[:, 1:] != best[:, :-1]
        return [line[keep].tolist() for line, keep in zip(best, is_new & (best != BLANK))]
    lines = []
    for line in scores.tolist():
        symbols, last = [], BLANK
        for moment in line:
            best = 0
            for symbol, score in enumerate(moment):
                if score > moment[best]:
                    best = symbol
            if best not in (BLANK, last):
                symbols.append(best)
            last = best
        lines.append(symbols)
    return lines


def main():
    model = torch.nn.Sequential(
        torch.nn.Conv1d(40, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv1d(32, 64, 1)).eval()
    sound = torch.randn(8, 40, 400)
    with torch.no_grad():
        for _ in common.steps():
            decode(model(sound).transpose(1, 2))


if __name__ == "__main__":
    main()
