#!/usr/bin/env python3
"""How long does a load_inline candidate take to build, by PyTorch itself and by the engine, both cold?

    bench/inline_build.py [--candidate tests/gpu/correct/1_19_relu_inline.py] [--problem 1/19] [--device cuda] [--runs 2]

PyTorch: a fresh process imports the candidate with an empty TORCH_EXTENSIONS_DIR, less what importing torch takes. The engine: step `build` of an
evaluation whose cache is empty, and of two more of the same flags: without a device part the engine precompiles PyTorch's header for the second,
and the third finds it.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from common import ROOT, evaluate, heading

PYTHON = os.environ.get("KERNELBENCH_PYTHON", sys.executable)


def seconds(code, **environment):
    start = time.monotonic()
    done = subprocess.run([PYTHON, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return time.monotonic() - start


def by_torch(candidate):
    """Seconds that PyTorch takes beyond importing torch and its extension builder."""
    imports = "import torch, torch.nn, torch.utils.cpp_extension\n"
    with tempfile.TemporaryDirectory() as directory:
        whole = seconds(imports + candidate.read_text(), TORCH_EXTENSIONS_DIR=directory)
    return whole - seconds(imports)


def by_engine(problem, candidate, arguments, cache):
    """(seconds of the step build, the evaluation)"""
    os.environ["KERNELBENCH_CACHE"] = str(cache)
    result = evaluate(problem, [candidate], "--size", "small", "--protocol", "quick", "--device", arguments.device)[0]
    if result["verdict"] != "correct":
        raise SystemExit(f"{candidate}: {result['verdict']}: {result['reason']}")
    return result["engine_us"]["build"] / 1e6, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidate", default="tests/gpu/correct/1_19_relu_inline.py")
    parser.add_argument("--problem", default="1/19")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args()
    candidate = ROOT / arguments.candidate
    for run in range(arguments.runs):
        with tempfile.TemporaryDirectory() as directory:
            first, result = by_engine(arguments.problem, candidate, arguments, directory)
            again = []
            for turn in range(2):
                other = pathlib.Path(directory) / f"again{turn}{candidate.suffix}"
                # A name of its own, so that nothing but a header is found in the cache.
                other.write_text(candidate.read_text().replace('name="', f'name="again{turn}{run}_', 1) + f"\n# {run}\n")
                again.append(by_engine(arguments.problem, other, arguments, directory)[0])
        if run == 0:
            print(heading(f"Building {arguments.candidate}", result))
            print(f"{os.cpu_count()} cores\n\n| engine, cache empty, s | second of these flags, s | third, s | PyTorch, s | of PyTorch's |\n|---|---|---|---|---|")
        print(f"| {first:.1f} | {again[0]:.1f} | {again[1]:.1f} ", end="", flush=True)
        torch_s = by_torch(candidate)
        print(f"| {torch_s:.1f} | {', '.join(f'{s / torch_s:.2f}' for s in (first, *again))} |", flush=True)


if __name__ == "__main__":
    main()
