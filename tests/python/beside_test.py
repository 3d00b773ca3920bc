#!/usr/bin/env python3
"""Baselines that are compiled beside each other: a kernel is timed while no other compiles, and one that compiles for long is not waited for."""
import contextlib
import fcntl
import os
import pathlib
import sys
import tempfile
import time
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from kernelbench_torch import first_call  # noqa: E402
from torch._inductor.runtime.benchmarking import benchmarker  # noqa: E402


def compile_one(name, place, log, wait_s):
    """What a child does: compiles, times two kernels with compiling between them."""
    def say(what):
        os.write(log, f"{what} {name}\n".encode())

    def measure():
        say("timing")
        time.sleep(0.05)
        say("timed")
    torch.cuda.synchronize = lambda: None
    benchmarker.benchmark_gpu = measure
    first_call._compile_beside(place, "cuda")
    say("compiling")
    time.sleep(wait_s)
    say("compiled")
    benchmarker.benchmark_gpu()
    say("compiled")
    benchmarker.benchmark_gpu()
    say("done")


class Beside(unittest.TestCase):
    def ended(self, waits, longest):
        """Exit codes, and what was said in its order, of children that compile for `waits` seconds and end after `longest`."""
        children = []
        with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as opened:
            lock, log = (os.path.join(directory, name) for name in ("lock", "log"))
            pathlib.Path(lock).touch()
            places = [os.open(lock, os.O_RDWR) for _ in waits]
            opened.callback(lambda: [os.close(place) for place in places])
            for place in places:
                fcntl.flock(place, fcntl.LOCK_SH)
            into = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            opened.callback(os.close, into)
            for name, wait_s in enumerate(waits):
                child = os.fork()
                if child == 0:
                    try:
                        for place in places[:name] + places[name + 1:]:
                            os.close(place)
                        first_call._LONGEST_BESIDE_S = longest[name]
                        compile_one(name, places[name], into, wait_s)
                        os._exit(0)
                    finally:
                        os._exit(9)
                children.append(child)
            opened.pop_all().close()
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            return codes, pathlib.Path(log).read_text().splitlines()

    def test_a_kernel_is_timed_while_no_other_compiles(self):
        codes, said = self.ended([0, 0.2, 0.4], [60, 60, 60])
        self.assertEqual(codes, [0, 0, 0], said)
        first = next(i for i, line in enumerate(said) if line.startswith("timing"))
        self.assertEqual(sum(line.startswith("compiled") for line in said[:first]), 3, said)
        for i, line in enumerate(said):
            if line.startswith("timing"):
                self.assertEqual(said[i + 1], line.replace("timing", "timed"))

    def test_one_that_compiles_for_long_gives_up(self):
        codes, said = self.ended([0, 1000, 0], [60, 0.3, 60])
        self.assertEqual(codes, [0, 1, 0], said)
        self.assertIn("compiling 1", said)


if __name__ == "__main__":
    unittest.main()
