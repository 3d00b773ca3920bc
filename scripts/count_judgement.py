#!/usr/bin/env python3
"""Counts what decides a verdict: how large the path of judgement is.

    scripts/count_judgement.py

Constants are named numbers where rounds are made and concluded, in the calibration and in what calls a process. docs/reference/constants.md
gives the reason of each; one that is missing there is an error. Keys are those of a protocol, notes the codes of base/note.cc and the
words that belong to them, reasons what makes a round void.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("rule", "round", "trial", "services", "stats")
FILES = ("judge/protocol/protocol.h", "device/process_link.cc", "device/session.cc", "device/wait_watch.cc", "device/cuda/hold_times.h")
UNITS = ("kGib",)  # no choice of ours


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / "src/judge" / folder).glob("*")):
            if path.suffix in (".cc", ".h") and not path.stem.endswith("_test"):
                yield path
    for name in FILES:
        yield ROOT / "src" / name


def constants():
    """By file, the names of its constants with their values."""
    found = {}
    for path in sources():
        text = path.read_text()
        for line in re.findall(r"constexpr (?:size_t|int|int64_t|uint64_t|double|auto) ([^;]*);", text):
            for name, value in re.findall(r"(k\w+) = ([^,;]*)", line):
                if re.search(r"[1-9]", value) and name not in UNITS:
                    found.setdefault(path.relative_to(ROOT).as_posix(), []).append((name, value.strip()))
    calibration = (ROOT / "src/judge/rule/calibration.h").read_text()
    for line in re.findall(r"^  double ([^;]*);", calibration, re.M):
        found.setdefault("src/judge/rule/calibration.h", []).extend((n, v) for n, v in re.findall(r"(\w+) = ([\d.]+)", line) if re.search("[1-9]", v))
    return found


def main():
    found = constants()
    protocol = (ROOT / "src/judge/protocol/protocol.cc").read_text()
    notes = re.findall(r'\{"(\w+)", "(\w+)"\}', (ROOT / "src/base/note.cc").read_text())
    reasons = re.findall(r'return "([^"]+)";', (ROOT / "src/judge/rule/void_rounds.cc").read_text())
    lines = sum(len(path.read_text().splitlines()) for path in sources())
    print(f"constants     {sum(map(len, found.values()))}")
    for path, names in found.items():
        print(f"  {path}: {', '.join(f'{name} {value}' for name, value in names)}")
    print(f"protocol keys {len(re.findall('&Protocol::', protocol))}")
    print(f"notes         {len({code for _, code in notes} | {'problem'})} codes for {len(notes)} words beside those of problems")
    print(f"void rounds   {len(set(reasons))} reasons")
    print(f"lines         {lines} in src/judge/{{{','.join(FOLDERS)}}} and {', '.join(FILES)}")
    table = (ROOT / "docs/reference/constants.md").read_text()
    missing = [f"{path}: {name}" for path, names in found.items() for name, _ in names if f"`{name}`" not in table]
    told = [name for name in re.findall(r"^\| `(\w+)`", table, re.M) if not any(name == each for names in found.values() for each, _ in names)]
    for name in missing:
        print(f"not in docs/reference/constants.md: {name}")
    for name in told:
        print(f"in docs/reference/constants.md and nowhere else: {name}")
    return 1 if missing or told else 0


if __name__ == "__main__":
    sys.exit(main())
