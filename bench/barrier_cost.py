#!/usr/bin/env python3
"""What a commit's barriers cost beside another's: a warm evaluation of a native candidate on the CPU, and a load_inline build.

    bench/barrier_cost.py --before OTHER_BINARY [--pairs 4]

The engines take turns. Warm: copies of one candidate that were built before, judged one after the other in one engine; of the last ten the
median time from one to the next. Build: the step `build` of a candidate with PyTorch's headers, the cache empty.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from common import BINARY, ROOT, heading

COPIES, COUNTED = 14, 10
NATIVE = ROOT / "examples" / "1_19_relu" / "plain.cpp"
INLINE = ROOT / "tests" / "honest" / "inline_parallel.py"


def evaluations(binary, cache, candidates):
    """(JSON, seconds since the one before) of each."""
    command = [binary, "eval", "1/19", *candidates, "--size", "small", "--protocol", "quick", "--json", "--no-store"]
    engine = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "KERNELBENCH_CACHE": str(cache)})
    told, last = [], time.monotonic()
    for line in engine.stdout:
        told.append((json.loads(line), time.monotonic() - last))
        last = time.monotonic()
    if engine.wait() != 0:
        raise SystemExit(f"{binary} ended with {engine.returncode}")
    return told


def warm_ms(binary, cache, directory):
    copies = []
    for number in range(COPIES):
        copies.append(pathlib.Path(directory) / f"copy{number}.cpp")
        copies[-1].write_text(NATIVE.read_text() + f"// {number}\n")
    if not any(cache.iterdir()):
        evaluations(binary, cache, copies)
    told = evaluations(binary, cache, copies)
    return 1e3 * statistics.median(seconds for _, seconds in told[-COUNTED:]), told[-1][0]


def build_s(binary, directory):
    cache = pathlib.Path(tempfile.mkdtemp(dir=directory))
    (result, _), = evaluations(binary, cache, [INLINE])
    return result["engine_us"]["build"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="BINARY")
    parser.add_argument("--pairs", type=int, default=4)
    arguments = parser.parse_args()
    engines = {"before": arguments.before, "after": BINARY}
    warm, builds = {name: [] for name in engines}, {name: [] for name in engines}
    with tempfile.TemporaryDirectory() as directory:
        caches = {name: pathlib.Path(directory) / name for name in engines}
        for cache in caches.values():
            cache.mkdir()
        for _ in range(arguments.pairs):
            for name, binary in engines.items():
                took, result = warm_ms(binary, caches[name], directory)
                warm[name].append(took)
                builds[name].append(build_s(binary, directory))
    print(heading(f"What barriers cost: {arguments.before} and {BINARY}", result))
    print("| | before | after | medians' ratio |\n|---|---|---|---|")
    for title, figures, digits in (("warm evaluation, ms", warm, 0), ("load_inline build, s", builds, 1)):
        listed = [", ".join(f"{figure:.{digits}f}" for figure in figures[name]) for name in engines]
        print(f"| {title} | {listed[0]} | {listed[1]} | {statistics.median(figures['after']) / statistics.median(figures['before']):.2f} |")


if __name__ == "__main__":
    main()
