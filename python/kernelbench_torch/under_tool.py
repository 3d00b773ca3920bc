"""A module under a tool of NVIDIA's: `python -m kernelbench_torch.under_tool SPEC LIBRARY`.

Started inside the sandbox, by the tool; measured and judged by nobody. SPEC is a JSON file (runner_spec.SpecFile). The GPU is
opened before this process is confined, because the tool connects to its own parts then.
"""

import json
import os
import sys
import traceback

import torch

from . import extensions, first_call, module_runner, ops, runner_library, runner_spec, trees
from .problem import seed_generators


def call(spec, profiled):
    model = module_runner.construct(spec, 1)
    inputs = [first_call.stand_in(each, spec.device) for each in spec.form.inputs]
    seed_generators(1, spec.device)
    trees.call(model, spec.form.structure, inputs)
    torch.cuda.synchronize()
    if profiled:
        torch.cuda.cudart().cudaProfilerStart()
        trees.call(model, spec.form.structure, inputs)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def main():
    with open(sys.argv[1]) as file:
        told = ops.decoded(runner_spec.SpecFile, json.load(file))
    spec = told.spec
    library = runner_library.load(sys.argv[2])
    torch.set_num_threads(spec.threads)
    torch.set_grad_enabled(False)
    torch.zeros(1, device=spec.device)
    extensions.serve_finished(spec, [os.open(path, os.O_RDONLY) for path in told.extensions])
    problem = runner_library.confine(library, told.confinement)
    if problem:
        sys.exit(f"kernelbench: {problem}")
    if told.first_call:
        first_call.adopt(os.open(told.first_call, os.O_RDONLY))
    try:
        call(spec, told.profiled)
    except BaseException:
        print("kernelbench: the call did not end well:", file=sys.stderr)
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
