#!/usr/bin/env python3
"""What a runner's surroundings cost a module's host on a GPU: processes of different kinds on one core, one call each in turn.

    bench/host_cost.py [--problems 3/43@small,3/15@standard,...] [--calls 200] [--kinds plain,pool,...]

A kind is words joined by +:
    plain     as the device process runs it
    confine   with a runner's seccomp filter and limits
    pool      outputs come from the arena (output_arena.py)
    cupti     CUPTI has callbacks, and traces nothing

Told is the median over calls of each process's time divided by that of the first two, plain ones, in the same turn. A host that is slower
from one moment to the next is so for all of them. Processes of one kind differ too, so ask for several of each.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

from common import BINARY, problem_files

TREE = BINARY.resolve().parent.parent
KINDS = "plain,plain,plain,confine,pool,confine+pool,cupti,cupti,cupti"
PROBLEMS = "1/36@small,2/40@small,3/43@small,3/9@standard,3/15@standard"


def serve(kind, core, files):
    """A process of one kind: for each line "problem calls" it makes calls and prints the last one's us."""
    sys.path.insert(0, str(TREE / "share/kernelbench/python"))
    import ctypes

    import torch
    from kernelbench_torch import device_facts, output_arena, problem, runner_library
    torch.set_grad_enabled(False)
    problem.settle_math()
    gc.freeze()
    os.sched_setaffinity(0, {core})
    library = runner_library.load(TREE / "libexec/kernelbench/libkernelbench_runner.so")
    cupti = device_facts.find_cupti()
    modules = {name: problem.load_module(path, size) for name, (path, size) in files.items()}
    arena = output_arena.OutputArena(library) if "pool" in kind else None
    if "confine" in kind:
        devices = [f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")]
        limits = {"memory_bytes": 1 << 40, "file_bytes": 1 << 30, "readable": [], "without": [], "devices": devices, "programs": False}
        said = runner_library.confine(library, {"confinement": limits}) or library.kbr_open_gpu()
        if said:
            raise SystemExit(f"{'+'.join(kind)}: {said}")
        torch.cuda.init()
    else:
        device_facts.start_cuda()
    if "cupti" in kind:
        callback = ctypes.CFUNCTYPE(None)(lambda: None)  # never called, for nothing is traced
        ctypes.CDLL(cupti).cuptiActivityRegisterCallbacks(callback, callback)
    if arena:
        memory = torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
        arena.open(memory.data_ptr(), memory.numel(), [torch.empty(4, device="cuda")])
        arena.leave()
    ready = {}
    for name, module in modules.items():
        torch.manual_seed(1)
        model = module.Model(*module.get_init_inputs()).cuda()
        with torch.device("cuda"):
            ready[name] = model, module.get_inputs()
    if arena:
        arena.enter()
    print("ready", flush=True)
    for line in sys.stdin:
        name, calls = line.split()
        model, inputs = ready[name]
        for _ in range(int(calls)):
            start = time.perf_counter_ns()
            problem.seed_generators(1, "cuda")
            outputs = model(*inputs)
            problem.synchronize()
            ns = time.perf_counter_ns() - start
            del outputs
        print(ns / 1e3, flush=True)


def ask(server, name, calls):
    server.stdin.write(f"{name} {calls}\n")
    server.stdin.flush()
    return float(server.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--kinds", default=KINDS, help="the first two are plain")
    parser.add_argument("--calls", type=int, default=200, help="of each kind for each problem")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    paths = problem_files()
    files = {name: (paths[name], size) for name, _, size in (entry.partition("@") for entry in arguments.problems.split(","))}
    if arguments.serve:
        return serve(arguments.serve.split("+"), arguments.core, files)
    kinds = arguments.kinds.split(",")
    servers = [subprocess.Popen([sys.executable, *sys.argv, "--core", str(arguments.core), "--serve", kind], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for kind in kinds]
    if any(server.stdout.readline() != "ready\n" for server in servers):
        raise SystemExit("a process did not start")
    print(f"| problem | calls in a row | plain us | {' | '.join(kinds[1:])} |\n|---|---|---|{'---|' * (len(kinds) - 1)}")
    for calls in (1, 3):
        for name, (_, size) in files.items():
            for server in servers:
                ask(server, name, 4)
            rows = []
            for turn in range(arguments.calls):
                us = {}
                for place in range(len(servers)):
                    number = (turn + place) % len(servers)
                    us[number] = ask(servers[number], name, calls)
                rows.append(us)
            ratios = [statistics.median(us[i] / statistics.mean((us[0], us[1])) for us in rows) for i in range(1, len(kinds))]
            print(f"| {name} {size} | {calls} | {statistics.median(us[0] for us in rows):.0f} | {' | '.join(f'{r:.3f}' for r in ratios)} |", flush=True)


if __name__ == "__main__":
    main()
