#!/usr/bin/env python3
"""What must be built for the tests whose names match a regular expression.

    tests_named.py NAME BUILD...     prints "BUILD target..." for each build folder that has any

CMake writes tests.txt into a build folder: in each line a source directory, the beginning of names, the target, and the
sources in which GoogleTest's cases complete the names.
"""

import pathlib
import re
import sys

CASE = re.compile(r"^\s*TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def names_of(directory, prefix, sources):
    if not sources:
        return [prefix]
    texts = [(pathlib.Path(directory) / source).read_text() for source in sources]
    return [f"{prefix}{suite}.{case}" for text in texts for suite, case in CASE.findall(text)]


def targets_of(build, pattern):
    found = []
    for line in (build / "tests.txt").read_text().splitlines():
        directory, prefix, target, *sources = line.split()
        if any(pattern.search(name) for name in names_of(directory, prefix, sources)) and target not in found:
            found.append(target)
    # What needs no program needs the folder only: a target that does nothing.
    return ["build.ninja" if target == "-" else target for target in found]


def main():
    try:
        pattern = re.compile(sys.argv[1])
    except re.error as error:
        sys.exit(f"test: {sys.argv[1]} is no regular expression: {error}")
    for build in map(pathlib.Path, sys.argv[2:]):
        targets = targets_of(build, pattern)
        if targets:
            print(build.name, *targets)


if __name__ == "__main__":
    main()
