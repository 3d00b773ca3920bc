"""A module under a tool of NVIDIA's: `python -m kernelbench_torch.under_tool SPEC LIBRARY`.

Started inside the sandbox, by the tool; measured and judged by nobody. SPEC is a JSON file: what a runner is told
(module_runner.py), with paths in "extension_files" and "compiled_file" instead of descriptors, and "profiled": whether a second
call follows, of which a profiler is told. The GPU is opened before this process is confined, because the tool connects to its own
parts then.
"""

import json
import os
import sys
import traceback

import torch

from . import extensions, first_call, module_runner, runner_library, trees
from .problem import seed_generators


def call(spec):
    model = module_runner.construct(spec, 1)
    inputs = [first_call.stand_in(s, spec["device"]) for s in spec["inputs"]]
    seed_generators(1, spec["device"])
    trees.call(model, spec["structure"], inputs)
    torch.cuda.synchronize()
    if spec["profiled"]:
        torch.cuda.cudart().cudaProfilerStart()
        trees.call(model, spec["structure"], inputs)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def main():
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    library = runner_library.load(sys.argv[2])
    torch.set_num_threads(spec["threads"])
    torch.set_grad_enabled(False)
    torch.zeros(1, device=spec["device"])
    extensions.serve_finished(spec["extensions"], [os.open(path, os.O_RDONLY) for path in spec["extension_files"]])
    problem = runner_library.confine(library, spec)
    if problem:
        sys.exit(f"kernelbench: {problem}")
    if spec["compiled_file"]:
        first_call.adopt(os.open(spec["compiled_file"], os.O_RDONLY))
    try:
        call(spec)
    except BaseException:
        print("kernelbench: the call did not end well:", file=sys.stderr)
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
