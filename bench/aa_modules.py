#!/usr/bin/env python3
"""A/A of many modules: each reference once as its own candidate, all in one `kernelbench run`, as a user judges a whole run.

    bench/aa_modules.py [--problems kernelbench] [--size small] [--protocol strict] [--device cuda] [-- FLAG...]

FLAGs go to `kernelbench run`, such as --round-checks 10,14,20, which keeps 270 modules under seven minutes.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from common import BINARY, heading, problem_files, self_candidate


def judge(arguments, directory):
    """One JSON object for each module: an evaluation, or why there is none."""
    listed = subprocess.run([BINARY, "problems", "list", *arguments.problems.split(","), "--json"], stdout=subprocess.PIPE, text=True)
    if listed.returncode:
        raise SystemExit(listed.returncode)  # it has said why
    files, run = problem_files(), pathlib.Path(directory) / "self"
    run.mkdir()
    for name in (json.loads(line)["name"] for line in listed.stdout.splitlines()):
        level, number = name.split("/")
        self_candidate(files[name], run).rename(run / f"level_{level}_problem_{number}_sample_0_kernel.py")
    command = [BINARY, "run", run, "--devices", arguments.device, "--size", arguments.size, "--protocol", arguments.protocol,
               "--store", pathlib.Path(directory) / "store.db", "--json", *arguments.flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)  # progress is shown as it comes
    if not done.stdout:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    if keep := os.environ.get("KEEP_EVALUATIONS"):
        pathlib.Path(keep).write_text(done.stdout)
    return [told for told in map(json.loads, done.stdout.splitlines()) if not told.get("summary")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default="kernelbench", help="of levels 1 to 4, as `kernelbench problems list` takes them, with commas between")
    parser.add_argument("--size", default="small")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("flags", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        results = judge(arguments, directory)
    judged = [r for r in results if "verdict" in r]
    right = [r for r in judged if r["verdict"] == "correct"]
    untimed = [r["problem"] for r in right if r["speedup"] is None]
    if untimed:
        print(f"no speedup: {', '.join(untimed)}")
    right = [r for r in right if r["speedup"] is not None]
    if not right:
        raise SystemExit("none has a speedup")
    odd = [r for r in right if r["headline"] != "natural" or not r["speedup_interval"][0] <= 1 <= r["speedup_interval"][1]]
    notes = collections.Counter(note for r in judged for note in {n["text"].split(":")[0] for n in r["notes"]} - {"static"})  # a reference's text has those
    speedups = [r["speedup"] for r in right]
    print(heading(f"{len(results)} modules against themselves on {judged[0]['device']}, protocol {arguments.protocol}, size {arguments.size}", right[0]))
    print(f"{len(right)} with a speedup; the interval contains 1, of natural inputs, in {len(right) - len(odd)} of {len(right)}; speedups within 10% of 1 in "
          f"{sum(abs(s - 1) <= 0.1 for s in speedups)}, median {statistics.median(speedups):.3f}, least {min(speedups):.2f}, largest {max(speedups):.2f}\n")
    print("| note | modules |\n|---|---|")
    for note, count in notes.most_common():
        print(f"| {note} | {count} |")
    for result in results:
        if "verdict" not in result:
            print(f"\n{result['problem']}: {result.get('not_judged', 'not judged')}")
        elif result["verdict"] != "correct":
            print(f"\n{result['problem']}: {result['verdict']}: {result['reason']}")
    for result in odd:
        low, high = result["speedup_interval"]
        print(f"\n{result['problem']}: {result['speedup']:.2f} [{low:.2f}, {high:.2f}] on {result['headline']} inputs, baseline {result['baseline_us']:.0f} us")


if __name__ == "__main__":
    main()
