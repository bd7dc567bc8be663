#!/usr/bin/env python3
"""Tests the rules by which tools/results_frameworks.py compares the frameworks that ran a model."""
import json
import unittest

import results_frameworks as page


def side(framework, latency_ms, half_ms=0.0, model="net", batch=1, inputs=("float32[1,8]",), **more):
    facts = {f"input.{i}": text for i, text in enumerate(inputs)}
    row = {"model": model, "framework": framework, "batch": batch, "facts": json.dumps(facts),
           "latency": latency_ms * 1e6, "low": (latency_ms - half_ms) * 1e6,
           "high": (latency_ms + half_ms) * 1e6, "layer_flops": None, "device": None, "kernels": None,
           "flops": None, "bytes": None, "bottleneck": None, "energy": None}
    return row | more


def names(rows):
    return [row["framework"] for row in rows]


class Shortest(unittest.TestCase):
    def test_those_that_the_intervals_do_not_tell_apart_are_equal(self):
        near = [side("torch", 2.0, 0.1), side("tensorrt", 1.0, 0.05), side("pjrt", 1.08, 0.05)]
        self.assertEqual(names(page.shortest_of(near)), ["tensorrt", "pjrt"])
        apart = [side("tensorrt", 1.0, 0.05), side("pjrt", 1.2, 0.05)]
        self.assertEqual(names(page.shortest_of(apart)), ["tensorrt"])

    def test_without_an_interval_only_the_shortest_is(self):
        rows = [side("torch", 1.0, high=None, low=None), side("pjrt", 1.01, low=None, high=None)]
        self.assertEqual(names(page.shortest_of(rows)), ["torch"])

    def test_only_what_several_ran_is_counted(self):
        sides = [side("torch", 2.0), side("pjrt", 1.0), side("pjrt", 1.0, model="alone")]
        self.assertEqual(page.shortest_counts(sides),
                         "At batch 1, the shortest latency is XLA's for 1 of the 1 models that it ran.")
        self.assertNotIn("alone", page.latencies_table(sides))


class Work(unittest.TestCase):
    def test_other_inputs_are_left_out_unless_the_layers_compute_as_much(self):
        filled_in = side("pjrt", 1.0, inputs=("int64[1,128]",), layer_flops=1.02e9)
        sides = [side("torch", 2.0, inputs=("int64[1,128]", "int64[1,128]"), layer_flops=1e9), filled_in]
        self.assertEqual(page.split(sides), (sides, []))
        longer = side("pjrt", 1.0, inputs=("int64[1,256]",), layer_flops=2e9)
        self.assertEqual(page.split([sides[0], longer]), ([sides[0]], [("net", "pjrt")]))

    def test_the_largest_group_stays(self):
        sides = [side("torch", 2.0, inputs=("float32[1,4]",)), side("pjrt", 1.0), side("tensorrt", 1.0)]
        alike, others = page.split(sides)
        self.assertEqual((names(alike), others), (["pjrt", "tensorrt"], [("net", "torch")]))


class Ratios(unittest.TestCase):
    def test_the_middle_ratio_is_that_of_what_both_measured(self):
        sides = [side("torch", 4.0, model=model, kernels=kernels)
                 for model, kernels in (("a", 100), ("b", None), ("c", 50))]
        sides += [side("pjrt", latency, model=model, kernels=25)
                  for model, latency in (("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 9.0))]
        row = page.ratios_table(sides).splitlines()[-1]
        self.assertEqual([cell.strip() for cell in row.strip("|").split("|")],
                         ["1", "XLA", "0.50 (3)", "0.38 (2)", "", "", "", ""])


if __name__ == "__main__":
    unittest.main()
