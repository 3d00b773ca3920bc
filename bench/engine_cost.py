#!/usr/bin/env python3
"""What the engine itself costs: everything but compiling, calls of the undisturbed baseline and the calls of rounds.

    bench/engine_cost.py [--count 12] [--problem 1/36 or 1/1] [--size small] [--protocol quick]

The candidates are equal but for a comment, so each is built and judged anew. The first evaluation of a command also starts the device
process and loads the problem; "further" is the median of the others.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from common import BINARY, ROOT, evaluate, heading

NOT_OURS = ("build", "calls")
NATIVE = {"1/36": "1_36_rmsnorm/fused.cpp", "1/1": "1_1_matmul/tiled.cpp"}
RMSNORM = '''import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(torch.mean(x * x, dim=1, keepdim=True) + self.eps)
'''

MATMUL = '''import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b)
'''
MODULES = {"1/36": RMSNORM, "1/1": MATMUL}


def own_us(evaluation):
    return sum(us for step, us in evaluation["engine_us"].items() if step not in NOT_OURS)


def copies(problem, kind, count, directory):
    text = MODULES[problem] if kind == "module" else (ROOT / "examples" / NATIVE[problem]).read_text()
    comment = "#" if kind == "module" else "//"
    paths = []
    for number in range(count):
        path = pathlib.Path(directory) / f"{kind}_{number}{'.py' if kind == 'module' else '.cpp'}"
        path.write_text(text + f"\n{comment} {number}\n")
        paths.append(path)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--problem", default="1/36", choices=sorted(NATIVE))
    parser.add_argument("--size", default="small")
    parser.add_argument("--protocol", default="quick")
    arguments = parser.parse_args()
    flags = ("--size", arguments.size, "--protocol", arguments.protocol)
    lines, first = [], None
    with tempfile.TemporaryDirectory() as directory:
        for kind in ("native", "module"):
            results = evaluate(arguments.problem, copies(arguments.problem, kind, arguments.count, directory), *flags)
            first = first or results[0]
            further = results[1:]
            median = statistics.median(own_us(r) for r in further) / 1e6
            rounds = statistics.median(len(r["samples"]) for r in further)
            lines.append(f"| {kind} | {median:.3f} | {max(own_us(r) for r in further) / 1e6:.3f} | {rounds:.0f} |")
            steps = {step: statistics.median(r["engine_us"].get(step, 0) for r in further) / 1e3 for step in further[0]["engine_us"]}
            lines.append("| | " + ", ".join(f"{step} {ms:.1f}" for step, ms in sorted(steps.items(), key=lambda s: -s[1]) if ms >= 0.05) + " (ms) | | |")
        import_torch = []
        for _ in range(3):
            start = time.monotonic()
            subprocess.run([python(), "-c", "import torch"], check=True)
            import_torch.append(time.monotonic() - start)
        cold = []
        for kind in ("native", "module"):
            start = time.monotonic()
            result, = evaluate(arguments.problem, copies(arguments.problem, kind, 1, directory), *flags)
            wall = time.monotonic() - start
            excluded = sum(result["engine_us"].get(step, 0) for step in NOT_OURS) / 1e6
            cold.append(f"| {kind} | {wall:.2f} | {excluded:.2f} | {min(import_torch):.2f} | {wall - excluded - min(import_torch):.2f} |")
    print(heading(f"Engine's own cost, {arguments.problem} {arguments.size}, protocol {arguments.protocol}", first))
    print(f"| further candidates, of {arguments.count} in one command | median s | largest s | rounds |\n|---|---|---|---|")
    print("\n".join(lines))
    print("\n| one candidate, cold | whole command s | building, baseline and candidate calls s | import torch s | rest s |\n|---|---|---|---|---|")
    print("\n".join(cold))


def python():
    own = ROOT / ".venv" / "bin" / "python"
    return os.environ.get("KERNELBENCH_PYTHON") or (str(own) if own.exists() else sys.executable)


if __name__ == "__main__":
    main()
