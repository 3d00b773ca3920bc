#!/usr/bin/env python3
"""What an evaluation plans to take of memory is what its steps take, and the problems fit the GPUs that they are meant for."""
import ctypes
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from kernelbench_torch import distributions, problem as problems  # noqa: E402
from kernelbench_torch.memory_plan import MemoryPlan  # noqa: E402

GIB = 1 << 30
H100 = 78 * GIB  # of 80 GB what a context leaves
NORM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x / x.abs().mean(dim=1, keepdim=True)
DISTRIBUTIONS = ["centred", "scaled", "sparse", "structured"]
def get_inputs():
    return [torch.rand(256, 4096)]
def get_init_inputs():
    return []
"""


def fill(address, elements, seed):
    halves = torch.full((elements,), 0.5)
    ctypes.memmove(address, halves.data_ptr(), 4 * elements)


class Peak(TorchDispatchMode):
    """The most bytes of storages, made by operators since it began, that were alive at once."""

    def __init__(self):
        super().__init__()
        self.peak, self.now, self.users = 0, 0, {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        given = {t.untyped_storage()._cdata for t in args if isinstance(t, torch.Tensor)}
        for tensor in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self._count(tensor, given)
        return result

    def _count(self, tensor, given):
        key, size = tensor.untyped_storage()._cdata, tensor.untyped_storage().nbytes()
        if key in given and key not in self.users:
            return  # a view of what was there before
        if key not in self.users:
            self.users[key] = 0
            self.now += size
            self.peak = max(self.peak, self.now)
        self.users[key] += 1
        weakref.finalize(tensor, self._drop, key, size)

    def _drop(self, key, size):
        self.users[key] -= 1
        if not self.users[key]:
            del self.users[key]
            self.now -= size


class Plan(unittest.TestCase):
    def standard(self, *decks):
        for name, facts in json.loads((ROOT / "problems/index.json").read_text()).items():
            if name.split("/")[0] in decks:
                facts = facts["sizes"]["standard"]
                yield name, MemoryPlan(facts["input_bytes"], facts["output_bytes"], 0, facts["parameter_bytes"], 2)

    def test_levels_1_to_3_fit_80_gb(self):
        plans = dict(self.standard("1", "2", "3"))
        self.assertGreater(len(plans), 249)
        self.assertEqual([name for name, plan in plans.items() if plan.least() > H100], [])

    def test_there_the_reference_has_a_process_of_its_own(self):
        without = [name for name, plan in self.standard("1", "2", "3")
                   if plan.beside(plan.arena(H100), plan.arena(H100, kept=0)) > H100]
        self.assertEqual(without, [])

    def test_what_is_kept_or_larger_counts(self):
        plan = MemoryPlan(4 * GIB, 2 * GIB, GIB, GIB)
        for more in (MemoryPlan(5 * GIB, 2 * GIB, GIB, GIB), MemoryPlan(4 * GIB, 3 * GIB, GIB, GIB), MemoryPlan(4 * GIB, 2 * GIB, 2 * GIB, GIB),
                     MemoryPlan(4 * GIB, 2 * GIB, GIB, 2 * GIB), MemoryPlan(4 * GIB, 2 * GIB, GIB, GIB, sets=2),
                     MemoryPlan(4 * GIB, 2 * GIB, GIB, GIB, input_copies=1), MemoryPlan(4 * GIB, 2 * GIB, GIB, GIB, output_copies=1)):
            self.assertGreater(more.rounds(GIB), plan.rounds(GIB))
            self.assertGreater(more.anchors(), plan.anchors())
        self.assertGreater(MemoryPlan(4 * GIB, 2 * GIB, GIB, GIB, widening=4).anchors(), plan.anchors())

    def test_an_arena_is_at_most_a_third_but_holds_the_outputs(self):
        plan = MemoryPlan(GIB, 4 * GIB)
        self.assertEqual(plan.arena(15 * GIB), 5 * GIB)
        self.assertGreater(plan.arena(6 * GIB), 4 * GIB)
        self.assertGreater(plan.arena(80 * GIB), 8 * GIB)
        self.assertLess(plan.arena(80 * GIB, kept=0), 5 * GIB)

    def test_on_a_host_it_has_room_for_copies_what_the_reference_needs_and_what_is_kept(self):
        plan, mib = MemoryPlan(GIB, GIB), 1 << 20
        self.assertEqual(plan.host_arena(GIB, 3 * GIB, 80 * GIB), 5 * GIB + 65 * mib)
        self.assertEqual(plan.host_arena(GIB, 0, 80 * GIB), 3 * GIB + 65 * mib)
        self.assertEqual(plan.host_arena(GIB, 3 * GIB, 9 * GIB), 3 * GIB)
        self.assertEqual(plan.host_arena(GIB, 3 * GIB, GIB), 2 * GIB + mib, "one call's and their copies")
        self.assertEqual(MemoryPlan(GIB, 4 * mib).host_arena(5 * mib, 8 * mib, GIB), (5 + 8 + 12 + 1) * mib)

    def test_outputs_take_turns_where_they_are_not_large(self):
        for outputs, turns in ((0, 32), (4, 32), (16 << 20, 32), (64 << 20, 8), (512 << 20, 1), (513 << 20, 0), (4 * GIB, 0)):
            plan = MemoryPlan(GIB, outputs)
            self.assertEqual(plan.turns(H100), turns, outputs)
            self.assertGreaterEqual(plan.arena(H100), (2 + turns) * outputs)
        small = MemoryPlan(1 << 20, 64 << 20)
        self.assertLessEqual(small.turns(6 * GIB) * small.outputs, 6 * GIB // 32)


class Steps(unittest.TestCase):
    def load(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(text)
            return problems.Problem(path, "standard", "fp32", [1], fill)

    def setUp(self):
        self.problem = self.load(NORM)
        self.inputs = self.problem.plan.inputs

    def test_the_plan_knows_the_tensors(self):
        self.assertEqual((self.problem.plan.inputs, self.problem.plan.outputs, self.problem.plan.weights), (4 << 20, 4 << 20, 0))

    def test_outputs_that_have_to_be_copied_need_room_for_that(self):
        transposed = self.load(NORM.replace("return x / x.abs().mean(dim=1, keepdim=True)", "return (x + 1).t()"))
        self.assertEqual((self.problem.plan.forward, transposed.plan.forward), (0, 4 << 20))

    def test_drawing_takes_a_copy_and_a_mask_at_most(self):
        for name in ("natural", *distributions.STRESS):
            with Peak() as peak:
                tensors = self.problem.draw(name, seed=7)[1]
            self.assertLessEqual(peak.peak, 2.25 * self.inputs + (1 << 16), name)
            self.assertGreaterEqual(peak.peak, tensors[0].nbytes, name)

    def test_an_anchor_takes_no_more_than_planned(self):
        with Peak() as peak, torch.no_grad():
            structure, tensors = self.problem.draw("sparse", seed=7)
            truth = self.problem.forward_fp64(0, structure, tensors)
            expected = self.problem.forward(0, structure, tensors, 1)
        plan = MemoryPlan(self.inputs, expected.nbytes, expected.nbytes)  # the magnitudes are all that a forward needs
        self.assertEqual(truth[0].nbytes, 2 * expected.nbytes)
        self.assertLessEqual(peak.peak, plan.anchors() + (1 << 16))


class Convolutions(unittest.TestCase):
    """Problems of level 1 whose convolutions in fp64 lay out a hundred megabytes or more."""
    MEASURED = {
        57: {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 16, "SIDE": 256},
        64: {"BATCH": 4, "IN_CHANNELS": 32, "OUT_CHANNELS": 32, "LENGTH": 65536},
        61: {"BATCH": 4, "IN_CHANNELS": 16, "OUT_CHANNELS": 8, "SIDE": 48},
        63: {"BATCH": 4, "SIDE": 128},
        72: {"BATCH": 4, "DEPTH": 24, "OUT_CHANNELS": 16},
        74: {"BATCH": 4, "LENGTH": 16384},
        75: {"BATCH": 4, "HEIGHT": 64, "WIDTH": 128},
    }

    def setUp(self):
        try:
            self.peak(lambda: None)
        except OSError as error:
            self.skipTest(f"the most memory that this process held cannot be reset: {error}")

    def peak(self, function):
        """What the process held at most while it ran, more than before, in bytes."""
        ctypes.CDLL(None).malloc_trim(0)
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        before = self.status("VmRSS")
        kept = function()  # noqa: F841
        return self.status("VmHWM") - before

    @staticmethod
    def status(name):
        return 1024 * int(re.search(rf"{name}:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])

    def test_their_windows_are_planned(self):
        for number, size in self.MEASURED.items():
            path, = (ROOT / "problems/level1").glob(f"{number}_*.py")
            with tempfile.TemporaryDirectory() as directory:
                text = pathlib.Path(directory) / path.name
                text.write_text(path.read_text() + f"\nSIZES['measured'] = {size!r}\n")
                problem = problems.Problem(text, "measured", "fp32", [1], fill)
            structure, tensors = problem.draw(seed=7)
            with torch.no_grad():
                peak = self.peak(lambda: problem.forward_fp64(0, structure, tensors))
            planned = 2 * (problem.plan.inputs + problem.plan.outputs) + problem.windows
            self.assertGreater(problem.windows, planned / 3, path.name)  # without them the plan would be far off
            self.assertLess(peak, 1.05 * planned + (4 << 20), path.name)
            self.assertGreater(peak, 0.8 * planned - (4 << 20), path.name)


class Distributions(unittest.TestCase):
    def test_they_are_what_they_were_without_copies(self):
        for x in (torch.rand(6, 10), torch.rand(10, 6).t(), torch.rand(2, 4, 4, 3).permute(0, 3, 1, 2), torch.rand(9).half()):
            centred, signs = x - x.mean(), (1 - 2 * (torch.arange(x.numel()) % 2)).reshape(x.shape).to(x.dtype)
            torch.manual_seed(3)
            kept = torch.rand(x.shape) < 0.1
            for name, wanted in (("centred", centred), ("scaled", 256 * centred), ("sparse", centred * kept), ("structured", x * signs)):
                torch.manual_seed(3)
                given = [x]
                got, = distributions.transform(name, given)
                self.assertTrue(torch.equal(got, wanted), name)
                self.assertEqual((got.dtype, got.stride(), given), (x.dtype, x.stride(), []), name)

    def test_outliers_are_few_and_large_and_anywhere(self):
        for x in (torch.rand(64, 1024), torch.rand(1024, 64).t(), torch.rand(2, 3), torch.rand(1 << 15).half()):
            met = torch.zeros(x.shape, dtype=torch.bool)
            for _ in range(50):
                got, = distributions.transform("outliers", [x])
                large = got != x
                self.assertLessEqual(int(large.sum()), 2 + x.numel() // 4096)
                self.assertTrue(torch.equal(got[large], ((x - x.mean()) * 256)[large]))
                self.assertEqual((got.dtype, got.stride()), (x.dtype, x.stride()))
                met |= large
            self.assertGreater(int(met.sum()), min(x.numel() - 1, 50))

    def test_neither_indices_nor_single_numbers_change_nor_what_was_given(self):
        index, number, x = torch.arange(5), torch.rand(1), torch.rand(8)
        before = x.clone()
        got = distributions.transform("scaled", [index, number, x])
        self.assertTrue(got[0] is index and got[1] is number and torch.equal(x, before))


class Spread(unittest.TestCase):
    def test_in_pieces_it_is_what_it_is_as_a_whole(self):
        kept, problems._PIECE = problems._PIECE, 7
        self.addCleanup(setattr, problems, "_PIECE", kept)
        a, b = torch.rand(5, 9), torch.rand(5, 9)
        spread, scale = problems.spread_and_scale(a, b)
        self.assertEqual(spread, (a.double() - b.double()).abs().max().item())
        self.assertAlmostEqual(scale, a.double().abs().mean().item(), places=12)
        a[2, 3] = float("nan")
        self.assertTrue(math.isnan(problems.spread_and_scale(a, b)[0]))
        self.assertEqual(problems.spread_and_scale(a[:0], b[:0]), (0.0, 0.0))


if __name__ == "__main__":
    unittest.main()
