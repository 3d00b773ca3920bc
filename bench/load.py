#!/usr/bin/env python3
"""Does other load make the judge say wrong numbers?

    bench/load.py [--device cuda] [--times 5] [--cached] [--bounded wrong] [--only REGEX] [--directory DIR]

Judges 24 right candidates of known ratio, whose baselines take from 5 us to 50 ms, each time in one `kernelbench run --protocol quick`:

    quiet     with nothing beside
    spinning  beside as many spinning processes as there are cores
    building  in a run with --builds (24) further candidates mixed among them, each with a cold load_inline build; --cached: built before

--times is how often, in turn: of each, or as QUIET,SPINNING,BUILDING (3,3,1). All other builds are made before.

Prints what each candidate was given, in bold where the interval is disjoint from all of the quiet machine, and a summary. That also tells
of modules which intervals cannot be: they are PyTorch's own operations, more of them or fewer than the reference's.

Exit status 1 where a right candidate is not judged correct; where more than 5 of 100 intervals under load are disjoint; and where, in the
runs that build, of evaluations whose baseline takes 0.3 ms or more fewer than 80% have a speedup, or fewer than half of those one within
10% of the quiet machine's median. --bounded wrong, for a CPU: the last two are told and bound nothing.

--directory keeps what was judged, and the same command goes on where it was interrupted.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from common import BINARY, heading
from load_candidates import build_rows, write_candidates

CONDITIONS = ("quiet", "spinning", "building")
MOST_WRONG, LEAST_TOLD, LEAST_NEAR = 0.05, 0.8, 0.5
LONG_US, NEAR = 300, 0.1
FURTHER = 1000  # samples from this number on are the further candidates
# Ends by itself where whoever started it could not end it.
SPINNER = """import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1000000): pass
"""


@contextlib.contextmanager
def spinning(count):
    processes = []
    try:
        for _ in range(count):
            processes.append(subprocess.Popen([sys.executable, "-c", SPINNER, str(os.getpid())], process_group=0))
        yield
        if any(process.poll() is not None for process in processes):
            sys.exit("a spinning process has ended")
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def whole_lines(record):
    """What it has, less a last line that is being written, or whose writer was killed."""
    return record.read_text().rpartition("\n")[0].splitlines() if record.exists() else []


def lines_of(record):
    return [json.loads(line) for line in whole_lines(record)]


def ended(record):
    lines = lines_of(record)
    return bool(lines) and lines[-1].get("open") == 0


def wait(run, record, name, expected):
    """Until it has ended. Whatever ends this script has the run end well, which keeps what it has judged."""
    start = time.monotonic()
    try:
        while run.poll() is None:
            try:
                run.wait(20)
            except subprocess.TimeoutExpired:
                judged = {line["sample"] for line in lines_of(record) if "sample" in line}
                print(f"{name}: {len(judged)} of {expected} after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
            run.wait()


def judge(arguments, directory, name, rows, *flags):
    """Judges them, unless that was done before. What an interrupted call judged is in the lines of the call before."""
    record, spent, manifest = (directory / f"{name}.{kind}" for kind in ("jsonl", "seconds", "manifest.jsonl"))
    wanted = "".join(json.dumps(row) + "\n" for row in rows)
    if ended(record) and manifest.read_text() == wanted:
        return
    manifest.write_text(wanted)
    record.write_text("".join(line + "\n" for line in whole_lines(record)))
    command = [BINARY, "run", manifest, "--name", name, "--protocol", "quick", "--devices", arguments.device, "--json", "--quiet",
               "--store", directory / f"{name}.db", *flags]
    print(f"{name}: {len(rows)} candidates", file=sys.stderr, flush=True)
    before, start = float(spent.read_text()) if spent.exists() else 0.0, time.monotonic()
    environment = {**os.environ, "KERNELBENCH_CACHE": str(directory / "cache")}
    try:
        with record.open("a") as kept:
            run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=kept, env=environment, process_group=0)
            wait(run, record, name, len(rows))
    finally:
        spent.write_text(str(before + time.monotonic() - start))
    if not ended(record):
        sys.exit(f"{name}: exit status {run.returncode}; with --directory the same command goes on")


def mixed(rows, further):
    """The further ones spread evenly among the rows."""
    places = [(place / len(some), row) for some in (rows, further) for place, row in enumerate(some)]
    return [row for _, row in sorted(places, key=lambda placed: placed[0])]


def judge_all(arguments, directory, rows):
    """The names of the runs, in their order."""
    kind, turns = arguments.device.split(":")[0], dict(zip(CONDITIONS, arguments.times))
    further = {turn: build_rows(kind, directory, FURTHER * (1 if arguments.cached else turn), arguments.builds)
               for turn in range(1, turns["building"] + 1)}
    before = rows + (further.get(1, []) if arguments.cached else [])
    judge(arguments, directory, "before", before, "--measure", "false", "--profile-ms", "0")
    names = [(condition, turn) for turn in range(1, max(arguments.times) + 1) for condition in CONDITIONS if turn <= turns[condition]]
    for condition, turn in names:
        with spinning(len(os.sched_getaffinity(0)) if condition == "spinning" else 0):
            judge(arguments, directory, f"{condition} {turn}", mixed(rows, further[turn]) if condition == "building" else rows)
    return [f"{condition} {turn}" for condition, turn in names]


def union(intervals):
    """The intervals, those that touch joined to one."""
    joined = []
    for low, high in sorted(intervals):
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    return joined


def disjoint(interval, joined):
    return all(interval[1] < low or high < interval[0] for low, high in joined)


def why_not(evaluation):
    """Why it has no speedup, in a word."""
    if "verdict" not in evaluation:
        return "not_judged"
    return evaluation["no_speedup"] if evaluation["verdict"] == "correct" else evaluation["verdict"]


def span(interval):
    return "[{:.3g}, {:.3g}]".format(*interval)


def told_of(evaluation):
    return f"{evaluation['speedup']:.3g} {span(evaluation['speedup_interval'])}"


class Candidate:
    """What one candidate was given in every run."""

    def __init__(self, name, possible, evaluations):
        self.name, self.possible = name, possible  # the least and the largest ratio that it can have, None where that is not known
        self.evaluations = evaluations  # by name of the run
        quiet = [e for run, e in evaluations.items() if run.startswith("quiet") and e.get("speedup")]
        self.union = union(e["speedup_interval"] for e in quiet)
        self.speedup = statistics.median(e["speedup"] for e in quiet) if quiet else None
        self.baseline_us = self.baseline()

    def baseline(self):
        """On the quiet machine; where no evaluation there says so, the quickest of any round."""
        quiet = [e["baseline_us"] for run, e in self.evaluations.items() if run.startswith("quiet") and e.get("baseline_us")]
        rounds = [sample["baseline_us"] for e in self.evaluations.values() for sample in e.get("samples", []) if sample["baseline_us"]]
        return statistics.median(quiet) if quiet else min(rounds, default=0.0)

    def of(self, condition):
        return [(run, evaluation) for run, evaluation in self.evaluations.items() if run.startswith(condition)]

    def wrong(self, evaluation):
        return bool(self.union and evaluation.get("speedup")) and disjoint(evaluation["speedup_interval"], self.union)

    def impossible(self, evaluation):
        return bool(self.possible and evaluation.get("speedup")) and disjoint(evaluation["speedup_interval"], [self.possible])

    def near(self, evaluation):
        return self.speedup is not None and abs(evaluation["speedup"] / self.speedup - 1) <= NEAR

    def cell(self, condition):
        told = []
        for _, evaluation in self.of(condition):
            text = told_of(evaluation) if evaluation.get("speedup") else why_not(evaluation)
            told.append(f"**{text}**" if self.wrong(evaluation) else text)
        return "; ".join(told) or "–"

    def row(self):
        quiet = f"{self.speedup:.3g} {' '.join(map(span, self.union))}" if self.union else self.cell("quiet")
        return f"| {self.name} | {self.baseline_us:.1f} | {quiet} | {self.cell('spinning')} | {self.cell('building')} |"


def percent(part, whole):
    return f"{part} of {whole}" + (f" ({100 * part / whole:.0f}%)" if whole else "")


def print_wrong(candidates):
    """(intervals under load, those that are disjoint from the quiet machine's)"""
    told = [(c, run, e) for c in candidates for condition in CONDITIONS[1:] for run, e in c.of(condition) if e.get("speedup")]
    compared = [(c, run, e) for c, run, e in told if c.union]
    wrong = [(c, run, e) for c, run, e in compared if c.wrong(e)]
    print(f"\nUnder load {percent(len(wrong), len(compared))} intervals are disjoint from the quiet machine's; at most 5% may be.", end="")
    print(f" {len(told) - len(compared)} more have none to be compared with." if len(told) > len(compared) else "")
    for condition in CONDITIONS[1:]:
        of = [c.wrong(e) for c, run, e in compared if run.startswith(condition)]
        print(f"- {condition}: {percent(sum(of), len(of))}")
    for candidate, run, evaluation in wrong:
        print_evaluation(candidate, run, evaluation)
    return len(compared), len(wrong)


def print_evaluation(candidate, run, evaluation):
    print(f"\n{run}, {candidate.name}: {told_of(evaluation)}, quiet {' '.join(map(span, candidate.union)) or 'none'}; baseline "
          f"{evaluation['baseline_us']:.1f} us, quiet {candidate.baseline_us:.1f}; {evaluation['rounds']} rounds")
    for note in evaluation["notes"]:
        if note["code"] != "static":
            print(f"- {note['text']}")


def print_impossible(candidates):
    """Intervals that no quiet machine is needed for: a module is PyTorch's own operations, more of them or fewer."""
    told = [(c, run, e) for c in candidates if c.possible for run, e in c.evaluations.items() if e.get("speedup")]
    wrong = [(c, run, e) for c, run, e in told if c.impossible(e)]
    print(f"\nOf modules, whose ratio is between 1 and what they were made for, {percent(len(wrong), len(told))} intervals of all runs "
          "are elsewhere.")
    for candidate, run, evaluation in wrong:
        print_evaluation(candidate, run, evaluation)


def print_long(candidates):
    """(evaluations of long baselines in runs that build, those with a speedup, those of these near the quiet machine's)"""
    long = [(c, e) for c in candidates for _, e in c.of("building") if c.baseline_us >= LONG_US]
    told = [(c, e) for c, e in long if e.get("speedup")]
    near = [c for c, e in told if c.near(e)]
    print(f"\nBuilding, baselines of 0.3 ms and more: {percent(len(told), len(long))} have a speedup, 80% are asked; of these "
          f"{percent(len(near), len(told))} are within 10% of the quiet machine's median, half are asked.")
    return len(long), len(told), len(near)


def print_further(evaluations):
    """What became of the further candidates, and whether their builds were cold."""
    builds = [e["engine_us"]["build"] / 1e6 for e in evaluations if e.get("engine_us", {}).get("build")]
    right = sum(e.get("verdict") == "correct" for e in evaluations)
    if evaluations:
        print(f"\nFurther candidates: {percent(right, len(evaluations))} correct; a build took {statistics.median(builds or [0]):.1f} s, "
              "by the median.")


def print_without(candidates, names):
    print("\n| run | seconds | with a speedup | without one, by reason |\n|---|---|---|---|")
    for name, seconds in names.items():
        evaluations = [c.evaluations[name] for c in candidates]
        reasons = collections.Counter(why_not(e) for e in evaluations if not e.get("speedup"))
        print(f"| {name} | {seconds:.1f} | {len(evaluations) - reasons.total()} of {len(evaluations)} | "
              f"{', '.join(f'{why} {count}' for why, count in reasons.most_common()) or '–'} |")


def report(arguments, directory, rows, names):
    """Whether all bounds hold."""
    lines = {name: lines_of(directory / f"{name}.jsonl") for name in names}
    by_sample = {name: {line["sample"]: line for line in lines[name] if "sample" in line} for name in names}
    candidates = [Candidate(name, row.get("possible"), {run: by_sample[run].get(row["sample"], {}) for run in names})
                  for name, row in rows.items()]
    judged = [e for c in candidates for e in c.evaluations.values() if "verdict" in e]
    if not judged:
        sys.exit("nothing was judged")
    quiet, beside, building = arguments.times
    builds = f"{arguments.builds} {'cached' if arguments.cached else 'cold'} builds"
    print(heading(f"Other load on {judged[0]['device']}, protocol quick, {len(rows)} candidates: {quiet} times quiet, "
                  f"{beside} beside spinning processes, {building} beside {builds}", judged[0]))
    print("A candidate's name ends with the ratio that it was made for.\n\n| candidate | baseline us | quiet: median, union of intervals |"
          " spinning | building |\n|---|---|---|---|---|")
    for candidate in candidates:
        print(candidate.row())
    intervals, wrong = print_wrong(candidates)
    print_impossible(candidates)
    long, told, near = print_long(candidates)
    print_without(candidates, {name: float((directory / f"{name}.seconds").read_text()) for name in names})
    own = {row["sample"]: name for name, row in rows.items()}
    print_further([e for name in names for sample, e in by_sample[name].items() if sample >= FURTHER])
    refused = [(name, own.get(sample, f"further {sample}"), e) for name in names for sample, e in by_sample[name].items()
               if e.get("verdict", "correct") != "correct"]
    for run, name, evaluation in refused:
        print(f"\n{run}, {name}: {evaluation['verdict']}: {evaluation['reason']}")
    enough = arguments.bounded == "wrong" or (told >= LEAST_TOLD * long and near >= LEAST_NEAR * told)
    return not refused and wrong <= MOST_WRONG * intervals and enough


def times_of(text):
    times = [int(number) for number in text.split(",")]
    if len(times) not in (1, 3) or times[0] < 1 or min(times) < 0:
        raise ValueError
    return times * (3 // len(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", type=times_of, default=[5, 5, 5], metavar="N or QUIET,SPINNING,BUILDING")
    parser.add_argument("--builds", type=int, default=24)
    parser.add_argument("--cached", action="store_true", help="the builds of the further candidates are made before")
    parser.add_argument("--bounded", choices=("all", "wrong"), default="all")
    parser.add_argument("--only", default="", metavar="REGEX", help="only candidates in whose name it is found")
    parser.add_argument("--directory", type=pathlib.Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="load.") as temporary:
        directory = (arguments.directory or pathlib.Path(temporary)).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        rows = write_candidates(arguments.device.split(":")[0], directory)
        rows = {name: row for name, row in rows.items() if re.search(arguments.only, name)}
        if not rows:
            sys.exit(f"no candidate's name has {arguments.only} in it")
        names = judge_all(arguments, directory, list(rows.values()))
        return 0 if report(arguments, directory, rows, names) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
