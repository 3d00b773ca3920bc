#!/usr/bin/env python3
"""Whose fault it is when the engine fails in every attempt at one candidate.

    tests/robustness/failing_job.py BUILD_DIRECTORY

Installs the build and breaks the installed runner, so that it ends whenever it is told to hold one certain candidate. Beside
others that are judged this is that candidate's verdict; by itself it is an error of the engine. Exit status 0 if all held, 1 if
not.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

CANDIDATE = """import torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        return x.relu()  # %s
"""
BREAK = """        if "FAILS HERE" in spec.source:
            os._exit(9)
"""


def install(build, root):
    subprocess.run(["cmake", "--install", build, "--prefix", root / "tree"], check=True, stdout=subprocess.DEVNULL)
    runner = root / "tree/share/kernelbench/python/kernelbench_torch/module_runner.py"
    text = runner.read_text()
    start = "    def __init__(self, spec, library, doorbell, segments, arena, built):\n"
    if start not in text:
        sys.exit(f"failing_job: {runner} has no constructor to break")
    head, tail = text.split(start)
    runner.write_text("import os\n" + head + start + BREAK + tail)
    return root / "tree/bin/kernelbench"


def judge(binary, root, name, jobs):
    """Runs the jobs, (problem, text) each: (exit status, evaluations by sample, stderr)."""
    with (root / f"{name}.jsonl").open("w") as file:
        for sample, (problem, text) in enumerate(jobs):
            (root / f"{name}{sample}.py").write_text(CANDIDATE % text)
            file.write(json.dumps({"problem": problem, "path": f"{name}{sample}.py", "sample": sample}) + "\n")
    done = subprocess.run([binary, "run", f"{name}.jsonl", "--store", f"{name}.db", "--size", "small", "--protocol", "quick",
                           "--measure", "false", "--profile", "false", "--json"],
                          cwd=root, capture_output=True, text=True, timeout=500)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, {line["sample"]: line for line in lines if "verdict" in line}, done.stderr


def main():
    failed = []

    def expect(what, good, told):
        verdicts = {sample: (line["verdict"], line["reason"]) for sample, line in told[1].items()}
        print(f"{'ok    ' if good else 'FAILED'} {what}: exit status {told[0]}, {verdicts} {told[2].strip()[-200:]}", flush=True)
        if not good:
            failed.append(what)

    with tempfile.TemporaryDirectory(prefix="kernelbench-failing-") as name:
        root = pathlib.Path(name)
        binary = install(sys.argv[1], root)
        os.environ["KERNELBENCH_CACHE"] = str(root / "cache")
        told = judge(binary, root, "beside", [("1/19", "FAILS HERE"), ("1/19", "a")])
        charged = told[1].get(0, {"verdict": "", "reason": ""})
        expect("an engine that fails at one candidate alone",
               charged["verdict"] == "crashed" and "in every attempt" in charged["reason"]
               and told[1].get(1, {}).get("verdict") == "correct", told)
        told = judge(binary, root, "alone", [("1/19", "FAILS HERE")])
        expect("an engine that judges nothing", told[0] == 3 and not told[1], told)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
