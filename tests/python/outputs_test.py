#!/usr/bin/env python3
"""Where a module's outputs lie on the CPU: the runner and its arena as they are, without an engine.

    outputs_test.py MEMORY_LIBRARY RUNNER_LIBRARY
"""
import ctypes
import dataclasses
import mmap
import os
import pickle
import pathlib
import sys
import threading
import traceback
import types
import unittest
import unittest.mock

MEMORY, RUNNER = sys.argv[1], sys.argv[2]
if MEMORY not in os.environ.get("LD_PRELOAD", ""):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_PRELOAD": MEMORY})

import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import module_runner, output_arena, runner_library, trees  # noqa: E402

ROOM = 1 << 20  # behind the places for copies
N = 4096


def in_child(work):
    """What `work` returns in a process of its own, as runners have one: an arena is opened once."""
    inside, outside = os.pipe()
    if os.fork() == 0:
        try:
            said = work()
        except BaseException:
            said = traceback.format_exc()
        with os.fdopen(outside, "wb") as file:
            pickle.dump(said, file)
        os._exit(0)
    os.close(outside)
    with os.fdopen(inside, "rb") as file:
        said = pickle.load(file)
    os.wait()
    if isinstance(said, str):
        raise AssertionError(said)
    return said


@dataclasses.dataclass
class Call:
    offsets: list
    outputs: list  # as lists of numbers
    copies: int


class Outputs:
    """The runner of `model`, which takes one tensor; its outputs are of the form of what `model` returns for `x`."""

    def __init__(self, model, x, like=None, room=ROOM):
        torch.set_grad_enabled(False)
        tensors, examples = [], []
        structure = trees.flatten(trees.arguments(lambda x: x, [x]), tensors, "inputs")
        output_structure = trees.flatten(like(x) if like else model(x), examples, "outputs", torch.tensor)
        outputs, _ = trees.layout([t.contiguous() for t in examples])
        self.first = -(-max(form.offset + form.bytes for form in outputs) // 512) * 512  # of the arena
        inputs, inputs_bytes = trees.layout(tensors)
        form = types.SimpleNamespace(inputs=inputs, outputs=outputs, parameters=[], structure=structure, output_structure=output_structure,
                                     may_alias=True)
        self.spec = types.SimpleNamespace(form=form, device="cpu", reference=False, events=True, waits=True)
        self.memory = [mmap.mmap(-1, size) for size in (72 << 10, inputs_bytes, self.first + room)]
        page, *segments = [ctypes.addressof(ctypes.c_char.from_buffer(memory)) for memory in self.memory]
        self.base, self.arena = segments[1], output_arena.HostArena()
        self.runner = module_runner.Runner(self.spec, runner_library.load(RUNNER), page, [*segments, 0], self.arena, [])
        self.arena.open(self.base, self.first + room, self.runner.outputs, 0)
        self.runner.model = model

    def call(self, x):
        self.runner.inputs[0].copy_(x)
        copies, copy = [], torch.Tensor.copy_
        with unittest.mock.patch.object(torch.Tensor, "copy_", lambda *given: copies.append(1) or copy(*given)):
            offsets, _ = self.runner._call(1, self.runner.model, self.runner.timed)
        found = [module_runner.view(self.base, dataclasses.replace(form, offset=offset), "cpu").tolist()
                 for form, offset in zip(self.spec.form.outputs, offsets)]
        self.arena.turn()
        return Call(offsets, found, len(copies))


def calls(model, xs, **settings):
    def work():
        outputs = Outputs(model, xs[0], **settings)
        return outputs.first, [outputs.call(x) for x in xs]
    return in_child(work)


def numbers(seed, count=N):
    return torch.arange(count, dtype=torch.float32) + seed


class Places(unittest.TestCase):
    def check(self, model, like=None, copies=0, rounds=3, settings=None):
        """All outputs are right, and so many are copied at each call."""
        xs = [numbers(seed) for seed in range(rounds)]
        first, made = calls(model, xs, like=like, **settings or {})
        for x, call in zip(xs, made):
            value = (like or model)(x)
            expected = [torch.as_tensor(t).tolist() for t in (value if isinstance(value, tuple) else (value,))]
            self.assertEqual(call.outputs, expected)
            self.assertEqual(call.copies, copies)
        return first, made

    def test_what_forward_makes_is_not_copied_and_takes_the_same_place_again(self):
        first, made = self.check(lambda x: x + 1)
        self.assertEqual({tuple(call.offsets) for call in made}, {(made[0].offsets[0],)})
        self.assertGreaterEqual(made[0].offsets[0], first)

    def test_small_outputs_and_numbers_lie_there_too(self):
        self.check(lambda x: (x.sum(), float(x[1]), x[:0].clone(), x[0] + 1))

    def test_other_layouts_are_made_contiguous(self):
        self.check(lambda x: (x.reshape(64, 64) * 2).t(), like=lambda x: (x.reshape(64, 64) * 2).t().contiguous())

    def test_complex_numbers_that_are_only_marked_as_conjugate(self):
        self.check(lambda x: torch.complex(x, x + 1).conj(), like=lambda x: torch.complex(x, -(x + 1)))

    def test_a_view_of_an_input_is_copied(self):
        self.check(lambda x: x.reshape(64, 64), copies=1)

    def test_a_tensor_of_the_constructor_is_copied(self):
        kept = torch.empty(N)
        self.check(lambda x: torch.add(x, 1, out=kept), like=lambda x: x + 1, copies=1)

    def test_memory_of_other_libraries_is_copied(self):
        self.check(lambda x: torch.from_numpy(x.numpy() + 1), like=lambda x: x + 1, copies=1)

    def test_a_view_of_something_larger_is_copied(self):
        self.check(lambda x: torch.cat([x, x])[N:], like=torch.clone, copies=1)

    def test_the_same_tensor_at_every_call_may_be_made_in_the_first(self):
        made = {}

        def model(x):
            out = made.setdefault("out", torch.empty_like(x))
            return torch.add(x, 1, out=out)
        self.check(model, like=lambda x: x + 1)

    def test_one_tensor_may_be_two_outputs(self):
        self.check(lambda x: (x + 1,) * 2)

    def test_who_keeps_all_outputs_is_judged_all_the_same(self):
        kept = []

        def model(x):
            kept.append(x + 1)
            return kept[-1]
        xs = [numbers(seed) for seed in range(2 * ROOM // (4 * N))]
        first, made = calls(model, xs, like=lambda x: x + 1)
        self.assertEqual([call.outputs for call in made], [[(x + 1).tolist()] for x in xs])
        self.assertEqual([made[0].copies, made[-1].copies], [0, 1])
        self.assertLess(made[-1].offsets[0], first)

    def test_without_room_all_outputs_are_copied(self):
        self.check(lambda x: (x + 1, x * 2), copies=2, settings={"room": 4 * N - 1})

    def test_without_the_library_all_outputs_are_copied(self):
        absent = types.SimpleNamespace()
        with unittest.mock.patch.object(output_arena.ctypes, "CDLL", lambda name: absent if name is None else ctypes.cdll.LoadLibrary(name)):
            self.check(lambda x: (x + 1, x * 2), copies=2)


class Memory(unittest.TestCase):
    def setUp(self):
        self.memory = mmap.mmap(-1, ROOM)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.arena = output_arena.HostArena()

    def ours(self, address):
        return self.base <= address < self.base + ROOM

    def in_arena(self, work):
        def opened():
            self.arena.open(self.base, ROOM, [], 0)
            self.arena.serve([torch.empty(N)])
            return work()
        return in_child(opened)

    def test_what_is_as_large_as_an_output_comes_from_there_for_who_is_inside(self):
        def work():
            seen = [self.ours(torch.empty(n).data_ptr()) for n in (N, N - 1, N + 1, 2 * N)]
            thread = threading.Thread(target=lambda: seen.append(self.ours(torch.empty(N).data_ptr())))
            thread.start()
            thread.join()
            self.arena.leave()
            seen.append(self.ours(torch.empty(N).data_ptr()))
            self.arena.enter()
            return [*seen, self.ours(torch.empty(N).data_ptr())]
        self.assertEqual(self.in_arena(work), [True, False, False, False, False, False, True])

    def test_what_is_freed_serves_again_whoever_frees_it(self):
        def work():
            kept = [torch.empty(N)]
            first = kept[0].data_ptr()
            self.arena.leave()
            thread = threading.Thread(target=kept.clear)
            thread.start()
            thread.join()
            self.arena.enter()
            return [torch.empty(N).data_ptr() == first, self.arena.reach()]
        self.assertEqual(self.in_arena(work), [True, 4 * N])

    def test_reach_is_what_was_in_use_at_a_time(self):
        def work():
            kept = [torch.empty(N) for _ in range(3)]
            kept.pop(0)
            kept.append(torch.empty(N))
            told = self.arena.reach()
            self.arena.serve([torch.empty(N)])
            return [told, self.arena.reach()]
        self.assertEqual(self.in_arena(work), [12 * N, 0])

    def test_libc_takes_back_and_enlarges_what_came_from_there(self):
        def work():
            libc = ctypes.CDLL(None)
            libc.realloc.restype = ctypes.c_void_p
            memory = ctypes.c_void_p()
            seen = [libc.posix_memalign(ctypes.byref(memory), 3, 4 * N), libc.posix_memalign(ctypes.byref(memory), 64, 4 * N)]
            seen.append(self.ours(memory.value))
            ctypes.memset(memory, 7, 4 * N)
            larger = libc.realloc(memory, 8 * N)
            seen += [self.ours(larger), ctypes.string_at(larger, 4 * N) == b"\7" * (4 * N), self.ours(torch.empty(N).data_ptr())]
            libc.free(ctypes.c_void_p(larger))
            return seen
        self.assertEqual(self.in_arena(work), [22, 0, True, False, True, True])


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main(argv=sys.argv[:1])
