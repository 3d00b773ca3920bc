#!/usr/bin/env python3
"""Inputs on the CPU are drawn by the device library, on all cores, wherever that changes nothing about the task."""
import pathlib
import sys
import tempfile
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch.problem import Problem  # noqa: E402

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    {prepare}
    return [torch.{draw}]
def get_init_inputs():
    return []
"""


class Drawing(unittest.TestCase):
    def drawn(self, draw, prepare="pass", seed=None):
        """The inputs of one draw, and the addresses that the library was asked to fill meanwhile."""
        filled = []
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(PROBLEM.format(prepare=prepare, draw=draw))
            problem = Problem(path, "standard", "fp32", [1], lambda address, elements, _: filled.append((address, elements)))
            filled.clear()
            _, tensors = problem.draw("natural", seed)
        return tensors, filled

    def test_large_uniform_inputs_are_filled_by_the_library(self):
        (x,), filled = self.drawn("rand(512, 512)")
        self.assertEqual(filled, [(x.data_ptr(), 512 * 512)])

    def test_what_torch_alone_defines_is_left_to_torch(self):
        for draw in ("rand(16, 16)", "randn(512, 512)", "rand(512, 512, dtype=torch.float64)", "randint(9, (512, 512))"):
            self.assertEqual(self.drawn(draw)[1], [], draw)

    def test_a_seed_gives_the_numbers_that_torch_gives(self):
        (x,), filled = self.drawn("rand(512, 512)", seed=7)
        torch.manual_seed(7)
        self.assertTrue(torch.equal(x, torch.rand(512, 512)))
        self.assertEqual(filled, [])

    def test_a_problem_that_seeds_anew_wants_those_numbers(self):
        (x,), filled = self.drawn("rand(512, 512)", prepare="torch.manual_seed(3)")
        torch.manual_seed(3)
        self.assertTrue(torch.equal(x, torch.rand(512, 512)))
        self.assertEqual(filled, [])


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    unittest.main()
