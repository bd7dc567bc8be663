#!/usr/bin/env python3
"""Tests score.py with given findings, and with the first lines of every program."""

import pathlib
import types
import unittest

import score


def program(rule, culprit="decode"):
    rules = [names.split("|") for names in rule.split("+")]
    return score.Program(pathlib.Path("cpu_x.py"), rules, [culprit], "cpu", 0, "", "")


def row(rule, gain_pct, finding="decode takes most of the step"):
    return {"rule": rule, "finding": finding, "gain_pct": gain_pct, "culprit": None}


class ScoreTest(unittest.TestCase):
    def test_the_first_finding_decides(self):
        right = score.judge(program("host_code"), [row("host_code", 70), row("small_batch", 20)])
        self.assertTrue(right["right"] and right["named"])
        self.assertEqual(right["bound_pct"], 70)
        wrong = score.judge(program("host_code"), [row("small_batch", 90), row("host_code", 70)])
        self.assertFalse(wrong["right"])

    def test_what_has_no_rule_is_no_finding_of_a_cause(self):
        self.assertTrue(score.judge(program("threads"), [row(None, None), row("threads", None)])["right"])
        self.assertFalse(score.judge(program("threads"), [row(None, 50)])["right"])
        self.assertFalse(score.judge(program("threads"), [])["right"])

    def test_a_culprit_that_is_not_named_is_missed(self):
        self.assertFalse(score.judge(program("locks", "mutex"), [row("locks", 50)])["named"])

    def test_one_of_several_names_of_a_cause_is_enough(self):
        self.assertTrue(score.judge(program("small_batch|host_code"), [row("host_code", 50)])["right"])

    def test_two_causes_are_both_to_be_found(self):
        both = program("host_code+input_output")
        save, spin, count = row("input_output", 50), row("threads", 9), row("host_code", 40)
        self.assertTrue(score.judge(both, [save, spin, count])["right"])
        self.assertFalse(score.judge(both, [save, spin])["right"])
        self.assertFalse(score.judge(both, [spin, count, save])["right"])

    def test_a_good_program_gets_no_advice_of_weight(self):
        self.assertTrue(score.judge(program("none"), [row("threads", 10), row("clocks", None)])["right"])
        self.assertFalse(score.judge(program("none"), [row("threads", 9), row("locks", 10.5)])["right"])
        failed = {"finding": "not measured", "is_error": True}
        self.assertFalse(score.judge(program("none"), [failed])["right"])

    def test_the_score_leaves_out_what_was_skipped(self):
        ok = {"status": "ok", "wanted": "locks", "right": True, "inside": False}
        others = [{"status": "skipped", "wanted": "locks"}, {"status": "failed", "wanted": "none"}]
        total = score.score([ok, *others])
        self.assertEqual(total, {"ran": 2, "skipped": 1, "right_pct": 50, "inside_pct": 0})

    def gain_of(self, fast, gate_twins):
        """Returns the gain, and the number of turns, of a twin with these rates; the planted rate is 10."""
        rates = iter(fast)
        options = types.SimpleNamespace(repeats=1, gate_twins=gate_twins, python="python3", xsp="xsp",
                                        installed=None)
        runner = score.Runner(options, pathlib.Path("."))
        runner.rate = lambda program, mended, gpu: next(rates) if mended else 10.0
        return runner.gain(program("locks"), "all", None)[2], len(fast) - len(list(rates))

    def test_a_twin_that_seems_no_faster_has_further_turns(self):
        self.assertEqual(self.gain_of([20, 20], True), (50, 1))
        self.assertEqual(self.gain_of([9, 20, 20, 20], True), (100 * (1 - 10 / 14.5), 2))
        self.assertEqual(self.gain_of([9, 9, 9, 20, 20, 20, 20], True), (100 * (1 - 10 / 14.5), 6))
        self.assertEqual(self.gain_of([10] * 9, True), (0, score.TURNS_MAX))
        self.assertEqual(self.gain_of([9, 20], False), (100 * (1 - 10 / 9), 1))

    def test_every_program_says_what_was_planted(self):
        every = score.programs()
        self.assertEqual({one.device for one in every}, {"cpu", "gpu"})
        for one in every:
            self.assertTrue(one.name.startswith(one.device), one.name)
            self.assertTrue(one.cause and one.bound and all(one.culprits), one.name)
        self.assertGreaterEqual(sum(len(one.rules) > 1 for one in every), 4)
        self.assertGreaterEqual(sum(one.is_good for one in every), 4)


if __name__ == "__main__":
    unittest.main()
