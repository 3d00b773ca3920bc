#!/usr/bin/env python3
"""Fills a store with baselines, stage by stage, for so many seconds; the same command goes on where it ended.

    bench/baselines.py --device cuda --store FILE [--seconds 540] [--jobs N] [--size standard] [SELECTION=KIND ...]

A stage is a selection of `kernelbench baseline` and a kind: level3=compile-default. Without any: levels 3, 1 and 2 by what is compared most. Near the end
of its time a stage gets the signal of Ctrl-C, so that what was measured is stored. KERNELBENCH_BINARY names the program.

The last lines say for each stage how many of its problems are in the store, what each of those that were measured now took, and the geometric
mean of eager's median over the kind's, over all problems that have both and over those that are scored. With --report nothing is measured, and a row
for each problem follows (bench/results/baselines_gpu.md).
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time

from common import BINARY

STAGES = ("level3=compile-default", "level3=compile-max-autotune", "level3=eager", "level3=compile-reduce-overhead", "level1=eager",
          "level1=compile-default", "level2=eager", "level2=compile-default")
LAST_S = 25  # a stage that gets the signal has so long to end
LEAST_S = 20  # less is not worth a start


def lines(*arguments):
    done = subprocess.run([BINARY, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench/baselines.py: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Stored:
    """The newest median of each problem and kind, of the device and PyTorch that were measured on last."""

    def __init__(self, store, size):
        rows = [row for row in lines("baseline", "list", "--store", store, "--size", size) if row["origin"] == "measured"]
        rows.sort(key=lambda row: row["created"])
        where = [(row["device_info"]["name"], row["device_info"]["torch"]) for row in rows]
        self.where = where[-1] if where else None
        self.rows = {(row["problem"], row["kind"]): row for row, there in zip(rows, where) if there == self.where}
        self.us = {key: row["median_us"] for key, row in self.rows.items()}

    def count(self, problems, kind):
        return sum((problem, kind) in self.us for problem in problems)

    def mean(self, problems, kind):
        ratios = [self.us[problem, "eager"] / self.us[problem, kind] for problem in problems
                  if (problem, kind) in self.us and (problem, "eager") in self.us]
        return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} of {len(ratios)}" if ratios else "-"


def report(stored, stages, known):
    """A row for each problem of the stages, with a column for each kind."""
    kinds = list(dict.fromkeys(["eager", *(kind for _, kind in stages)]))
    print(f"\n| problem | {' | '.join(f'{kind} us' for kind in kinds)} | {' | '.join(kind for kind in kinds[1:])} |\n|{'---|' * 2 * len(kinds)}")
    for problem in dict.fromkeys(name for selection, _ in stages for name in known[selection][0]):
        rows = [stored.rows.get((problem, kind)) for kind in kinds]
        if not any(rows):
            continue
        times = [f"{row['median_us']:.0f} [{row['interval'][0]:.0f}, {row['interval'][1]:.0f}]" if row else "" for row in rows]
        ratios = [f"{rows[0]['median_us'] / row['median_us']:.2f}" if row and rows[0] else "" for row in rows[1:]]
        print(f"| {problem} | {' | '.join(times + ratios)} |")


def measure(selection, kind, options, seconds):
    """Seconds that it took; and what it said last, if it failed."""
    start = time.monotonic()
    command = [BINARY, "baseline", selection, "--kind", kind, "--device", options.device, "--store", options.store, "--size", options.size,
               "--jobs", str(options.jobs), "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            _, said = process.communicate(timeout=LAST_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, said = process.communicate()
    return time.monotonic() - start, said.strip() if process.returncode not in (0, 130) else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--store", required=True)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--size", default="standard")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("stages", nargs="*", default=STAGES, metavar="SELECTION=KIND")
    options = parser.parse_args()
    for stage in options.stages:
        if not all(stage.partition("=")):
            parser.error(f"{stage} is no stage: name a selection and a kind, as in level3=compile-default")
    if not os.access(BINARY, os.X_OK):
        parser.error(f"there is no program {BINARY}: build it, or set KERNELBENCH_BINARY")
    end = time.monotonic() + options.seconds
    stages, known = [stage.rpartition("=")[::2] for stage in options.stages], {}
    for selection, _ in stages:
        known[selection] = [[row["name"] for row in lines("problems", "list", selection, *scored)] for scored in ([], ["--scored"])]
    before = Stored(options.store, options.size)
    spent, failures = {}, []
    for selection, kind in [] if options.report else stages:
        if (left := end - time.monotonic() - LAST_S) < LEAST_S:
            break
        spent[selection, kind], said = measure(selection, kind, options, left)
        failures += [f"{selection} {kind}: {line}" for line in said.splitlines()]
    after = Stored(options.store, options.size)
    for failure in failures:
        print(failure)
    print(f"{', PyTorch '.join(after.where or ['nothing measured'])}, size {options.size}, {options.seconds - (end - time.monotonic()):.0f} s\n\n"
          f"| stage | in the store | now | s each | eager over it | scored |\n|---|---|---|---|---|---|")
    for selection, kind in stages:
        problems, scored = known[selection]
        count = after.count(problems, kind)
        new = count - (before.count(problems, kind) if before.where == after.where else 0)
        each = f"{spent[selection, kind] / new:.1f}" if new > 0 and (selection, kind) in spent else "-"
        means = ["-", "-"] if kind == "eager" else [after.mean(of, kind) for of in (problems, scored)]
        print(f"| {selection} {kind} | {count} of {len(problems)} | {new} | {each} | {' | '.join(means)} |")
    if options.report:
        report(after, stages, known)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
