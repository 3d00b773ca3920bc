#!/usr/bin/env python3
"""The first call of a vector function in a forked process, by two threads, is as exact as any other (settle_math())."""
import os
import pathlib
import sys
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import zygote  # noqa: E402

CHILDREN = 10  # for each function; without settle_math() about half of them err on a processor that has AVX-512
FUNCTIONS = (torch.sqrt, torch.exp, torch.log, torch.tanh, torch.erf, torch.cos)


def first_error(function):
    """In a child: the largest relative error of the first call."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        torch.set_num_threads(2)
        x = 0.05 + 0.9 * torch.rand(2, 128, 128)
        first, exact = function(x), function(x.double())
        os.write(writing, repr(((first - exact) / exact).abs().max().item()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        error = float(said.read())
    os.wait()
    return error


class ForkedMath(unittest.TestCase):
    def test_children_of_a_zygote(self):
        torch.set_grad_enabled(False)
        zygote.warm_up()
        for function in FUNCTIONS:
            for _ in range(CHILDREN):
                self.assertLess(first_error(function), 2e-6, function)


if __name__ == "__main__":
    unittest.main()
