"""Prints what failed, and how long the parts of .ci/run took: parts.py SECONDS_IN_ALL. Reads build/parts.tsv and build/tests.xml."""

import collections
import pathlib
import sys
import xml.etree.ElementTree

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
MOST_SAID = 6000  # characters of a failed test's output


def tests():
    path = BUILD / "tests.xml"
    return list(xml.etree.ElementTree.parse(path).getroot().iter("testcase")) if path.exists() else []


def kind_of(name):
    """What stands before the colon of a test's name; programs of unit tests are one kind."""
    prefix = name.split(":")[0]
    return "unit" if prefix.endswith("_test") or prefix == "fuzz" else prefix


def main():
    parts = [line.split("\t") for line in (BUILD / "parts.tsv").read_text().splitlines()]
    busy, count = collections.Counter(), collections.Counter()
    for test in tests():
        if test.get("status") not in ("run", "notrun", "disabled"):
            print(f"---- {test.get('name')} failed\n{(test.findtext('system-out') or '')[-MOST_SAID:]}\n")
        busy[kind_of(test.get("name"))] += float(test.get("time"))
        count[kind_of(test.get("name"))] += 1
    in_tests = float(sys.argv[1]) - sum(float(seconds) for _, seconds in parts)
    print(f"{'part':38} seconds")
    for part, seconds in parts:
        if part == "quickstart":
            print(f"{'tests':38} {in_tests:7.0f}")
            for kind, seconds_of_each in busy.most_common():
                print(f"  {f'{kind}, {count[kind]}':36} {seconds_of_each:7.0f} one after the other")
        print(f"{part:38} {float(seconds):7.0f}")
    print(f"{'in all':38} {float(sys.argv[1]):7.0f}")


if __name__ == "__main__":
    main()
