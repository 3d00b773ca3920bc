#!/usr/bin/env python3
"""A/A: the reference as its own candidate. How often does the 95% interval, systematic floor included, contain 1?

    bench/aa.py [--runs 20] [--engines 1] [--protocol quick] [--problems 1/23,1/36@standard,...] [--size small] [--device cuda] [-- FLAG...]
    bench/aa.py --native [--runs 10] [--protocol quick]

A problem is a name or a file's path, and may name its own size behind an @. --engines N: by N commands one after the other, for where
an engine's processes and their memory lie is part of what a short call on a GPU takes. What follows -- is passed on to `kernelbench eval`:
a smaller --half-width shows what is left when more rounds have averaged chance out. Where a GPU's calls are too short for a speedup the ratio is
that of the samples, and there is no interval. --native: kernels of the examples on a GPU, each
against itself in other runners: by how much do two evaluations' times of one kernel differ?
"""

import argparse
import itertools
import statistics
import tempfile

from common import ROOT, evaluate, heading, problem_files, self_candidate

NATIVE = {"1/19@small": "tests/gpu/correct/1_19_relu.cu", "1/88": "examples/1_88_new_gelu/fused.cu",
          "1/95": "examples/1_95_cross_entropy/fused.cu", "1/40": "examples/1_40_layer_norm/fused.cu",
          "1/99": "examples/1_99_triplet/fused.cu", "1/89": "examples/1_89_cumsum/scan.cu",
          "1/36": "examples/1_36_rmsnorm/fused.cu"}


def ratio(result):
    """The speedup; where it is too short for one, the median of its samples."""
    return result["speedup"] or statistics.median(s["ratio"] for s in counted(result))


def counted(result):
    return [s for s in result["samples"] if s["scored"] and not s["void"]]


def median_us(result, side):
    return result[side] or statistics.median(s[side] for s in counted(result))


def against_itself(arguments):
    """Times of native kernels, each judged several times: their ratios for all pairs of evaluations."""
    rows, first = [], None
    for entry, path in NATIVE.items():
        name, _, size = entry.partition("@")
        results = evaluate(name, [ROOT / path] * arguments.runs, "--size", size or "standard", "--protocol", arguments.protocol, "--device", "cuda", *arguments.flags)
        first = first or results[0]
        wrong = [r for r in results if r["verdict"] != "correct"]
        if wrong:
            raise SystemExit(f"{path}: {wrong[0]['verdict']}: {wrong[0]['reason']}")
        us = [median_us(r, "candidate_us") for r in results]
        off = [abs(a / b - 1) for a, b in itertools.permutations(us, 2)]
        rows.append((path, size or "standard", statistics.median(us), min(us), max(us), statistics.median(off), statistics.median(r["offset_us"] for r in results)))
    print(heading(f"Native kernels against themselves on {first['device']}, protocol {arguments.protocol}, {arguments.runs} evaluations each", first))
    print("| kernel | size | median us | least | largest | ratio of two: median distance from 1 | offset us |")
    print("|---|---|---|---|---|---|---|")
    for path, size, us, least, largest, off, offset in rows:
        print(f"| {path} | {size} | {us:.1f} | {least:.1f} | {largest:.1f} | {100 * off:.2f}% | {offset:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="of each problem")
    parser.add_argument("--engines", type=int, default=1, help="commands that share the runs of each problem")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--size", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", default="0", help="cores for either side; 0: all")
    parser.add_argument("--problems", default="1/1,1/23,1/36,2/40,3/43")
    parser.add_argument("--native", action="store_true", help="kernels of the examples on a GPU, each against itself")
    parser.add_argument("flags", nargs="*", help="behind --: passed on to eval")
    arguments = parser.parse_args()
    if arguments.native:
        return against_itself(arguments)
    files = problem_files()
    rows, inside, total, first = [], 0, 0, None
    with tempfile.TemporaryDirectory() as directory:
        for entry in arguments.problems.split(","):
            name, _, size = entry.partition("@")
            candidate = self_candidate(files.get(name, name), directory)
            results = []
            for engine in range(arguments.engines):
                runs = len(range(engine, arguments.runs, arguments.engines))
                results += evaluate(name, [candidate] * runs, "--size", size or arguments.size, "--protocol", arguments.protocol,
                                    "--threads", arguments.threads, "--device", arguments.device, *arguments.flags)
            first = first or results[0]
            wrong = [r for r in results if r["verdict"] != "correct"]
            if wrong:
                raise SystemExit(f"{name}: {wrong[0]['verdict']}: {wrong[0]['reason']}")
            told = [r for r in results if r["speedup"]]
            hits = sum(low <= 1 <= high for low, high in (r["speedup_interval"] for r in told))
            speedups = [ratio(r) for r in results]
            half = [(r["speedup_interval"][1] - r["speedup_interval"][0]) / 2 for r in told]
            rows.append((entry, statistics.median(median_us(r, "baseline_us") for r in results), statistics.median(speedups),
                         statistics.median(abs(s - 1) for s in speedups), min(speedups), max(speedups),
                         statistics.median(len(counted(r)) for r in results), f"{statistics.median(half):.3f}" if told else "-",
                         f"{statistics.median(r['floor'] for r in told):.3f}" if told else "-", hits, len(told)))
            inside, total = inside + hits, total + len(told)
    protocol = " ".join([arguments.protocol, *arguments.flags])
    print(heading(f"A/A on {first['device']}, protocol {protocol}, size {arguments.size}", first))
    print("| problem | baseline us | median ratio | median distance from 1 | least | largest | rounds | half-width | systematic floor | interval contains 1 |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, us, median, distance, least, largest, rounds, half, floor, hits, told in rows:
        print(f"| {name} | {us:.0f} | {median:.4f} | {100 * distance:.2f}% | {least:.4f} | {largest:.4f} | {rounds:.0f} | {half} | {floor} | {hits} of {told} |")
    print(f"\nThe interval contains 1 in {inside} of {total} runs.")


if __name__ == "__main__":
    main()
