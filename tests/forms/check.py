#!/usr/bin/env python3
"""Judges candidates for problems in the forms that people bring, in one run, and checks verdict, reason and note of each.

    tests/forms/check.py [--binary B] [--device cuda] [--protocol quick] [--only REGEX]
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from problems import KINDS

TOLD = ("state_copied", "other_weights", "draws_random", "build_fallback")  # notes that this test is about


def difference(result, verdict, reason, note):
    if result.get("verdict") != verdict:
        return f"expected {verdict}, got {result.get('verdict', result)}: {result.get('reason')}"
    if not re.search(reason, result["reason"]):
        return f"expected a reason like /{reason}/: {result['reason']}"
    notes = [n["text"] for n in result["notes"] if n["text"].startswith(TOLD)]
    if bool(note) != bool(notes) or not all(re.search(note, n) for n in notes):
        return f"expected a note like /{note}/: {notes}"
    return ""


def main():
    parser = argparse.ArgumentParser(description="judge candidates for problems in the forms that people bring")
    parser.add_argument("--binary", default=str(pathlib.Path(__file__).resolve().parents[2] / "build/dev/bin/kernelbench"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--only", default="", metavar="REGEX", help="kinds of forms; all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        level, expected, number = pathlib.Path(directory) / "problems" / "level1", {}, 0
        level.mkdir(parents=True)
        with open(f"{directory}/forms.jsonl", "w") as rows:
            for kind, problems in KINDS.items():
                if not re.search(given.only, kind):
                    continue
                for text, candidates in problems:
                    number += 1
                    (level / f"{number}_form.py").write_text(text)
                    for sample, (name, source, *answer) in enumerate(candidates):
                        files = source if isinstance(source, dict) else {"": source}
                        file = f"{number}_{sample}" + ("" if files is source else ".py")
                        expected[file] = f"{kind}: {name}", answer
                        for path, text in files.items():
                            place = pathlib.Path(directory, file, path)
                            place.parent.mkdir(parents=True, exist_ok=True)
                            place.write_text(text)
                        rows.write(json.dumps({"problem": f"1/{number}", "sample": sample, "path": file}) + "\n")
        command = [given.binary, "run", f"{directory}/forms.jsonl", "--problems", f"{directory}/problems", "--size", "standard",
                   "--protocol", given.protocol, "--devices", given.device, "--measure", "false", "--profile-ms", "0", "--json", "--quiet",
                   "--store", f"{directory}/store.sqlite"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    wrong = 0
    for line in map(json.loads, done.stdout.splitlines()):
        if "verdict" not in line:  # it could not be judged
            continue
        name, answer = expected.pop(pathlib.Path(line["candidate"]["path"]).name)
        different = difference(line, *answer)
        wrong += bool(different)
        print(f"{name:64} {different or 'ok'}")
    for name, _ in expected.values():
        wrong += 1
        print(f"{name:64} was not judged")
    print(f"{wrong} not as expected" if wrong else "all as expected")
    if wrong:
        print(done.stderr, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
