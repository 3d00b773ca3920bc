#!/usr/bin/env python3
"""Does a device wait for builds while it could judge?

    bench/cold_builds.py [--device cuda] [--modules 60] [--cold 20] [--cache DIR]

Judges modules of 1/19 with a load_inline of their own in one `kernelbench run --protocol quick`, of which --cold have to be built, in
their order spread among the others. Prints how long that took, how long the builds alone take (the same extensions in modules that
raise when they are made), how long the same evaluations take when all builds are in the cache, and what the device's time went into.
--cache is a build cache that is copied first: that of bench/fallback.py --directory DIR holds the 40 builds that are not cold here.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from common import BINARY
from fallback import source


def run(arguments, directory, cache, name, rows):
    """Seconds, and the run's summary."""
    manifest = pathlib.Path(directory) / f"{name}.jsonl"
    manifest.write_text("".join(json.dumps({"problem": "1/19", "sample": n, "code": code}) + "\n" for n, code in rows))
    command = [BINARY, "run", manifest, "--protocol", "quick", "--size", "small", "--devices", arguments.device, "--json", "--quiet",
               "--store", f"{directory}/{name}.db"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "KERNELBENCH_CACHE": str(cache)})
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{name}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    verdicts = [line["verdict"] for line in lines if "verdict" in line]
    return seconds, lines[-1], {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--modules", type=int, default=60)
    parser.add_argument("--cold", type=int, default=20)
    parser.add_argument("--cache", type=pathlib.Path)
    arguments = parser.parse_args()
    kind = arguments.device.split(":")[0]
    warm = iter(range(arguments.modules - arguments.cold))
    new = iter(range(arguments.modules - arguments.cold, arguments.modules))
    spread = set(range(0, arguments.modules, arguments.modules // arguments.cold)[:arguments.cold])
    order = [next(new) if place in spread else next(warm) for place in range(arguments.modules)]
    rows = [(number, source("compile", kind, number)) for number in order]
    cold = {number for number in order if number >= arguments.modules - arguments.cold}
    raises = [(number, code.replace("    def forward(self, x):", "    def __init__(self):\n        raise ValueError\n\n    def forward(self, x):"))
              for number, code in rows if number in cold]
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        if arguments.cache:
            shutil.copytree(arguments.cache, root / "cache")
        run(arguments, directory, root / "cache", "warm", [row for row in rows if row[0] not in cold])
        shutil.copytree(root / "cache", root / "other")
        builds, _, _ = run(arguments, directory, root / "other", "builds", raises)
        mixed, summary, verdicts = run(arguments, directory, root / "cache", "mixed", rows)
        cached, _, _ = run(arguments, directory, root / "cache", "cached", rows)
    longer = max(builds, cached)
    print(f"{arguments.modules} modules, {len(cold)} of them built: {mixed:.1f} s, {verdicts}")
    print(f"the builds alone {builds:.1f} s, the evaluations with cached builds {cached:.1f} s: {mixed / longer:.2f} times the longer")
    for device in summary["devices"]:
        print(json.dumps(device))


if __name__ == "__main__":
    main()
