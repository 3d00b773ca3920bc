#!/usr/bin/env python3
"""refine and evolve on a model whose kernels improve only if the feedback it got is used, and the same without feedback.

    tests/models/search.py [--binary build/dev/bin/kernelbench] [--strategy refine|evolve|both]

The model is a script behind a real HTTP server. It looks at the candidate it is shown and at what it is told about it: after a mismatch report it corrects the
kernel, after a speedup it writes the next faster one; told nothing, it writes the kernel it was shown again. Prints both trajectories. Exit status 0 if feedback
led to the fastest kernel and its absence to none that is correct, 1 if not.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from scripted_model import ScriptedModel

PROBLEM = '''"""Scale and clamp"""
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x * 2)


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return []
'''

KERNEL = '''```cpp
// stage %(stage)d of sample %(name)s
#include <kernelbench/kernel.h>

#include <cstdint>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = int64_t{256} * 1024;
  for (int64_t i = 0; i < n - %(missing)d; ++i) {
    %(type)s v = 0;
    for (int again = 0; again < %(repeat)d; ++again) v = x[i] * 2;
    y[i] = v > 0 ? v : 0;
  }
  for (int64_t i = n - %(missing)d; i < n; ++i) y[i] = 7;
  return 0;
}
```'''

# Wrong at the end; right and very slow; right and slow; right.
STAGES = [(3000, "volatile float", 1), (0, "volatile float", 60), (0, "volatile float", 8), (0, "float", 1)]


def answer(messages, _request):
    """The next stage if the last message says how the shown candidate did, else the same one again."""
    name = len(messages)
    shown = re.search(r"// stage (\d)", messages[-2]["content"]) if len(messages) > 2 else None
    stage = int(shown.group(1)) if shown else 0
    told = messages[-1]["content"]
    if shown and stage == 0 and re.search(r"incorrect|wrong", told):
        stage = 1
    elif shown and stage > 0 and re.search(r"\d+(\.\d+)?x|speedup", told, re.IGNORECASE):
        stage = min(stage + 1, len(STAGES) - 1)
    missing, kind, repeat = STAGES[stage]
    return "Here it is.\n" + KERNEL % {"stage": stage, "name": name, "missing": missing, "type": kind, "repeat": repeat}


def search(binary, root, strategy, feedback):
    run = strategy + ("" if feedback else "-without-feedback")
    flags = {"refine": ["--samples", "1", "--turns", "5"], "evolve": ["--islands", "2", "--population", "2", "--turns", "5", "--migrate-every", "2"]}[strategy]
    environment = {**os.environ, "KERNELBENCH_STORE": str(root / "store.db")}
    with ScriptedModel(answer) as model:
        command = [binary, "generate", str(root / "scale.py"), "--model", f"vllm:scripted@{model.url}", "--run", run, "--strategy", strategy, *flags,
                   "--protocol", "quick", "--profile-ms", "0", "--shots", "0", "--hardware", "none", "--quiet", "--json"] + ([] if feedback else ["--no-feedback"])
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{run} failed with {done.returncode}: {done.stderr}{done.stdout[-1000:]}")
    shown = subprocess.run([binary, "trajectory", run], env=environment, capture_output=True, text=True, check=True).stdout
    print(f"{strategy}, {'with' if feedback else 'without'} feedback:\n" + "\n".join(shown.splitlines()[1:]))
    told = subprocess.run([binary, "trajectory", run, "--json"], env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(told)["models"][0]["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "kernelbench"
    parser.add_argument("--binary", default=str(own))
    parser.add_argument("--strategy", choices=["refine", "evolve", "both"], default="both")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="kernelbench-search.") as directory:
        root = pathlib.Path(directory)
        (root / "scale.py").write_text(PROBLEM)
        for strategy in ["refine", "evolve"] if options.strategy == "both" else [options.strategy]:
            steps = search(options.binary, root, strategy, True)
            if steps[0]["solved"] != 0 or steps[-1]["solved"] != 1:
                failures.append(f"{strategy}: feedback did not make the kernel correct")
            bests = [step["best"] for step in steps if step["best"] is not None]
            if len(bests) < 3 or bests != sorted(bests) or bests[-1] < 5 * bests[0]:
                failures.append(f"{strategy}: feedback did not make the kernel faster: {bests}")
            if any(step["solved"] for step in search(options.binary, root, strategy, False)):
                failures.append(f"{strategy}: it got better without feedback")
    for failure in failures:
        print("FAILED " + failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
