#!/usr/bin/env python3
"""What a convolution may err where PyTorch's settings allow TF32. That is so on a GPU alone; here the CPU stands for one.

    tf32_test.py DEVICE_LIBRARY
"""
import json
import math
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import tf32  # noqa: E402
from kernelbench_torch import ops  # noqa: E402
from kernelbench_torch.device_host import Host  # noqa: E402

LIBRARY = sys.argv[1]
TOLERANCE = {"mode": "anchored", "atol": 0, "rtol": 1e-4, "rtol_rms": 2e-5, "rms_factor": 2, "max_factor": 4, "cap": 0.1}
CONVOLUTION = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(16, 32, 3)
    def forward(self, x):
        return self.conv(x).relu()
def get_inputs():
    return [torch.randn(4, 16, 20, 20)]
def get_init_inputs():
    return []
"""
CHANGING = CONVOLUTION.replace("return self", "y = self").replace(".relu()", ".relu()\n        x.zero_()\n        return y")
PRODUCT = CONVOLUTION.replace("self.conv = torch.nn.Conv2d(16, 32, 3)", "self.conv = torch.nn.Linear(20, 20)")
CHAOTIC = CONVOLUTION.replace(".relu()", ".mul(30000).sin()")


class Tf32(unittest.TestCase):
    def host(self, text, allowed=True):
        """A device process's operations, with a problem whose error budgets are there."""
        with tempfile.TemporaryDirectory() as directory, mock.patch.object(tf32, "is_allowed", lambda _: allowed):
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(text)
            host = Host(LIBRARY, "cpu", 1)
            host.load_problem(ops.LoadProblem(path=str(path), sha256="", size="standard", precision="fp32", weight_seeds=[1],
                                              memory_bytes=0, figures=None, text=None))
        with torch.no_grad():
            self.told = host.anchor(ops.Anchor(distribution="natural", rounds=2, tolerance=TOLERANCE))
        return host

    def error(self, host, change=lambda x: x):
        """Of the reference's output from operands that were changed, in units of what is allowed."""
        problem, model = host.problem, host.problem.models[0]
        _, (x,) = problem.draw()
        with torch.no_grad():
            expected = torch.nn.functional.conv2d(x, model.conv.weight, model.conv.bias).relu()
            got = torch.nn.functional.conv2d(change(x), change(model.conv.weight), model.conv.bias).relu()
        return host._worst(problem.budgets["natural"][0][0], got, expected, json.dumps(TOLERANCE).encode())

    def test_a_convolution_in_tf32_is_right_where_that_is_allowed(self):
        for text in (CONVOLUTION, CHANGING):
            self.assertGreater(self.error(self.host(text, allowed=False), tf32.cut), 2)
            self.assertLess(self.error(self.host(text), tf32.cut), 1)

    def test_less_than_tf32_is_wrong_there_too(self):
        self.assertGreater(self.error(self.host(CONVOLUTION), lambda x: x.bfloat16().float()), 1)

    def test_other_products_stay_what_they_were(self):
        host = self.host(PRODUCT)
        self.assertFalse(host.problem.may_be_tf32)  # no forward is spent on it again

    def test_a_problem_that_could_not_be_judged_any_more_keeps_its_budgets(self):
        host = self.host(CHAOTIC)
        self.assertTrue(self.told.judgeable)
        _, tensors = host.problem.draw()
        with torch.no_grad():
            off = host.problem.forward_tf32(0, host.problem.structure, tensors)[0] - host.problem.forward(0, host.problem.structure, tensors, 1)
        self.assertGreater(off.std().item(), 0.1)  # the cap, of outputs whose deviation is 0.7

    def test_cutting_keeps_what_tf32_has(self):
        x = torch.tensor([[1.0, -2.5], [math.inf, 1 + 2**-10], [1 + 2**-11, -(3 + 2**-8 + 2**-20)]])
        self.assertEqual(tf32.cut(x).tolist(), [[1, -2.5], [math.inf, 1 + 2**-10], [1, -(3 + 2**-8)]])
        self.assertEqual(tf32.cut(x.t()).tolist(), tf32.cut(x).t().tolist())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
