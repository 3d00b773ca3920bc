#!/usr/bin/env python3
"""What a module runner on a GPU does between calls, and how a problem's memory is planned: as far as that needs no GPU."""
import json
import pathlib
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import candidate_folder, ops, reference_session  # noqa: E402
from kernelbench_torch.clocks import GpuClocks  # noqa: E402
from kernelbench_torch.device_library import PLACED_BEFORE, PLACED_LATE  # noqa: E402
from kernelbench_torch.module_runner import Mailbox  # noqa: E402
from kernelbench_torch.output_arena import GpuArena, OutputArena  # noqa: E402
from kernelbench_torch.problem import Problem, ProblemError  # noqa: E402
from kernelbench_torch.runner_library import FORWARD, OK, OUT_OF_MEMORY, RAISED  # noqa: E402


class Reports:
    """The runner library's mailbox, which keeps what was written."""

    def __init__(self):
        self.written = []

    def kbr_mailbox(self, _):
        return 1

    def kbr_write_report(self, _, status, copied, text, size, outputs, forms):
        self.written.append((status, forms[4]))


class CandidateFolders(unittest.TestCase):
    def test_a_text_becomes_files_again(self):
        files = {"a/, 3 bytes.h": b"\n==> x, 1 bytes <==\n\r\n", "a/\u00e9.txt": "\u00e9".encode(), "empty.py": b"",
                 "model_new.py": b"\xef\xbb\xbfimport empty\n"}
        packed = "kernelbench folder\n" + "".join(f"\n==> {path}, {len(text)} bytes <==\n{text.decode()}\n" for path, text in files.items())
        self.assertEqual(candidate_folder.unpack(packed), files)
        self.assertIsNone(candidate_folder.unpack("class ModelNew: pass"))
        with tempfile.TemporaryDirectory() as directory, unittest.mock.patch.dict("os.environ", TMPDIR=directory), \
                unittest.mock.patch.object(candidate_folder, "_placed", None):
            entry = pathlib.Path(candidate_folder.place(files))
            self.assertEqual(entry, pathlib.Path(directory, "candidate", "model_new.py"))
            for path, text in files.items():
                placed = entry.parent / path
                self.assertEqual((placed.read_bytes(), placed.stat().st_mode & 0o777), (text, 0o444))
                self.assertEqual(placed.parent.stat().st_mode & 0o777, 0o555)
            with unittest.mock.patch.object(candidate_folder, "_placed", None):  # another process that shares the directory
                other = pathlib.Path(candidate_folder.place({"model_new.py": b"x"}))
                self.assertEqual((other.read_bytes(), str(other.parent)), (b"x", candidate_folder.home()))
                self.assertEqual(other.parent.parent, entry.parent.parent)
            for folder in (entry.parent, entry.parent / "a", other.parent):
                folder.chmod(0o700)


class Mailboxes(unittest.TestCase):
    def setUp(self):
        self.reports = Reports()
        self.mailbox = Mailbox(self.reports, None, [(torch.float32, (2, 3))])

    def test_a_report_that_says_nothing_new_is_not_written(self):
        for offset in (512, 512, 1024, 512):
            self.mailbox.write_fine([offset])
        self.assertEqual(self.reports.written, [(OK, 512), (OK, 1024), (OK, 512)])

    def test_after_any_other_report_it_is_new(self):
        self.mailbox.write_fine([512])
        self.mailbox.write(RAISED, text="an error")
        self.mailbox.write_fine([512])
        self.mailbox.write(text="traced", offsets=[512])
        self.mailbox.write_fine([512])
        self.assertEqual([status for status, _ in self.reports.written], [OK, RAISED, OK, OK, OK])


class Turns(unittest.TestCase):
    """Outputs that rest in an arena, which stands for tensors that this test has made."""

    def setUp(self):
        self.arena = arena = object.__new__(OutputArena)
        self.inside = [torch.zeros(4) for _ in range(4)]
        arena._active, arena._turn, arena._last, arena._spare = True, 0, None, []
        arena._resting = [[self.inside[0]], [self.inside[1]]]
        arena._holds = lambda tensor: any(tensor.data_ptr() == t.data_ptr() for t in self.inside)

    def resting(self):
        return [next(i for i, t in enumerate(self.inside) if t.data_ptr() == placed[0].data_ptr()) for placed in self.arena._resting]

    def call(self, *outputs):
        self.arena.keep([self.arena.place(number, tensor) for number, tensor in enumerate(outputs)])
        self.arena.turn()

    def test_the_outputs_of_a_call_take_the_place_of_those_that_rested_longest(self):
        for output, resting in ((2, [2, 1]), (3, [2, 3]), (0, [0, 3])):
            self.call(self.inside[output])
            self.assertEqual(self.resting(), resting)

    def test_a_call_without_outputs_changes_nothing(self):
        self.arena.turn()
        self.assertEqual(self.resting(), [0, 1])

    def test_a_part_of_something_larger_does_not_rest(self):
        self.call(self.inside[2][:2])
        self.assertEqual(self.resting(), [0, 1])

    def test_what_rests_makes_way_for_a_copy(self):
        made = iter([torch.zeros(4), self.inside[3]])  # outside and inside
        with unittest.mock.patch.object(torch, "empty_like", lambda _: next(made)):
            placed = self.arena.place(0, torch.full((4,), 5.0))
        self.assertEqual((placed.data_ptr(), placed.tolist(), self.arena._resting), (self.inside[3].data_ptr(), [5.0] * 4, []))

    def test_without_room_for_a_copy_memory_is_used_up(self):
        self.assertRaises(torch.OutOfMemoryError, self.arena.place, 0, torch.zeros(4))

    def test_where_there_are_places_for_copies_they_serve(self):
        self.arena._spare = spare = [torch.zeros(4)]
        self.assertIs(self.arena.place(0, torch.full((4,), 5.0)), spare[0])
        self.assertEqual((spare[0].tolist(), self.arena._resting), ([5.0] * 4, []))


class Arenas(unittest.TestCase):
    """The arena around the capture of a graph, with stand-ins for torch's allocator and its graphs."""

    def setUp(self):
        self.arena = arena = object.__new__(GpuArena)
        arena._active, self.held = False, 0

        def count(by):
            self.held += by
        arena._begin, arena._stop = lambda: count(1), lambda: count(-1)
        self.fails = fails = set()

        class Graph:
            def capture_begin(self):
                if "begin" in fails:
                    raise RuntimeError("cannot capture")

            def capture_end(self):
                if "end" in fails:
                    raise RuntimeError("the capture is broken")
        kept, torch.cuda.CUDAGraph = torch.cuda.CUDAGraph, Graph
        self.addCleanup(setattr, torch.cuda, "CUDAGraph", kept)
        arena._keep_graphs_out()
        self.graph = Graph()

    def test_entering_and_leaving_twice_is_entering_and_leaving(self):
        for step, held in ((self.arena.enter, 1), (self.arena.enter, 1), (self.arena.leave, 0), (self.arena.leave, 0)):
            step()
            self.assertEqual(self.held, held)

    def test_a_graph_is_recorded_outside(self):
        self.arena.enter()
        self.graph.capture_begin()
        self.assertEqual(self.held, 0)
        self.graph.capture_end()
        self.assertEqual(self.held, 1)

    def test_a_capture_that_fails_leads_back(self):
        for part in ("begin", "end"):
            self.arena.enter()
            self.fails.clear()
            self.fails.add(part)
            with self.assertRaises(RuntimeError):
                self.graph.capture_begin()
                self.graph.capture_end()
            self.assertEqual(self.held, 1, part)

    def test_where_the_arena_is_not_entered_no_capture_enters_it(self):
        self.arena.enter()
        self.graph.capture_begin()
        self.graph.capture_end()
        self.arena.leave()  # a model is constructed
        self.graph.capture_begin()
        self.graph.capture_end()
        self.assertEqual(self.held, 0)

    def test_another_thread_leaves_it_alone(self):
        self.arena.enter()
        seen = []

        def capture():
            self.graph.capture_begin()
            seen.append(self.held)
            self.graph.capture_end()
        thread = threading.Thread(target=capture)
        thread.start()
        thread.join()
        self.assertEqual((seen, self.held), ([1], 1))


PROBLEM = """
import torch
DEVICES = []
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    x = torch.rand(4, 4)
    DEVICES.append(x.device.type)
    return [x]
def get_init_inputs():
    return []
"""


SIZED = """
import torch
FACTOR = 2
SIZES = {"small": {"FACTOR": 3}}
class Model(torch.nn.Module):
    def forward(self, x):
        return x * FACTOR
"""


class References(unittest.TestCase):
    def test_the_reference_is_its_own_candidate_at_its_size(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(SIZED)
            for size, factor in (("standard", 2), ("small", 3)):
                module = {}
                exec(reference_session.source(path, size, "eager", "Model"), module)
                self.assertEqual(module["ModelNew"]()(torch.ones(1)).item(), factor)

    def test_only_the_strict_one_does_without_tf32(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(SIZED)
            kept = torch.backends.cudnn.allow_tf32
            self.addCleanup(setattr, torch.backends.cudnn, "allow_tf32", kept)
            torch.backends.cudnn.allow_tf32 = True
            exec(reference_session.source(path, "standard", "eager", "Model"), {})
            self.assertTrue(torch.backends.cudnn.allow_tf32)
            exec(reference_session.source(path, "standard", "eager-fp32", "Model"), {})
            self.assertFalse(torch.backends.cudnn.allow_tf32)

    def test_a_call_that_was_not_quite_stopped_or_came_too_early_is_made_again_and_a_lack_of_memory_is_one(self):
        answers = [{"end": "ran_frozen", "gap_us": 0, "report": None}, {"end": "too_early", "gap_us": 40, "report": None},
                   {"end": "done", "gap_us": 0, "report": {"status": OK, "text": ""}},
                   {"end": "done", "gap_us": 0, "report": {"status": OUT_OF_MEMORY, "text": "no room"}}]
        session = object.__new__(reference_session.ReferenceSession)
        session.session, session.lib = 1, types.SimpleNamespace(kbd_call=lambda *_: json.dumps(answers.pop(0)))
        prepared = []
        answer = session.call(FORWARD, 1, 1e6, True, lambda: prepared.append(1))
        self.assertEqual((answer["end"], answer["gap_us"]), ("done", 40))  # others had the device in this call, if not in its last try
        self.assertEqual(len(prepared), 3)
        with self.assertRaisesRegex(MemoryError, "no room"):
            session.call(FORWARD, 1, 1e6, True, lambda: None)

    def test_inputs_that_the_candidate_found_are_not_copied_again_unless_the_reference_changes_them(self):
        placings = []
        for kind, alone, keeps, expected in (("cuda", True, True, PLACED_LATE), ("cuda", False, True, PLACED_BEFORE),
                                             ("cuda", False, False, PLACED_LATE), ("cpu", False, True, PLACED_LATE)):
            session = object.__new__(reference_session.ReferenceSession)
            answer = {"end": "done", "us": 2, "waited_us": 0, "surely_waited_us": 0, "gap_us": 0, "elapsed_us": 1, "launched_us": 1, "malformed": "",
                      "report": {"status": OK, "text": ""}}
            session.session, session.lib = 1, types.SimpleNamespace(kbd_call=lambda *_: json.dumps(answer),
                                                                    kbd_flush_last_level=lambda _: None,
                                                                    kbd_present=lambda _, __, placing: placings.append(placing))
            host = reference_session.Operations()
            host.beside, host.inputs, host.rng_seed, host.problem = session, [], 1, types.SimpleNamespace(keeps_inputs=keeps)
            host.kind, host.lib, host.device, host.gpu_clocks = kind, session.lib, None, GpuClocks("cpu")
            host.baseline(ops.Baseline(alone=alone, timeout_us=1e6))
            self.assertEqual(placings.pop(), expected)


class Planning(unittest.TestCase):
    def problem(self, text=PROBLEM, **figures):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "problem.py"
            path.write_text(text)
            return Problem(path, "standard", "fp32", [1], lambda *_: None, figures=figures)

    def test_inputs_of_unknown_size_are_made_without_memory_first(self):
        self.assertEqual(self.problem().module.DEVICES[0], "meta")

    def test_inputs_of_known_size_are_not(self):
        self.assertNotIn("meta", self.problem(input_bytes=64).module.DEVICES)

    def test_what_cannot_fit_is_refused_by_its_known_size(self):
        with self.assertRaisesRegex(ProblemError, "choose a smaller --size"):
            self.problem(input_bytes=1 << 60)

    def test_a_forward_that_runs_out_of_memory_says_what_to_do(self):
        with self.assertRaisesRegex(ProblemError, "forward at this size needs more memory than is free .*choose a smaller --size"):
            self.problem(PROBLEM.replace("x * 2", "torch.empty(1 << 58)"), input_bytes=64)


if __name__ == "__main__":
    unittest.main()
