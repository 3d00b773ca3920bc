#!/usr/bin/env python3
"""A/A: the reference as its own candidate. How often does the 95% interval, systematic floor included, contain 1?

    bench/aa.py [--runs 20] [--protocol quick] [--problems 1/23,1/36@standard,...] [--size small] [--device cuda]

A problem may name its own size behind an @.
"""

import argparse
import statistics
import tempfile

from common import evaluate, heading, problem_files, self_candidate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="of each problem")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--size", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", default="0", help="cores for either side; 0: all")
    parser.add_argument("--problems", default="1/1,1/23,1/36,2/40,3/43")
    arguments = parser.parse_args()
    files = problem_files()
    rows, inside, total, first = [], 0, 0, None
    with tempfile.TemporaryDirectory() as directory:
        for entry in arguments.problems.split(","):
            name, _, size = entry.partition("@")
            candidate = self_candidate(files[name], directory)
            results = evaluate(name, [candidate] * arguments.runs, "--size", size or arguments.size, "--protocol", arguments.protocol,
                               "--threads", arguments.threads, "--device", arguments.device)
            first = first or results[0]
            wrong = [r for r in results if r["verdict"] != "correct"]
            if wrong:
                raise SystemExit(f"{name}: {wrong[0]['verdict']}: {wrong[0]['reason']}")
            hits = sum(low <= 1 <= high for low, high in (r["speedup_interval"] for r in results))
            speedups = [r["speedup"] for r in results]
            rows.append((entry, statistics.median(r["baseline_us"] for r in results), statistics.median(speedups),
                         min(speedups), max(speedups), statistics.median(r["rounds"] for r in results),
                         statistics.median((r["speedup_interval"][1] - r["speedup_interval"][0]) / 2 for r in results), hits))
            inside, total = inside + hits, total + len(results)
    print(heading(f"A/A on {first['device']}, protocol {arguments.protocol}, size {arguments.size}", first))
    print("| problem | baseline us | median ratio | least | largest | rounds | half-width | interval contains 1 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, us, median, least, largest, rounds, half, hits in rows:
        print(f"| {name} | {us:.0f} | {median:.4f} | {least:.4f} | {largest:.4f} | {rounds:.0f} | {half:.3f} | {hits} of {arguments.runs} |")
    print(f"\nThe interval contains 1 in {inside} of {total} runs. Systematic floor: {first['floor']:.3f}.")


if __name__ == "__main__":
    main()
