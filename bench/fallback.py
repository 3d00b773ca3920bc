#!/usr/bin/env python3
"""Are modules whose build fails judged for what they then do?

    bench/fallback.py [--device cuda] [--compile 40] [--caught 40] [--uncaught 20] [--again 2] [--directory DIR]

Judges in one `kernelbench run --protocol quick` modules of 1/19 whose load_inline compiles, whose build fails and is caught, and whose
build fails and is not, once with an empty build cache and --again times with what it holds then. Prints how many got which verdict,
how long each run took, and what the device's time went into. Exit status 1 where a verdict is not the expected one.

The cold run compiles for minutes. With --directory its store and its cache are kept: the same command goes on with a run that was
interrupted, and adds the seconds up.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from common import BINARY

HEAD = """import torch
from torch.utils.cpp_extension import load_inline
"""
CPP = "torch::Tensor relu(torch::Tensor x) {{ return {body}; }}  // {number}"
CUDA = """#include <torch/extension.h>
__global__ void Relu(const float* x, float* y, long n) {{
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}}
torch::Tensor relu(torch::Tensor x) {{
  auto y = {body};
  Relu<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}}  // {number}
"""
CLASS = """

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {call}
"""


def build(device, number, right):
    if device == "cpu":
        text = CPP.format(number=number, body="torch::relu(x)" if right else "torch::no_such_function(x)")
        return f'load_inline(name="bench_{number}", cpp_sources="""{text}""", functions=["relu"])'
    text = CUDA.format(number=number, body="torch::empty_like(x)" if right else "torch::no_such_function(x)")
    return (f'load_inline(name="bench_{number}", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources="""{text}""", '
            'functions=["relu"])')


def source(kind, device, number):
    wanted = build(device, number, kind == "compile")
    if kind != "caught":
        return HEAD + f"extension = {wanted}\n" + CLASS.format(call="extension.relu(x)")
    return (HEAD + f"try:\n    extension = {wanted}\nexcept RuntimeError:\n    extension = None\n" +
            CLASS.format(call="extension.relu(x) if extension else torch.relu(x)"))


def judge(arguments, manifest, directory, expected, name):
    """The seconds that it took, and what was not as expected. What an interrupted call judged is in the lines of the call before."""
    command = [BINARY, "run", manifest, "--protocol", "quick", "--size", "small", "--devices", arguments.device, "--json", "--quiet",
               "--store", directory / f"{name}.db"]
    record, spent = directory / f"{name}.jsonl", directory / f"{name}.seconds"
    before = float(spent.read_text()) if spent.exists() else 0.0
    start = time.monotonic()
    with record.open("a") as kept, subprocess.Popen(command, stdout=kept, env={**os.environ, "KERNELBENCH_CACHE": f"{directory}/cache"}) as run:
        while run.poll() is None:
            try:
                run.wait(20)
            except subprocess.TimeoutExpired:
                print(f"{len(record.read_text().splitlines())} after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            finally:
                spent.write_text(str(before + time.monotonic() - start))
    seconds = before + time.monotonic() - start
    if run.returncode:
        sys.exit(f"exit status {run.returncode}; {name} took {seconds:.1f} s so far")
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    verdicts, wrong = collections.Counter(), []
    for line in lines:
        if line.get("summary"):
            continue
        kind = expected[line["sample"]]
        fell_back = any(note["text"].startswith("build_fallback") for note in line.get("notes", []))
        verdicts[kind, line.get("verdict"), fell_back] += 1
        if (line.get("verdict"), fell_back) != {"compile": ("correct", False), "caught": ("correct", True),
                                                "uncaught": ("build_failed", False)}[kind]:
            wrong.append(f"{kind} {line['sample']}: {line.get('verdict')} {line.get('reason', line.get('not_judged'))}"[:200])
    if sum(verdicts.values()) != len(expected):
        wrong.append(f"{sum(verdicts.values())} of {len(expected)} were judged")
    return seconds, verdicts, wrong, lines[-1]["devices"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", type=int, default=40)
    parser.add_argument("--caught", type=int, default=40)
    parser.add_argument("--uncaught", type=int, default=20)
    parser.add_argument("--again", type=int, default=2)
    parser.add_argument("--directory", type=pathlib.Path)
    arguments = parser.parse_args()
    counts = {"compile": arguments.compile, "caught": arguments.caught, "uncaught": arguments.uncaught}
    expected = [kind for kind, count in counts.items() for _ in range(count)]
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        directory = arguments.directory or pathlib.Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        manifest = directory / "candidates.jsonl"
        with manifest.open("w") as file:
            for number, kind in enumerate(expected):
                code = source(kind, arguments.device.split(":")[0], number)
                file.write(json.dumps({"problem": "1/19", "sample": number, "code": code}) + "\n")
        for name in ["cold", *[f"cached {number}" for number in range(1, arguments.again + 1)]]:
            seconds, verdicts, wrong, devices = judge(arguments, manifest, directory, expected, name)
            print(f"{name}: {len(expected) - len(wrong)} of {len(expected)} as expected in {seconds:.1f} s;",
                  ", ".join(f"{kind} {verdict}{' with build_fallback' if fell_back else ''} {count}"
                            for (kind, verdict, fell_back), count in sorted(verdicts.items(), key=str)), flush=True)
            print(" ", json.dumps(devices))
            for line in wrong[:10]:
                print(" ", line)
            failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
