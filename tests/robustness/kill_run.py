#!/usr/bin/env python3
"""Kills (-9) random processes of `kernelbench run` while it judges, starts it again whenever it ended, and compares.

    tests/robustness/kill_run.py [--count 50] [--candidates 200] [--binary build/dev/bin/kernelbench] [--seed N]

In the end every candidate must have exactly one verdict, the same as in a run that nobody disturbed; no process, temporary file or mount may be left, and the store
must be sound. Prints how often each kind of process was killed. Exit status 0 if all held, 1 if not.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from kill import KINDS, MODULE, NATIVE, PROBLEM, SUBREAPER, PATIENCE, descendants, kind_of, reap

WRONG = MODULE.replace("torch.clamp(x, min=0)", "torch.clamp(x, min=1)")
RAISES = MODULE.replace("return torch.clamp(x, min=0)", "raise ValueError('no')")
BROKEN = "no C++ kb_forward\n"
KINDS_OF_CANDIDATES = [("native.cpp", NATIVE), ("module.py", MODULE), ("wrong.py", WRONG), ("raises.py", RAISES), ("broken.cpp", BROKEN)]


def make_run(root, count):
    """A run directory. Every native candidate has its own text, so that there are compilers to kill."""
    rows = []
    for i in range(count):
        name, text = KINDS_OF_CANDIDATES[i % len(KINDS_OF_CANDIDATES)]
        (root / "run" / f"{i}_{name}").write_text(text % i if name == "native.cpp" else text)
        rows.append({"problem": str(root / "relu.py"), "path": f"{i}_{name}", "sample": i})
    (root / "run" / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Run:
    def __init__(self, binary, root, store):
        self.root, self.store = root, store
        self.command = [binary, "run", "run", "--name", "r", "--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--quiet", "--store", store]
        self.environment = {**os.environ, "TMPDIR": str(root / "tmp"), "HOME": str(root / "home"), "KERNELBENCH_CACHE": str(root / "cache" / store)}

    def start(self):
        log = open(self.root / "log", "a")  # a pipe would be kept open by what stays behind
        return subprocess.Popen(self.command, cwd=self.root, env=self.environment, stdout=log, stderr=log)

    def verdicts(self):
        """Verdict by sample, and how many evaluations there are."""
        with sqlite3.connect(self.root / self.store) as database:
            rows = database.execute("SELECT sample, verdict FROM evaluations").fetchall()
            self.reasons = dict(database.execute("SELECT sample, reason FROM evaluations").fetchall())
            states = collections.Counter(row[0] for row in database.execute("SELECT state FROM jobs"))
            whole = database.execute("PRAGMA integrity_check").fetchone()[0]
        return dict(rows), len(rows), states, whole


def kill_one(engine, kind, chance):
    """True if a process of that kind was killed; False if none came within ten seconds, or the engine ended."""
    time.sleep(chance.uniform(0, 0.5))
    until = time.monotonic() + 10
    while engine.poll() is None and time.monotonic() < until:
        if kind == "engine":
            engine.kill()
            engine.wait()
            return True
        below = descendants(engine.pid)
        wanted = [p for p in below.values() if kind_of(p, below) == kind]
        if wanted:
            try:
                os.kill(chance.choice(wanted).pid, signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass
        time.sleep(0.003)
    return False


def leftovers(root):
    until = time.monotonic() + PATIENCE
    while (left := descendants(os.getpid())) and time.monotonic() < until:
        reap()
        time.sleep(0.02)
    found = [f"left running: {p.pid} {p.name}" for p in left.values()]
    found += [f"left in TMPDIR: {path.name}" for path in (root / "tmp").iterdir()]
    if str(root) in pathlib.Path("/proc/self/mounts").read_text():
        found.append("a mount is left")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "kernelbench"
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--binary", default=str(own))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    os.environ.setdefault("KERNELBENCH_PYTHON", sys.executable)
    if ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) != 0:  # orphans come to us and are seen
        sys.exit("cannot adopt orphans")
    chance, killed, failures, starts = random.Random(options.seed), collections.Counter(), [], 1
    with tempfile.TemporaryDirectory(prefix="kernelbench-kill.") as directory:
        root = pathlib.Path(directory)
        for name in ("tmp", "home", "cache", "run"):
            (root / name).mkdir()
        (root / "relu.py").write_text(PROBLEM)
        make_run(root, options.candidates)
        quiet = Run(options.binary, root, "quiet.db")
        if quiet.start().wait() != 0:
            sys.exit("the undisturbed run failed:\n" + (root / "log").read_text()[-2000:])
        expected = quiet.verdicts()[0]
        disturbed = Run(options.binary, root, "disturbed.db")
        engine, misses = disturbed.start(), 0
        while sum(killed.values()) < options.count and misses < 5 * options.count:
            kind = KINDS[(sum(killed.values()) + misses) % len(KINDS)]
            if kill_one(engine, kind, chance):
                killed[kind] += 1
            else:
                misses += 1
            if engine.poll() is not None:
                failures += leftovers(root)
                if engine.returncode == 0:
                    break  # all judged
                engine, starts = disturbed.start(), starts + 1
        for _ in range(5):  # what could not be judged is tried again by the next command
            if engine.wait() == 0:
                break
            engine, starts = disturbed.start(), starts + 1
        failures += leftovers(root)
        got, evaluations, states, whole = disturbed.verdicts()
        failures += [f"sample {sample}: {verdict}, then {got.get(sample)}: {disturbed.reasons.get(sample)}" for sample, verdict in expected.items() if got.get(sample) != verdict]
        if evaluations != options.candidates or states != {"done": options.candidates} or whole != "ok":
            failures.append(f"{evaluations} evaluations of {options.candidates}; jobs {dict(states)}; store {whole}")
    for failure in failures:
        print(f"FAILED {failure}")
    print("killed: " + ", ".join(f"{kind} {killed[kind]}" for kind in KINDS))
    print(f"{sum(killed.values())} kills, {starts} starts, {options.candidates} candidates, seed {options.seed}: {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
