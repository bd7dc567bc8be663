"""Counts the comparisons, and the contradictions."""
import collections

RELATIVE, ABSOLUTE = 1e-9, 1e-3


def close(one, other, relative=RELATIVE, absolute=ABSOLUTE):
    return abs(one - other) <= relative * max(abs(one), abs(other)) + absolute


class Ledger:
    def __init__(self, out=print):
        self.checks = collections.OrderedDict()
        self.out = out

    def of(self, check):
        return self.checks.setdefault(check, {"evaluations": set(), "comparisons": 0, "contradictions": 0})

    def see(self, check, evaluation, batch, holds, text):
        """Records one comparison: `text` describes the contradiction, if it does not hold."""
        one = self.of(check)
        one["evaluations"].add(evaluation.id)
        one["comparisons"] += 1
        if not holds:
            one["contradictions"] += 1
            at = "" if batch is None else f", batch {batch}"
            self.out(f"{check}: {evaluation.name}{at}: {text}")
        return holds

    def equal(self, check, evaluation, batch, first, second, **how):
        """Compares two (where, value), which must be the same; does nothing if one is not known."""
        if first[1] is None or second[1] is None:
            return True
        return self.see(check, evaluation, batch, close(first[1], second[1], **how),
                        f"{first[0]} has {first[1]:.12g}, {second[0]} has {second[1]:.12g}")

    def same(self, check, evaluation, batch, places):
        """Compares one quantity in several places: each with the first that has it."""
        known = [place for place in places if place[1] is not None]
        for place in known[1:]:
            self.equal(check, evaluation, batch, known[0], place)

    def contradictions(self):
        return sum(one["contradictions"] for one in self.checks.values())

    def table(self):
        lines = ["| check | evaluations | comparisons | contradictions |", "|---|---|---|---|"]
        for check, one in self.checks.items():
            lines.append(f"| {check} | {len(one['evaluations'])} | {one['comparisons']} | "
                         f"{one['contradictions']} |")
        return "\n".join(lines)
