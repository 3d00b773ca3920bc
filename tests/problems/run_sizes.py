#!/usr/bin/env python3
"""Builds every problem at its small and odd sizes and runs it once on the CPU, in fp32.

    run_sizes.py [NAME ...]     these problems (1/19, v3:4/1, modern:3), or all
    run_sizes.py --changed      those whose text changed since all were found well, and 32 others, drawn by the commit; all if
                                what loads them or counts their operations changed
    run_sizes.py --record       all; if all are well their texts count as unchanged from now on (checked.json)

A size whose forward would take longer than a second on two cores, by the operations that problems/index.json counts, is
built and not run; --all runs it. Checked: outputs are tensors, finite, and of the shapes of the index; one that may
count for a score depends on its inputs.

Exit status: 0 if all is well, 1 if a problem is not, 2 if a named one does not exist.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import time
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scripts")]

from kernelbench_torch import trees  # noqa: E402
from kernelbench_torch.problem import load_module, seed_generators  # noqa: E402
from problem_index import digest, problem_files  # noqa: E402

FLOPS_IN_A_SECOND = 2e10  # modest for two cores, since most problems reach more
SIZES = ("small", "odd")
CHECKED = pathlib.Path(__file__).parent / "checked.json"  # digests of what was well when all problems were run
FOR_ALL = ("python/kernelbench_torch/problem.py", "python/kernelbench_torch/trees.py", "scripts/problem_index.py")
OTHERS = 32


def tensors_of(value):
    tensors = []
    trees.flatten(value, tensors, "the output")
    return [torch.tensor(value)] if isinstance(value, (bool, int, float)) else tensors


def answer(module, model, seed):
    seed_generators(seed, "cpu")
    inputs = module.get_inputs()
    seed_generators(1, "cpu")
    return tensors_of(model(*inputs))


def complaints(name, path, size, figures, run):
    """What is wrong with one size, and whether it was run."""
    module = load_module(path, size)
    seed_generators(42, "cpu")
    model = module.Model(*module.get_init_inputs())
    if not run:
        module.get_inputs()
        return [], False
    first, other = answer(module, model, 1), answer(module, model, 2)
    wrong = []
    if not first:
        wrong.append("forward returns no tensor")
    if sum(t.numel() * t.element_size() for t in first) != figures["output_bytes"]:
        wrong.append("outputs are not as large as problems/index.json says")
    if any(t.is_floating_point() and not t.isfinite().all() for t in first):
        wrong.append("an output is not finite")
    if not hasattr(module, "UNSCORED") and all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(first, other)):
        wrong.append("the output does not depend on the inputs")
    return wrong, True


def check(name, path, index, everything):
    """Lines of complaints, and how many sizes were built and run."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    lines, built, ran = [], 0, 0
    for size in SIZES:
        figures = index.get(name, {}).get("sizes", {}).get(size)
        if figures is None:
            if size == "small":
                lines.append(f"{name}: no small size in problems/index.json")
            continue
        start = time.perf_counter()
        try:
            wrong, was_run = complaints(name, path, size, figures, everything or figures["flops"] < FLOPS_IN_A_SECOND)
        except Exception as error:
            wrong, was_run = [f"{type(error).__name__}: {error}"], False
        built, ran = built + 1, ran + was_run
        lines += [f"{name} ({size}, {time.perf_counter() - start:.1f} s): {text}" for text in wrong]
    return lines, built, ran


def digests(files, index):
    """Of what loads all problems, and of each problem's text and figures."""
    shared = {name: digest(ROOT / name) for name in FOR_ALL}
    figures = {name: json.dumps(index.get(name)).encode() for name in files}
    return shared | {name: hashlib.sha256(path.read_bytes() + figures[name]).hexdigest() for name, path in files.items()}


def commit():
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else "no commit"


def changed(files, index):
    """Names of the problems to run, those that changed first."""
    now, checked = digests(files, index), json.loads(CHECKED.read_text()) if CHECKED.exists() else {}
    if any(checked.get(name) != now[name] for name in FOR_ALL):
        return list(files)
    stale = [name for name in files if checked.get(name) != now[name]]
    same = [name for name in files if name not in stale]
    return stale + random.Random(commit()).sample(same, min(OTHERS, len(same)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    if sum([bool(arguments.names), arguments.changed, arguments.record]) > 1:
        parser.error("give names, --changed or --record")
    files = problem_files()
    unknown = [name for name in arguments.names if name not in files]
    if unknown:
        print(f"no such problem: {', '.join(unknown)}")
        return 2
    index = json.loads((ROOT / "problems" / "index.json").read_text())
    chosen = {name: files[name] for name in arguments.names or (changed(files, index) if arguments.changed else files)}
    wrong = built = ran = 0
    with concurrent.futures.ProcessPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(check, name, path, index, arguments.all) for name, path in chosen.items()]
        for job in jobs:
            lines, more_built, more_ran = job.result()
            wrong, built, ran = wrong + len(lines), built + more_built, ran + more_ran
            for line in lines:
                print(line, flush=True)
    print(f"{len(chosen)} problems: {built} sizes built, {ran} run, {wrong} complaints")
    if arguments.record and not wrong:
        CHECKED.write_text(json.dumps(digests(files, index), indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
