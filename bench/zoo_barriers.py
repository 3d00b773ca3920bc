#!/usr/bin/env python3
"""The hostile zoo with each barrier taken away in turn: which programs then get what they must not get?

    bench/zoo_barriers.py [--binary B] [--barriers a,b,...] [--only REGEX]

About two minutes a barrier once everything is built. Prints Markdown.

mount-namespace is left out unless it is named: without it the programs do to this machine what they can (they fill /tmp, and plant modules where
Python looks for them). bench/overlay.sh gives them a copy that ends with the command.
"""

import argparse
import contextlib
import io
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
import zoo  # noqa: E402


def barriers():
    text = (ROOT / "src" / "base" / "barriers.h").read_text()
    return re.findall(r'^    \{"([a-z-]+)",', text, re.MULTILINE)


def differing(binary, entries, flags):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        rows = zoo.run(binary, entries, flags)
    return {row["file"]: row for row in rows if not row["as_expected"]}


def shown(row):
    speedup = f" {row['speedup']:.2f}" if row["speedup"] else ""
    return f"{row['file']} ({row['exploit']}): {row['verdict']}{speedup}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--barriers", default=",".join(name for name in barriers() if name != "mount-namespace"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    binary = zoo.find_binary(arguments.binary)
    entries = [entry for entry in zoo.read_expectations("hostile") if re.search(arguments.only, entry["file"])]
    version = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    print(f"# The hostile zoo without each barrier\n\n{len(entries)} programs, protocol quick with 5 or 10 rounds, no static "
          f"analysis; {time.strftime('%Y-%m-%d')}, commit {version}\n\n| without | get what they must not | programs |\n|---|---|---|", flush=True)
    for barrier in ["(nothing)", *arguments.barriers.split(",")]:
        flags = [] if barrier == "(nothing)" else ["--without", barrier]
        rows = differing(binary, entries, flags)
        print(f"| {barrier} | {len(rows)} of {len(entries)} | {'<br>'.join(shown(row) for row in rows.values()) or '-'} |", flush=True)


if __name__ == "__main__":
    main()
