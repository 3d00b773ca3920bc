#!/usr/bin/env python3
"""Kills (-9) `kernelbench generate` at random moments in the middle of a matrix, goes on with the same command, and counts.

    tests/models/kill_generate.py [--kills 5] [--samples 6] [--binary build/dev/bin/kernelbench] [--seed N]

Two models, two problems. In the end each sample must have exactly one answer, one candidate and one verdict, the right one; what was asked again must have been in
flight when the engine was killed; the store must be sound. Exit status 0 if all held, 1 if not.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from scripted_model import ScriptedModel

PROBLEM = '''"""Scale by %(factor)d"""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * %(factor)d


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
'''
NATIVE = '''#include <kernelbench/kernel.h>

#include <cstdint>

int kb_forward(const kb_call* call) {  // answer %(number)d
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < 64 * 64; ++i) y[i] = %(factor)d * x[i];
  return %(result)s;
}
'''
KINDS = {0: "correct", 1: "incorrect", 2: "build_failed", 3: "static_rejected"}
CONCURRENCY = 4


class Answers:
    """Each answer is another text, of one of four kinds in turn."""

    def __init__(self):
        self.count, self.lock = 0, threading.Lock()

    def __call__(self, messages, _request):
        factor = int(re.search(r"return x \* (\d)", messages[-1]["content"]).group(1))
        with self.lock:
            self.count += 1
            number = self.count
        kind = KINDS[number % 4]
        if kind == "static_rejected":
            return f"I would rather not. ({number})"
        source = NATIVE % {"number": number, "factor": factor if kind != "incorrect" else factor + 1, "result": "0" if kind != "build_failed" else "nothing"}
        return f"```cpp\n{source}```"


def expected_verdict(response):
    if "```" not in response:
        return "static_rejected"
    return KINDS[int(re.search(r"answer (\d+)", response).group(1)) % 4]


def responses(binary, environment, samples):
    """What each answer said: by model, problem and candidate."""
    for sample in range(samples):
        shown = subprocess.run([binary, "trajectory", "r", "--candidate", str(sample), "--json"], env=environment, capture_output=True, text=True, check=True)
        for answer in map(json.loads, shown.stdout.splitlines()):
            yield (answer["model"], answer["problem"], answer["candidate"]), answer["response"]


def check(binary, environment, root, delivered, kills, samples):
    failures, wanted = [], 4 * samples
    with sqlite3.connect(root / "store.db") as database:
        states = collections.Counter(row[0] for row in database.execute("SELECT state FROM requests"))
        answers = database.execute("SELECT count(*), count(DISTINCT request_id), sum(settled) FROM answers").fetchone()
        jobs = collections.Counter(row[0] for row in database.execute("SELECT state FROM jobs"))
        evaluations = database.execute("SELECT count(*), count(DISTINCT model || '/' || problem || '/' || sample) FROM evaluations").fetchone()
        if states != {"answered": wanted}:
            failures.append(f"requests: {dict(states)}, wanted {wanted} answered")
        if answers != (wanted, wanted, wanted):
            failures.append(f"answers, of different requests, settled: {answers}, wanted {wanted} each")
        if jobs != {"done": wanted} or evaluations != (wanted, wanted):
            failures.append(f"jobs {dict(jobs)}, evaluations {evaluations}, wanted {wanted}")
        verdicts = {row[:3]: row[3] for row in database.execute("SELECT model, problem, sample, verdict FROM evaluations")}
    for candidate, response in responses(binary, environment, samples):
        if verdicts.get(candidate) != expected_verdict(response):
            failures.append(f"{candidate}: {verdicts.get(candidate)} instead of {expected_verdict(response)}")
    again = delivered - wanted
    if not 0 <= again <= 2 * CONCURRENCY * kills:
        failures.append(f"{delivered} answers were delivered for {wanted} samples: {again} more than once, at most {2 * CONCURRENCY * kills} were in flight")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "kernelbench"
    parser.add_argument("--binary", default=str(own))
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    chance, kills, starts = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="kernelbench-kill-generate.") as directory, ScriptedModel(Answers(), seconds=0.15) as model:
        root = pathlib.Path(directory)
        for name, factor in (("two", 2), ("three", 3)):
            (root / f"{name}.py").write_text(PROBLEM % {"factor": factor})
        (root / "models.toml").write_text("".join(f'[models.{name}]\nprovider = "vllm"\nmodel = "scripted"\nbase_url = "{model.url}"\nconcurrency = {CONCURRENCY}\n' for name in ("a", "b")))
        command = [options.binary, "generate", str(root / "two.py"), str(root / "three.py"), "--model", "a", "--model", "b", "--models-file", str(root / "models.toml"), "--run", "r",
                   "--samples", str(options.samples), "--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--shots", "0", "--hardware", "none", "--quiet"]
        environment = {**os.environ, "KERNELBENCH_STORE": str(root / "store.db")}
        while True:
            starts += 1
            log = open(root / "log", "a")
            engine = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            if kills < options.kills:
                try:
                    engine.wait(chance.choice([0.05, 0.2, 0.5, 1.5, 3]) * chance.uniform(0.5, 1.5))
                    break  # it ended by itself: there is nothing left to kill
                except subprocess.TimeoutExpired:
                    engine.send_signal(signal.SIGKILL)
                    engine.wait()
                    kills += 1
                    continue
            if engine.wait() == 0:
                break
            if starts > options.kills + 5:
                sys.exit("it does not end:\n" + (root / "log").read_text()[-2000:])
        time.sleep(0.3)  # the last thread of the server
        wanted = 4 * options.samples
        failures = [] if kills > 0 else ["it ended before it was killed once"]
        failures += check(options.binary, environment, root, len(model.delivered), kills, options.samples)
        sound = subprocess.run([options.binary, "store", "check"], env=environment, capture_output=True, text=True)
        if sound.returncode != 0:
            failures.append("store check: " + sound.stdout)
        for failure in failures:
            print("FAILED " + failure)
        print(f"{kills} kills, {starts} starts, {wanted} samples, {len(model.delivered)} answers delivered, seed {options.seed}: {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
