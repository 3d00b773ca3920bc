#!/usr/bin/env python3
"""How long each problem's reference takes in eager PyTorch, and how much memory it needs.

    bench/eager.py [--device cuda] [--size standard] [--budget SECONDS] [SELECTION ...]

The selection is that of `kernelbench problems list`. One warm-up, then the median of five calls, each waited for; peak memory is that of weights,
inputs and the call together (GPU only). What does not run is listed with its reason. With a budget, what is left when it is used up
is listed as not reached.
"""

import argparse
import datetime
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time

from common import BINARY, ROOT

sys.path.insert(0, str(ROOT / "python"))
import torch  # noqa: E402

from kernelbench_torch.problem import load_module, seed_generators  # noqa: E402


def selected(terms):
    done = subprocess.run([BINARY, "problems", "list", "--json", *terms], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def measure(row, size, device):
    """(milliseconds, peak bytes or None)"""
    module = load_module(row["file"], size)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with torch.no_grad(), torch.device(device):
        seed_generators(42, device)
        model = module.Model(*module.get_init_inputs()).to(device)
        inputs = module.get_inputs()
        times = []
        for _ in range(6):
            wait(device)
            start = time.perf_counter()
            model(*inputs)
            wait(device)
            times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[1:]), torch.cuda.max_memory_allocated() if device == "cuda" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("selection", nargs="*")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", default="standard")
    parser.add_argument("--budget", type=float, default=1e9)
    arguments = parser.parse_args()
    name = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or platform.machine()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    print(f"# Eager PyTorch, {arguments.size} size\n\n{name}, {os.cpu_count()} cores, torch {torch.__version__}; {datetime.date.today()}, "
          f"commit {commit or 'unknown'}\n\n| problem | ms | peak memory, GiB | |\n|---|---|---|---|")
    start, ran, rows = time.perf_counter(), 0, selected(arguments.selection)
    for row in rows:
        if time.perf_counter() - start > arguments.budget:
            print(f"| {row['name']} | | | not reached in {arguments.budget:.0f} s |", flush=True)
            continue
        try:
            ms, peak = measure(row, arguments.size, arguments.device)
            ran += 1
            print(f"| {row['name']} | {ms:.3g} | {'' if peak is None else f'{peak / 2**30:.2f}'} | {row['title']} |", flush=True)
        except Exception as error:
            print(f"| {row['name']} | | | {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''} |", flush=True)
        gc.collect()
        if arguments.device == "cuda":
            torch.cuda.empty_cache()
    print(f"\n{ran} of {len(rows)} ran")
    return 0 if ran == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
