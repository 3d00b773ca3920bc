#!/usr/bin/env python3
"""Kills (-9) a random process of an evaluation at a random moment, again and again, and looks at what is left.

    tests/robustness/kill.py [--count 100] [--binary build/dev/bin/kernelbench] [--seed N]

After each kill: no process, temporary file or mount of that evaluation stays; the store is whole and holds each printed
evaluation once; a trusted process that dies is never charged to the candidate; the next evaluation is right, and after it no
control group of a killed engine is left. Prints how
often each kind of process led to which outcome. Each kill is the next evaluation of the one before; one after the last is
not killed. Exit status 0 if all held, 1 if not.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(64, 64)]


def get_init_inputs():
    return []
"""
MODULE = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0)
"""
# The comment is new each time, so that there is a compiler to kill; it sleeps, so that there is a runner to kill.
NATIVE = """
// %d
#include <kernelbench/kernel.h>
#include <unistd.h>
#include <map>
#include <regex>

KB_EXPORT int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  usleep(20000);
  for (int i = 0; i < 64 * 64; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
"""
COMPILERS = {"g++", "cc1plus", "as", "ld", "collect2", "sh", "cat"}
# Kinds that hold the candidate itself: that they die is, for all the judge can know, the candidate's doing.
UNTRUSTED = {"native runner", "module runner"}
KINDS = ["engine", "device process", "zygote", "keeper", "bwrap", "inside", "compiler", "native supervisor", "native runner",
         "module supervisor", "module runner"]
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
PATIENCE = 15  # seconds for what was left behind to end


class Process:
    """One line of /proc; raises OSError if it is gone."""

    def __init__(self, pid):
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        self.pid, self.name = pid, stat[stat.index("(") + 1:stat.rindex(")")]
        self.state, parent = stat[stat.rindex(")") + 2:].split()[:2]
        self.parent = int(parent)
        self.argv = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")


def descendants(ancestor):
    """Living processes below `ancestor`, by process id."""
    everything = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                process = Process(int(entry))
                everything[process.pid] = process
            except (OSError, ValueError):
                pass
    below, grew = {}, True
    while grew:
        grew = False
        for pid, process in everything.items():
            if pid not in below and (process.parent == ancestor or process.parent in below):
                below[pid] = process
                grew = True
    return {pid: process for pid, process in below.items() if process.state != "Z"}


def kind_of(process, among):
    """What a process of the evaluation is, or None: a probe, or something between fork and exec."""
    def is_zygote(p):
        return p is not None and "kernelbench_torch.zygote" in p.argv and p.name not in ("bwrap", "kb-keeper", "kb-inside")
    parent = among.get(process.parent)
    if process.name in ("bwrap", "kb-keeper", "kb-inside"):
        return process.name.removeprefix("kb-")
    if "kernelbench_torch.device_host" in process.argv:
        return "device process"
    if is_zygote(process):
        if not is_zygote(parent):
            return "zygote"
        return "module runner" if is_zygote(among.get(parent.parent)) else "module supervisor"
    if process.name == "kb-runner":
        return "native runner" if parent is not None and parent.name == "kb-runner" else "native supervisor"
    return "compiler" if process.name in COMPILERS else None


class Trial:
    """One evaluation of a native and a module candidate, one kill, and what came of it."""

    def __init__(self, binary, root, number):
        self.binary, self.root, self.problems = binary, root, []
        (root / "native.cpp").write_text(NATIVE % number)

    def start(self, candidates):
        environment = {**os.environ, "TMPDIR": str(self.root / "tmp"), "HOME": str(self.root / "home"),
                       "KERNELBENCH_CACHE": str(self.root / "cache")}
        command = [self.binary, "eval", "relu.py", *candidates, "--protocol", "quick", "--json", "--store", "store.db"]
        # Files: a pipe would be filled, or kept open by what stays behind.
        self.out, self.err = (open(self.root / name, "w+") for name in ("out", "err"))
        return subprocess.Popen(command, cwd=self.root, env=environment, stdout=self.out, stderr=self.err)

    def finish(self, engine):
        try:
            code = engine.wait(timeout=240)
        except subprocess.TimeoutExpired:
            engine.kill()
            code = engine.wait()
            self.problems.append("the engine hung")
        self.out.seek(0)
        self.err.seek(0)
        # An engine that was killed may have stopped inside a line.
        text, self.messages = self.out.read(), self.err.read()
        self.out.close()
        self.err.close()
        lines = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
        return code, lines

    def kill(self, engine, kind, chance):
        """Waits for a process of that kind, and a little longer. False: it never came, or had gone."""
        if kind == "engine":
            try:
                engine.wait(timeout=chance.uniform(0.02, 10))
                return False
            except subprocess.TimeoutExpired:
                engine.kill()
                return True
        deadline = None
        until = time.monotonic() + 120
        while engine.poll() is None and time.monotonic() < until:
            below = descendants(engine.pid)
            wanted = [p for p in below.values() if kind_of(p, below) == kind]
            if wanted and deadline is None:
                deadline = time.monotonic() + chance.choice([0, chance.uniform(0, 0.1), chance.uniform(0, 2)])
            if wanted and time.monotonic() >= deadline:
                try:
                    os.kill(chance.choice(wanted).pid, signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    return False
            if not wanted and deadline is not None and time.monotonic() > deadline + 5:
                return False
            time.sleep(0.003)
        return False

    def run(self, kind, chance, before):
        """The outcome, in words."""
        engine = self.start(["native.cpp", "module.py"])
        killed = self.kill(engine, kind, chance)
        code, lines = self.finish(engine)
        self.look_for_leftovers()
        verdicts = {pathlib.Path(line["candidate"]["path"]).name: line["verdict"] for line in lines}
        wrong = {name: verdict for name, verdict in verdicts.items() if verdict != "correct"}
        charged = wrong and not (kind in UNTRUSTED and set(wrong.values()) == {"crashed"} and len(wrong) == 1)
        if charged:
            reasons = [line["reason"] for line in lines if line["verdict"] != "correct"]
            self.problems.append(f"charged to the candidate: {wrong} {reasons}")
        missing = 2 - len(lines)
        if kind != "engine" and missing and (code != 3 or not self.messages.strip()):
            self.problems.append(f"no verdict and no error: exit code {code} {self.messages[-300:]!r}")
        self.check_store(before + [line["id"] for line in lines], kind == "engine")
        if not killed:
            return "ended before"
        if kind == "engine":
            return f"{len(lines)} of 2 kept"
        return "error" if missing else "crashed" if wrong else "both correct"

    def look_for_leftovers(self):
        until = time.monotonic() + PATIENCE
        while (left := descendants(os.getpid())) and time.monotonic() < until:
            reap()
            time.sleep(0.02)
        reap()
        for process in left.values():
            self.problems.append(f"left running: {process.pid} {process.name} {' '.join(process.argv)[:100]}")
            os.kill(process.pid, signal.SIGKILL)
        for path in (self.root / "tmp").iterdir():
            self.problems.append(f"left in TMPDIR: {path.name}")
            shutil.rmtree(path, ignore_errors=True)
        if str(self.root) in pathlib.Path("/proc/self/mounts").read_text():
            self.problems.append("a mount is left")

    def check_store(self, printed, engine_killed):
        if not (self.root / "store.db").exists():
            return
        with sqlite3.connect(self.root / "store.db") as database:
            whole = database.execute("PRAGMA integrity_check").fetchone()[0]
            stored = [row[0] for row in database.execute("SELECT id FROM evaluations")]
        if whole != "ok":
            self.problems.append(f"the store is damaged: {whole}")
        if len(stored) != len(set(stored)):
            self.problems.append("stored twice")
        # Killed between storing and printing, the engine has stored one more.
        extra = len(set(stored) - set(printed))
        if set(printed) - set(stored) or extra > (1 if engine_killed else 0):
            self.problems.append(f"stored {len(stored)}, printed {len(printed)}")
        self.stored = stored

    def check_next(self, before):
        code, lines = self.finish(self.start(["native.cpp", "module.py"]))
        if code != 0 or [line["verdict"] for line in lines] != ["correct", "correct"]:
            told = [(line["verdict"], line["reason"]) for line in lines]
            self.problems.append(f"the next evaluation: exit code {code}, {told} {self.messages[-300:]!r}")
        self.look_for_leftovers()
        self.check_store(before + [line["id"] for line in lines], False)
        for group in sorted(groups_of_dead_engines()):
            self.problems.append(f"a control group is left: {group}")

    def check_cache(self):
        """What killed engines were storing is there whole or not at all, and what they left goes."""
        environment = {**os.environ, "KERNELBENCH_CACHE": str(self.root / "cache")}
        told = subprocess.run([self.binary, "cache", "clear", "--json"], env=environment, capture_output=True, text=True)
        left = [path.name for path in (self.root / "cache" / "builds").iterdir()]
        if told.returncode != 0 or json.loads(told.stdout)["in_use"] or left:
            self.problems.append(f"the cache cannot be emptied: {told.stdout}{told.stderr} {left}")


def groups_of_dead_engines():
    """Where this process's own groups are, and so an engine's that it starts."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        controllers, path = line.split(":", 2)[1:]
        for group in pathlib.Path("/sys/fs/cgroup", controllers, path.lstrip("/")).glob("kernelbench-*-*"):
            if not pathlib.Path("/proc", group.name.split("-")[1]).exists():
                yield group


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def run_trials(options, root):
    chance = random.Random(options.seed)
    kinds = [KINDS[i % len(KINDS)] for i in range(options.count)]
    chance.shuffle(kinds)
    table, failures, known = collections.Counter(), [], []
    for number, kind in enumerate(kinds):
        trial = Trial(options.binary, root, chance.getrandbits(60))
        trial.stored = known
        outcome = trial.run(kind, chance, known)
        if number + 1 == len(kinds):
            trial.check_next(trial.stored)
            trial.check_cache()
        known = trial.stored
        table[kind, outcome] += 1
        failures += [f"{number} {kind}: {problem}" for problem in trial.problems]
        for problem in trial.problems:
            print(f"FAILED {kind}: {problem}", flush=True)
    return table, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "kernelbench"
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--binary", default=str(own))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    os.environ.setdefault("KERNELBENCH_PYTHON", sys.executable)  # of scripts/python.sh: one that has torch
    if ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) != 0:  # orphans come to us and are seen
        sys.exit("cannot adopt orphans")
    with tempfile.TemporaryDirectory(prefix="kernelbench-kill.") as directory:
        root = pathlib.Path(directory)
        for name in ("tmp", "home", "cache"):
            (root / name).mkdir()
        (root / "relu.py").write_text(PROBLEM)
        (root / "module.py").write_text(MODULE)
        table, failures = run_trials(options, root)
    outcomes = sorted({outcome for _, outcome in table})
    print(f"| killed | {' | '.join(outcomes)} |\n|---|{'---|' * len(outcomes)}")
    for kind in KINDS:
        print(f"| {kind} | {' | '.join(str(table[kind, outcome]) for outcome in outcomes)} |")
    print(f"{options.count} kills, seed {options.seed}: {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
