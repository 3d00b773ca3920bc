#!/usr/bin/env python3
"""Kills (-9) engines and `kernelbench cache clear` while they fill and empty one build cache, and looks at what is left.

    tests/robustness/kill_cache.py [--count 40] [--entries 300] [--binary build/dev/bin/kernelbench] [--seed N] [--python PYTHON]

The cache has real builds and copies of one under other names, so that emptying it takes a while; its quota is small, so
that engines empty it, too. After each kill every entry is whole, the next evaluation is right, and in the end the cache
can be emptied of all that was left. Exit status 0 if all held, 1 if not.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from kill import NATIVE, PROBLEM  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNFINISHED = ("new.", "trash.")


def is_whole(entry):
    try:
        result = json.loads((entry / "result.json").read_text())
        artifact = (entry / f"{entry.name}.so").read_bytes() if result["ok"] else b""
        return (entry / "used").is_file() and (not result["ok"] or hashlib.sha256(artifact).hexdigest() == result["sha256"])
    except (OSError, ValueError):
        return False


class Trial:
    def __init__(self, options, root):
        self.binary, self.root, self.options = options.binary, root, options
        self.chance, self.failed = random.Random(options.seed), []
        self.builds, self.candidates = root / "cache" / "builds", 0
        self.environment = {**os.environ, "TMPDIR": str(root / "tmp"), "HOME": str(root / "home"),
                            "KERNELBENCH_CACHE": str(root / "cache")}

    def start(self, *arguments):
        return subprocess.Popen([self.binary, *arguments], cwd=self.root, env=self.environment, text=True,
                                stdout=open(self.root / "out", "w"), stderr=open(self.root / "err", "w"))

    def judge(self, *flags):
        """An engine with two new candidates."""
        names = []
        for _ in range(2):
            self.candidates += 1
            names.append(f"native{self.candidates}.cpp")
            (self.root / names[-1]).write_text((NATIVE % self.candidates).replace("usleep(20000);", ""))
        return self.start("eval", "relu.py", *names, "--protocol", "quick", "--measure", "false", "--profile-ms", "0",
                          "--no-store", "--json", *flags)

    def expect(self, good, what):
        if not good:
            self.failed.append(what)
            print(f"FAILED {what}", flush=True)

    def expect_right(self, engine):
        code = engine.wait(timeout=240)
        said = (self.root / "err").read_text() + (self.root / "out").read_text()
        self.expect(code == 0, f"an evaluation: exit status {code} {said[-300:]}")

    def fill(self):
        """Copies of a real entry, until there are as many as were asked for."""
        real = next(path for path in self.builds.iterdir() if is_whole(path) and (path / f"{path.name}.so").exists())
        for i in range(self.options.entries):
            name = hashlib.sha256(f"{i}".encode()).hexdigest()
            if not (self.builds / name).exists():
                shutil.copytree(real, self.root / "copy")
                (self.root / "copy" / f"{real.name}.so").rename(self.root / "copy" / f"{name}.so")
                (self.root / "copy").rename(self.builds / name)

    def look(self, after):
        for entry in self.builds.iterdir():
            if not entry.name.startswith(UNFINISHED):
                self.expect(is_whole(entry), f"half an entry after {after}: {entry.name}")

    def run(self):
        self.expect_right(self.judge())
        outcomes = collections.Counter()
        for number in range(self.options.count):
            self.fill()
            # With this quota the first build has most of the copies to remove.
            what = self.chance.choice(["clear", "eval"])
            before = set(os.listdir(self.builds))
            quota = f"{self.options.entries * 2e-6:.6f}"
            process = self.start("cache", "clear") if what == "clear" else self.judge("--cache-gb", quota)
            while process.poll() is None and set(os.listdir(self.builds)) == before:
                pass  # the moments that count begin with the first change
            time.sleep(self.chance.choice([0, self.chance.uniform(0, 0.005), self.chance.uniform(0, 0.05)]))
            process.kill()
            process.wait()
            unfinished = sum(entry.name.startswith(UNFINISHED) for entry in self.builds.iterdir())
            outcomes[what, "in the middle" if unfinished else "whole"] += 1
            self.look(what)
            if number % 8 == 7:
                self.expect_right(self.judge())
        self.expect_right(self.judge())
        cleared = subprocess.run([self.binary, "cache", "clear", "--json"], env=self.environment, capture_output=True, text=True)
        left = [path.name for path in self.builds.iterdir()]
        self.expect(cleared.returncode == 0 and not left, f"what cannot be removed: {left} {cleared.stderr}")
        for (what, outcome), times in sorted(outcomes.items()):
            print(f"{what} killed, {outcome}: {times}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--binary", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--python", default=os.environ.get("KERNELBENCH_PYTHON", sys.executable), help="the engine's")
    options = parser.parse_args()
    os.environ["KERNELBENCH_PYTHON"] = options.python
    with tempfile.TemporaryDirectory(prefix="kernelbench-cache.") as directory:
        root = pathlib.Path(directory)
        for name in ("tmp", "home"):
            (root / name).mkdir()
        (root / "relu.py").write_text(PROBLEM)
        trial = Trial(options, root)
        trial.run()
    print(f"{options.count} kills, seed {options.seed}: {len(trial.failed)} failures")
    sys.exit(1 if trial.failed else 0)


if __name__ == "__main__":
    main()
