#!/usr/bin/env python3
"""A reference that changes its inputs is told from one that does not: the latter reads them where they were drawn."""
import pathlib
import sys
import tempfile
import unittest

import torch  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch.problem import Problem  # noqa: E402

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        {body}
def get_inputs():
    {inputs}
def get_init_inputs():
    return []
"""


class Inputs(unittest.TestCase):
    def keeps_inputs(self, body, inputs="return [torch.rand(8, 8)]"):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(PROBLEM.format(body=body, inputs=inputs))
            return Problem(path, "standard", "fp32", [1], None).keeps_inputs

    def test_a_pure_function_keeps_them(self):
        self.assertTrue(self.keeps_inputs("return torch.relu(x) + x.view(-1)[0]"))

    def test_an_input_as_output_is_no_change(self):
        self.assertTrue(self.keeps_inputs("return x"))

    def test_an_operator_in_place_changes_them(self):
        self.assertFalse(self.keeps_inputs("y = x.clone(); x.zero_(); return y"))

    def test_even_where_these_inputs_stay_as_they_are(self):
        self.assertFalse(self.keeps_inputs("return torch.relu_(x)"))

    def test_through_a_view_too(self):
        self.assertFalse(self.keeps_inputs("y = x.clone(); x[0].mul_(1); return y"))

    def test_and_past_what_autograd_sees(self):
        self.assertFalse(self.keeps_inputs("y = x.clone(); x.data.add_(1); return y"))

    def test_what_is_no_memory_of_its_own_is_copied(self):
        for inputs in ("return [torch.rand(65)[1:]]", "return [torch.rand(8, dtype=torch.cfloat).conj()]",
                       "with torch.inference_mode(): return [torch.rand(8)]"):
            self.assertFalse(self.keeps_inputs("return x + 1", inputs), inputs)

    def test_nor_one_tensor_twice(self):
        self.assertFalse(self.keeps_inputs("return x[0] + 1", "x = torch.rand(8, 8); return [[x, x]]"))


if __name__ == "__main__":
    unittest.main()
