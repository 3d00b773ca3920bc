"""What an evaluation takes of the device's memory, before it takes any: bytes, from what a problem's tensors and its forward need.

Three states count (the tensors of one are gone before the next begins):
    anchors   drawn inputs, the same in fp64, what forward needs in fp64, and its outputs in fp64
    rounds    private and shared inputs, expected and shared outputs, the next inputs being drawn or the reference running, the candidate
    beside    either of them, and the reference's own process, which shares its inputs with the candidate
"""

import dataclasses
import math

import torch
from torch.overrides import TorchFunctionMode

_PROCESS_BYTES = 2 << 30  # a context, what cuBLAS and cuDNN take in it, and the contexts of runners that wait
_ARENA_SPARE_BYTES, _HOST_SPARE_BYTES, _MOST_KEPT_BYTES = 64 << 20, 1 << 20, 64 << 20
_TURNS_BYTES, _MOST_TURNS = 512 << 20, 32


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """`forward`: what a forward needs beside inputs and outputs, copies of outputs that are not contiguous too. `weights`: of one set; `sets` of them are there. `widening`: how much
    larger a number is in fp64. `input_copies`, `output_copies`: that the device process keeps besides."""
    inputs: int
    outputs: int
    forward: int = 0
    weights: int = 0
    sets: int = 1
    widening: int = 2
    input_copies: int = 0
    output_copies: int = 0

    def _kept(self):
        return self.input_copies * self.inputs + self.output_copies * self.outputs + self.sets * self.weights

    def anchors(self):
        wide = self.widening * (self.inputs + self.outputs + self.forward + self.weights)
        return self.inputs + wide + self._kept()

    def rounds(self, arena):
        """`arena`: what is shared for outputs."""
        drawing = self.inputs + self.inputs // 4  # an input distribution's copy, and the mask that it draws
        shared = self.inputs + arena + self.weights
        return self.inputs + shared + self.outputs + max(drawing, self.forward) + self._kept() + self.candidate()

    def candidate(self):
        """What a candidate may take beside what is shared with it."""
        return self.forward + 2 * self.weights

    def turns(self, free):
        """In how many places more a module's outputs lie in turn (output_arena.py): what a place costs is too little to be seen where
        outputs are large."""
        return min(_TURNS_BYTES, free // 32) // max(self.outputs, _TURNS_BYTES // _MOST_TURNS)

    def arena(self, free, kept=1):
        """For a module's outputs: this call's, `kept` that it keeps and those that await their turn, a quarter more for those, since torch
        takes memory in pieces of 2 MiB; what forward needs besides, and an eighth of that for what is lost between its tensors; at most a
        third of what is `free`."""
        in_turn = self.turns(free) * self.outputs * 5 // 4
        wanted = (1 + kept) * self.outputs + in_turn + self.forward * 9 // 8 + _ARENA_SPARE_BYTES
        return max(self.outputs + (2 << 20), min(wanted, free // 3))

    def host_arena(self, places, reach, free):
        """The same on the CPU, where only what is as large as an output lies in it (output_arena.py): `places` bytes for copies, what the
        reference has needed, its `reach`, and what a candidate may keep: one call's outputs, or three where they are not large."""
        kept = self.outputs + min(2 * self.outputs, _MOST_KEPT_BYTES)
        wanted = places + max(reach, self.outputs) + kept + _HOST_SPARE_BYTES
        return max(places + self.outputs + _HOST_SPARE_BYTES, min(wanted, free // 3))

    def least(self):
        """Without the reference's own process."""
        return max(self.anchors(), self.rounds(2 * self.outputs))

    def beside(self, arena, reference_arena):
        """With it; its outputs and temporaries lie in `reference_arena`."""
        own = self.inputs + self.outputs + reference_arena + self.sets * self.weights
        return own + max(self.anchors(), self.rounds(arena) - self.inputs) + 2 * _PROCESS_BYTES

    def allowance(self):
        """More than that in a candidate's process is its own doing: outputs that it keeps, and a context, too."""
        return self.candidate() + self.outputs + _PROCESS_BYTES


_CONVOLUTION = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
_TRANSPOSED = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
_EITHER = ("input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups")
_ARGUMENTS = {**dict.fromkeys((torch.conv1d, torch.conv2d, torch.conv3d), _CONVOLUTION),
              **dict.fromkeys((torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d), _TRANSPOSED),
              torch.convolution: _EITHER}


def _elements_laid_out(x, weight, result, transposed, dilated, groups):
    """What a convolution in fp64 holds on a CPU beside its operands and its result, in elements."""
    dims = weight.dim() - 2
    samples = x.shape[0] if x.dim() == weight.dim() else 1
    if dims == 3 if transposed else dilated:
        samples = 1  # one after the other
    windows = samples * math.prod(weight.shape[1:]) * math.prod((x if transposed else result).shape[-dims:])
    if groups == 1:
        return windows
    if dims == 3 and not transposed and not dilated:
        return groups * windows  # of all groups at once
    # One group after the other, each with its part of the input copied; in the end their results are copied together.
    return max(windows, result.numel()) + x.numel() if transposed else windows + result.numel() + x.numel() // groups


class Windows(TorchFunctionMode):
    """While it is entered: `bytes`, what the widest convolution takes in fp64 on a CPU, which lays out every window of it."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        names = _ARGUMENTS.get(function)
        if names:
            given = {**dict(zip(names, args)), **(kwargs or {})}
            dilation = given.get("dilation", 1)
            dilated = any(d > 1 for d in (dilation if isinstance(dilation, (list, tuple)) else [dilation]))
            transposed = given.get("transposed", names is _TRANSPOSED)
            self.bytes = max(self.bytes, 8 * _elements_laid_out(given["input"], given["weight"], result, transposed, dilated, given.get("groups", 1)))
        return result
