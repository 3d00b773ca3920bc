#!/usr/bin/env python3
"""What makes a module's call on a GPU slower right after another process: that process on the core, or its context on the GPU?

    bench/cold_call.py [--problems empty,1/36@small,3/15@standard,...] [--calls 30]

Before each timed call all of the GPU's L2 is written and then, as the column says,
    nothing        a kernel of this process ran
    emptied        the core's private caches were emptied by reading 8 MiB
    core           another process without a GPU ran torch for 1 ms on this core
    both           another process ran kernels from this core, and then this one did
    inside         another process's kernels were the last: the change of contexts lies inside the call
Told is the median in us. `empty` fills 256 KiB with zeros.
"""

import argparse
import gc
import os
import random
import statistics
import subprocess
import sys
import time

from common import BINARY, problem_files

CORE = 2
PROBLEMS = "empty,1/36@small,2/40@small,3/43@small,3/9@standard,3/15@standard"


def keep_busy(device):
    """Another process: for each byte from its parent it runs a small network and then Python, 1 ms in all."""
    import torch
    torch.set_grad_enabled(False)
    model = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(10))).to(device)
    x = torch.ones(4, 32, device=device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    model(x), wait()
    os.write(1, b".")
    while os.read(0, 1):
        start = time.perf_counter()
        model(x), wait()
        while time.perf_counter() - start < 1e-3:
            sum(range(300))
        os.write(1, b".")


class Stranger:
    def __init__(self, device):
        self.process = subprocess.Popen([sys.executable, __file__, "--stranger", device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.process.stdout.read(1)

    def run(self):
        self.process.stdin.write(b"x")
        self.process.stdout.read(1)


def measure(problems, calls):
    sys.path.insert(0, str(BINARY.resolve().parent.parent / "share/kernelbench/python"))
    import torch
    from kernelbench_torch import device_facts, problem
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    problem.settle_math()
    with_gpu, without = Stranger("cuda"), Stranger("cpu")
    device_facts.start_cuda()
    scratch = torch.ones(2 << 20)
    big = torch.empty(128 << 20, dtype=torch.uint8, device="cuda")
    one = torch.zeros(1, device="cuda")

    def kernel():
        one.zero_()
        problem.synchronize()

    before = {"nothing": kernel, "emptied": lambda: (kernel(), scratch.sum()), "core": lambda: (kernel(), without.run()),
              "both": lambda: (with_gpu.run(), kernel()), "inside": with_gpu.run}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {calls} calls each\n")
    print(f"| problem | {' | '.join(before)} |\n|---|{'---|' * len(before)}")
    files = problem_files()
    for entry in problems.split(","):
        name, _, size = entry.partition("@")
        if name == "empty":
            blank = torch.empty(1 << 16, device="cuda")
            call = blank.zero_
        else:
            module = problem.load_module(files[name], size)
            torch.manual_seed(1)
            model = module.Model(*module.get_init_inputs()).cuda()
            with torch.device("cuda"):
                inputs = module.get_inputs()
            call = lambda: model(*inputs)
        gc.collect()
        for _ in range(5):
            call()
        us = {kind: [] for kind in before}
        for _ in range(calls):
            for kind in random.sample(list(before), len(before)):
                big.fill_(1)
                problem.synchronize()
                before[kind]()
                start = time.perf_counter_ns()
                problem.seed_generators(1, "cuda")
                call()
                problem.synchronize()
                us[kind].append((time.perf_counter_ns() - start) / 1e3)
        print(f"| {entry} | {' | '.join(f'{statistics.median(values):.0f}' for values in us.values())} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--stranger", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {CORE})
    keep_busy(arguments.stranger) if arguments.stranger else measure(arguments.problems, arguments.calls)


if __name__ == "__main__":
    main()
