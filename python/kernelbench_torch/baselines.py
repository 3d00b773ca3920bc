"""What a candidate's time is divided by: the reference as PyTorch ships it, or as someone would run it who cares.

    eager                      as it ships (on a GPU, convolutions in TF32)
    eager-fp32                 without TF32
    compile-default            torch.compile
    compile-reduce-overhead    torch.compile, with CUDA graphs on a GPU
    compile-max-autotune       torch.compile, with autotuning

Whatever is timed, the expected output is that of eager.
"""

import contextlib
import io
import sys

import torch

from . import trees
from .problem import ProblemError, seed_generators, zeros_like_outputs

_WARM_UP_CALLS = 3  # CUDA graphs are recorded in the second


@contextlib.contextmanager
def _strict_fp32():
    switches = torch.backends.cuda.matmul, torch.backends.cudnn
    kept = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = False
    try:
        yield
    finally:
        for switch, value in zip(switches, kept):
            switch.allow_tf32 = value


class Baseline:
    """One kind for one problem; compiled when it is made, for every set of weights."""

    def __init__(self, problem, kind):
        self.problem, self.kind = problem, kind
        self.is_reference = kind == "eager"
        self._models = problem.models
        forms = [(t.dtype, t.shape) for t in problem.output_examples]
        self._zeros = lambda *_, **__: zeros_like_outputs(problem.output_structure, forms, problem.device)
        self._context = _strict_fp32 if kind == "eager-fp32" else contextlib.nullcontext
        if kind.startswith("compile-"):
            self._compile(kind.removeprefix("compile-"))

    def forward(self, weights, structure, tensors, rng_seed):
        """One call, as Problem.forward is called."""
        return self._call(self._models[weights], structure, tensors, rng_seed)

    def empty(self, structure, tensors):
        """The same for a model that writes zeros in the form of the outputs, and nothing else."""
        return self._call(self._zeros, structure, tensors, 0)

    def _call(self, model, structure, tensors, rng_seed):
        seed_generators(rng_seed, self.problem.device)
        with self._context():
            return trees.call(model, structure, tensors)

    def _compile(self, mode):
        said = io.StringIO()  # autotuning prints a table for each kernel
        try:
            self._models = [torch.compile(model, mode=mode) for model in self.problem.models]
            with contextlib.redirect_stderr(said):
                for weights in range(len(self._models)):
                    structure, tensors = self.problem.draw()
                    for _ in range(_WARM_UP_CALLS):
                        self.forward(weights, structure, [t.clone() for t in tensors], 1)
        except Exception as error:
            text = str(error).strip().splitlines()
            sys.stderr.write(said.getvalue()[-4000:])
            raise ProblemError(f"{self.problem.path}: the baseline {self.kind} cannot be made: {type(error).__name__}: "
                               f"{text[0] if text else ''}; choose --baseline eager") from error
