#!/usr/bin/env python3
"""Judges every program of the zoo and checks that each gets the verdict it must get.

    tests/zoo.py hostile                      programs that try to win without doing the work
    tests/zoo.py honest                       programs that look suspicious and are right
    tests/zoo.py all --alone no               those for which one core of a busy machine will do
    tests/zoo.py hostile --only native/2 --flag=--isolation=process    (with a barrier switched off)

What each program must get is in the expected.json files (tests/hostile/README.md). Programs that share size and flags
are one run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BUILDS = ("build/dev/bin/kernelbench", "build/release/bin/kernelbench")
RUN_TIMEOUT_S = 900


def find_binary(given: str | None) -> str:
    candidates = [given or os.environ.get("KERNELBENCH_BINARY")]
    if candidates == [None]:
        candidates = [str(ROOT / build) for build in BUILDS]
    for binary in candidates:
        if Path(binary).is_file():
            return binary
    sys.exit(f"zoo: no binary at {' or '.join(candidates)}; build one or give --binary")


def read_expectations(zoo: str) -> list[dict]:
    """All expectations of `zoo`. Stops if a program has none: it would be judged by nobody."""
    directory = TESTS / zoo
    expectations = []
    for path in sorted(directory.glob("**/expected.json")):
        expectations += json.loads(path.read_text())
    for expectation in expectations:
        expectation["zoo"] = zoo
        expectation["path"] = str(directory / expectation["file"])
    listed = {expectation["path"] for expectation in expectations}
    present = {str(path) for suffix in ("py", "cpp") for path in directory.glob(f"**/*.{suffix}")}
    if listed != present or len(listed) != len(expectations):
        sys.exit(f"zoo: {directory}: without expectation {sorted(present - listed)}, "
                 f"missing {sorted(listed - present)}, or listed twice")
    return expectations


def commands(binary: str, group: list[dict], flags: list[str], folder: Path) -> list[list[str]]:
    """What judges `group`: one run; an evaluation a problem where barriers are taken away, which no run allows."""
    first = group[0]
    rules = ["--size", first["size"], "--json", "--quiet", *first.get("flags", []), *flags]
    if not any(rule.startswith("--protocol") for rule in rules):
        rules.append("--protocol=quick")
    if first["zoo"] == "hostile":
        # What its text shows, and whose code it runs, are other tests'; here it must fail by itself.
        # Ten rounds at most: more only narrow the interval of a speedup that nobody gets.
        rules += ["--static", "off", "--profile-ms", "0"]
        if not any(rule.startswith("--round-checks") for rule in rules):
            rules += ["--round-checks", "5,10"]
    if "--without" in flags:
        problems = sorted({entry["problem"] for entry in group})
        return [[binary, "eval", problem, *(entry["path"] for entry in group if entry["problem"] == problem), "--no-store",
                 *rules] for problem in problems]
    (folder / "tests").symlink_to(TESTS)
    with (folder / "zoo.jsonl").open("w") as file:
        for sample, entry in enumerate(group):
            path = Path("tests") / Path(entry["path"]).relative_to(TESTS)
            file.write(json.dumps({"problem": entry["problem"], "path": str(path), "sample": sample}) + "\n")
    return [[binary, "run", str(folder / "zoo.jsonl"), "--store", str(folder / "store.sqlite"), *rules]]


def execute(command: list[str]) -> tuple[list[dict], str]:
    """The lines of JSON that `command` prints, and how it ended."""
    # A session of its own: what a program does to its process group or its terminal must not reach this script.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=ROOT, start_new_session=True)
    try:
        out, err = process.communicate(timeout=RUN_TIMEOUT_S)
        ended = f"the engine exited with {process.returncode}: {err.decode(errors='replace').strip()[-400:]}"
    except subprocess.TimeoutExpired:
        process.kill()  # its children die with it
        out, _ = process.communicate()
        ended = f"the engine hung for {RUN_TIMEOUT_S} s"
    finally:
        process.kill()
    return [json.loads(line) for line in out.decode(errors="replace").splitlines()], ended


def judge(binary: str, group: list[dict], flags: list[str]) -> dict[str, dict]:
    """Evaluations by path of the candidate; where there is none the verdict is "none", and the reason says why."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="zoo.") as folder:
        for command in commands(binary, group, flags, Path(folder)):
            lines, ended = execute(command)
            for line in lines:
                if "verdict" in line:
                    results[str(Path(line["candidate"]["path"]).resolve())] = line
                else:
                    ended = line["not_judged"]
    for entry in group:
        results.setdefault(entry["path"], {"verdict": "none", "reason": ended})
    return results


def difference(expected: dict, got: dict) -> str:
    """What was expected instead; empty if all is as expected."""
    verdicts = expected["verdict"]
    verdicts = [verdicts] if isinstance(verdicts, str) else verdicts
    reason = got.get("reason") or ""
    if got["verdict"] not in verdicts:
        return f"expected {' or '.join(verdicts)}: {reason}"
    if not re.search(expected.get("reason", ""), reason):
        return f"expected a reason like /{expected['reason']}/: {reason}"
    if got["verdict"] != "correct":
        return ""
    below, above = expected.get("speedup_below"), expected.get("speedup_above")
    interval, speedup = got.get("speedup_interval"), got.get("speedup")
    # A time too short to resolve is no gain, and no proof of one.
    if below is not None and interval and interval[0] >= below:
        return f"expected a speedup that is not surely above {below}"
    if above is not None and (speedup is None or speedup < above):
        return f"expected a speedup above {above}"
    return ""


def speedup_text(got: dict) -> str:
    if got.get("speedup") is None:
        return "-"
    low, high = got["speedup_interval"]
    return f"{got['speedup']:.2f} [{low:.2f}, {high:.2f}]"


def group_key(entry: dict) -> tuple:
    return (entry["zoo"], entry["size"], tuple(entry.get("flags", [])))


def is_timed(entry: dict) -> bool:
    return "speedup_below" in entry or "speedup_above" in entry


def wants_the_machine(entry: dict) -> bool:
    """It is timed, or it works while the judge does, for which it needs a core beside the judge's."""
    return is_timed(entry) or "parallel" in entry


def run(binary: str, entries: list[dict], flags: list[str]) -> list[dict]:
    """Judges `entries`, prints a line for each, returns the rows."""
    rows = []
    for key in sorted({group_key(entry) for entry in entries}):
        group = [entry for entry in entries if group_key(entry) == key]
        results = judge(binary, group, flags)
        for entry in group:
            got = results[entry["path"]]
            if got["verdict"] == "none" and len(group) > 1:  # whose fault was it?
                got = judge(binary, [entry], flags)[entry["path"]]
            different = difference(entry, got)
            if different and got["verdict"] == "correct" and is_timed(entry):
                # An interval of 95% is wrong once in twenty programs, so a time is judged once more before it counts.
                print(f"{entry['file']:46} judged again: {got['verdict']} {speedup_text(got)}: {different}", flush=True)
                got = judge(binary, [entry], flags)[entry["path"]]
                different = difference(entry, got)
            rows.append({"zoo": entry["zoo"], "file": entry["file"], "exploit": entry.get("exploit"),
                         "problem": entry["problem"], "size": entry["size"], "verdict": got["verdict"],
                         "reason": got.get("reason"), "speedup": got.get("speedup"),
                         "speedup_interval": got.get("speedup_interval"), "notes": got.get("notes"),
                         "as_expected": not different, "difference": different})
            verdict = f"NOT AS EXPECTED: {different}" if different else "ok"
            print(f"{entry['file']:46} {entry.get('exploit', ''):>4} {got['verdict']:15} {speedup_text(got):22}",
                  verdict, flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description="judge the zoo and check every verdict")
    parser.add_argument("zoo", choices=("hostile", "honest", "all"))
    parser.add_argument("--binary", help="the engine; default $KERNELBENCH_BINARY, then build/dev, then build/release")
    parser.add_argument("--only", default="", metavar="REGEX", help="only programs whose file name matches")
    parser.add_argument("--alone", choices=("yes", "no"),
                        help="only programs that are timed or work while the judge does, or only others")
    parser.add_argument("--few", action="store_true", help='without those that take long ("nightly" in expected.json)')
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="judge each so often")
    parser.add_argument("--flag", action="append", default=[], metavar="X", help="passed on to eval")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    args = parser.parse_args()
    binary = find_binary(args.binary)

    rows, totals = [], []
    for zoo in ("hostile", "honest") if args.zoo == "all" else (args.zoo,):
        entries = [entry for entry in read_expectations(zoo) if re.search(args.only, entry["file"])
                   and (args.alone is None or wants_the_machine(entry) == (args.alone == "yes"))
                   and not (args.few and entry.get("nightly"))]
        judged = [row for _ in range(args.repeat) for row in run(binary, entries, args.flag)]
        totals.append(f"{zoo} {sum(row['as_expected'] for row in judged)} of {len(judged)}")
        rows += judged
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    print(", ".join(totals))
    if not rows:
        sys.exit("zoo: nothing to judge")
    return 0 if all(row["as_expected"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
