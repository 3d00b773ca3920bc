#!/usr/bin/env python3
"""What a runner's surroundings cost a module's host on a GPU: processes of different kinds on one core, one call each in turn.

    bench/host_cost.py [--problems 3/43@small,3/15@standard,...] [--turns 60] [--kinds plain:4,pool:4,...] [--pairs 20] [--warm]

A kind is words joined by +, and behind a colon how many processes there are of it:
    plain     as the device process runs it
    confine   with a runner's seccomp filter and limits
    pool      outputs come from the arena (output_arena.py)
    own       what forward allocates comes from a pool of torch's own allocator that holds nothing else
    cupti     CUPTI has callbacks, and traces nothing
    forked    from this process, which has imported torch; the others import it themselves

Before each call the core's private caches are emptied, as the judge does, unless --warm. In each turn every process makes one call, in
random order. Told is each process's median over turns of its time divided by the median of the (other) plain ones in the same turn, and for
each kind the mean and the standard deviation of its processes. A host that is slower from one moment to the next is so for all of them.

With --pairs ROUNDS a second table tells what A/A would be if both sides were of one kind: each two processes of a kind call in turn for so
many rounds, and the ratio of one to the other is the median of its rounds' ratios to the call before and to the one behind, as the judge's.
It has neither doorbell nor offset, which an evaluation has on top. "Each with itself" is one process's calls among themselves.
"""

import argparse
import gc
import itertools
import os
import random
import statistics
import subprocess
import sys
import time
import traceback

from common import BINARY, problem_files

TREE = BINARY.resolve().parent.parent
WORDS = {"plain", "confine", "pool", "own", "cupti", "forked"}
KINDS = "plain:4,pool:4,own:4,confine+pool:4,forked:4"
PROBLEMS = "1/36@small,2/40@small,3/43@small,3/9@standard,3/15@standard"


def serve(kind, files, warm, requests, answers):
    """A process of one kind: for each line with a problem's name it makes a call and writes its us."""
    sys.path.insert(0, str(TREE / "share/kernelbench/python"))
    import ctypes

    import torch
    from kernelbench_torch import device_facts, output_arena, problem, runner_library
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    problem.settle_math()
    gc.freeze()
    library = runner_library.load(TREE / "libexec/kernelbench/libkernelbench_runner.so")
    cupti = device_facts.find_cupti()
    modules = {name: problem.load_module(path, size) for name, (path, size) in files.items()}
    arena = output_arena.GpuArena(library) if "pool" in kind else None
    if "confine" in kind:
        devices = [f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")]
        writable = [*devices, "/tmp", "/dev/shm", "/dev/null", "/proc/self/task"]
        limits = {"memory_bytes": 1 << 40, "file_bytes": 1 << 30, "scratch": "/tmp", "readable": [], "writable": writable,
                  "without": [], "gpu": True, "programs": False, "sockets": True}
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
        arena.open(memory.data_ptr(), memory.numel(), [torch.empty(4, device="cuda")], 0)
        arena.leave()
    ready = {}
    for name, module in modules.items():
        torch.manual_seed(1)
        model = module.Model(*module.get_init_inputs()).cuda()
        with torch.device("cuda"):
            ready[name] = model, module.get_inputs()
    scratch = torch.ones(2 << 20)
    if arena:
        arena.enter()
    if "own" in kind:
        pool = torch.cuda.MemPool()
        torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool.id)
    answers.write("ready\n")
    answers.flush()
    for line in requests:
        model, inputs = ready[line.strip()]
        if not warm:
            scratch.sum()
        start = time.perf_counter_ns()
        problem.seed_generators(1, "cuda")
        outputs = model(*inputs)
        problem.synchronize()
        ns = time.perf_counter_ns() - start
        del outputs
        answers.write(f"{ns / 1e3}\n")
        answers.flush()


class Server:
    """A process of one kind and the pipes to it. `others`: those that a forked one must not hold the pipes of."""

    def __init__(self, kind, arguments, files, others):
        self.kind = kind
        if "forked" in kind.split("+"):
            import torch  # noqa: F401 (once: what is forked shares it)
            theirs, self.to = os.pipe()
            self.back, answers = os.pipe()
            self.pid = os.fork()
            if not self.pid:
                os.close(self.to), os.close(self.back)
                for other in others:
                    other.to.close(), other.back.close()
                try:
                    serve(kind.split("+"), files, arguments.warm, os.fdopen(theirs), os.fdopen(answers, "w"))
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            os.close(theirs), os.close(answers)
            self.to, self.back = os.fdopen(self.to, "w"), os.fdopen(self.back)
        else:
            self.process = subprocess.Popen([sys.executable, *sys.argv, "--serve", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.pid, self.to, self.back = self.process.pid, self.process.stdin, self.process.stdout

    def ask(self, name):
        self.to.write(f"{name}\n")
        self.to.flush()
        answer = self.back.readline()
        if not answer:
            raise SystemExit(f"a process of kind {self.kind} ended")
        return float(answer)


def measure(servers, name, turns):
    """Each server's median ratio to the other plain ones, and the plain ones' median us."""
    plain = [number for number, server in enumerate(servers) if server.kind == "plain"]

    def ratio(number, us):
        return us[number] / statistics.median(us[other] for other in plain if other != number)
    for _ in range(4):
        for server in servers:
            server.ask(name)
    rows = []
    for _ in range(turns):
        us = [0.0] * len(servers)
        for number in random.sample(range(len(servers)), len(servers)):
            us[number] = servers[number].ask(name)
        rows.append(us)
    ratios = [statistics.median(ratio(number, us) for us in rows) for number in range(len(servers))]
    return ratios, statistics.median(us[number] for us in rows for number in plain)


def pair_ratio(one, other, name, rounds):
    """The ratio of one process to another that takes turns with it, and the other's median us."""
    before = other.ask(name)
    ratios, others = [], [before]
    for _ in range(rounds):
        between, behind = one.ask(name), other.ask(name)
        ratios += [between / before, between / behind]
        others.append(behind)
        before = behind
    return statistics.median(ratios), statistics.median(others)


def print_pairs(servers, kinds, names, rounds):
    """How far from 1 the ratios of pairs are, in the median and at most, and how many are within 0.3%: first of processes with themselves."""
    members = {kind: [server for server in servers if server.kind == kind] for kind in kinds}
    pairs = {"each with itself": [(server, server) for server in servers]}
    pairs |= {kind: list(itertools.combinations(members[kind], 2)) for kind in kinds}
    print(f"\n| problem | {' | '.join(f'{kind}: us, median, largest, within 0.3%' for kind in pairs)} |\n|---|{'---|' * len(pairs)}")
    for name in names:
        cells = []
        for two in pairs.values():
            told = [pair_ratio(one, other, name, rounds) for one, other in two]
            distances = [abs(ratio - 1) for ratio, _ in told]
            us, near = statistics.median(us for _, us in told), sum(distance <= 0.003 for distance in distances)
            cells.append(f"{us:.0f}, {statistics.median(distances):.2%}, {max(distances):.2%}, {near} of {len(two)}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--kinds", default=KINDS, help="two or more of each, plain ones among them")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=0, metavar="ROUNDS")
    parser.add_argument("--warm", action="store_true", help="leave the core's caches as the last process left them")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    paths = problem_files()
    files = {name: (paths[name], size) for name, _, size in (entry.partition("@") for entry in arguments.problems.split(","))}
    if arguments.serve:
        return serve(arguments.serve.split("+"), files, arguments.warm, sys.stdin, sys.stdout)
    kinds = {kind: int(count or 2) for kind, _, count in (entry.partition(":") for entry in arguments.kinds.split(","))}
    unknown = {word for kind in kinds for word in kind.split("+")} - WORDS
    if unknown or "plain" not in kinds or min(kinds.values()) < 2:
        parser.error(f"--kinds: unknown {', '.join(sorted(unknown))}" if unknown else "--kinds needs plain ones, and two or more of each")
    servers = []
    for kind, count in kinds.items():
        for _ in range(count):
            servers.append(Server(kind, arguments, files, servers))
    if any(server.back.readline() != "ready\n" for server in servers):
        raise SystemExit("a process did not start")
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {arguments.core} or {arguments.core})
    for server in servers:  # its main thread, and from here: what is confined may not
        os.sched_setaffinity(server.pid, {arguments.core})
    print(f"| problem | plain us | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for name, (_, size) in files.items():
        ratios, us = measure(servers, name, arguments.turns)
        cells = []
        for kind in kinds:
            own = [ratio for ratio, server in zip(ratios, servers) if server.kind == kind]
            cells.append(f"{statistics.mean(own):.3f} ± {statistics.stdev(own):.3f} ({', '.join(f'{ratio:.3f}' for ratio in own)})")
        print(f"| {name} {size} | {us:.0f} | {' | '.join(cells)} |", flush=True)
    if arguments.pairs:
        print_pairs(servers, kinds, files, arguments.pairs)


if __name__ == "__main__":
    main()
