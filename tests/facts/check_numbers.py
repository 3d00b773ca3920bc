#!/usr/bin/env python3
"""Holds the numbers of the modules in problems/ against facts.jsonl: same seed, same weights, same answers. Needs a GPU.

    check_numbers.py [LEVEL/ID ...]    these problems, or all

The facts were taken with TF32 off, CUDA as the default device and torch.manual_seed(42) before each of get_init_inputs, Model,
get_inputs and forward: of every tensor nine elements at equal distances, its mean and its standard deviation. The order in
which a module draws random numbers decides its weights, so equal numbers mean an equivalent module. A module that
declares a difference (FACTS_DIFFER) is compared only in its inputs, and not even there if it names inputs or numbers.

Exit status: 0 if none disagrees, 1 if one does, 2 if a named one does not exist, 77 without a GPU.
"""
import collections
import gc
import json
import math
import sys
import warnings

import torch

from check_structure import HERE, PROBLEMS, leaves, load

INPUT_TOLERANCE, OUTPUT_TOLERANCE = 1e-5, 2e-3  # of the standard deviation and the value
_PIECE = 1 << 26  # elements added up in fp64 at a time


def sampled(tensor):
    count = tensor.numel()
    places = [count * k // 8 for k in range(8)] + [count - 1]
    return tensor.detach().reshape(-1)[torch.tensor(places, device=tensor.device)].double().tolist()


def mean_and_spread(tensor):
    pieces = [piece.double() for piece in tensor.detach().reshape(-1).split(_PIECE)]
    mean = math.fsum(piece.sum().item() for piece in pieces) / tensor.numel()
    square = math.fsum(piece.square().sum().item() for piece in pieces) / tensor.numel()
    return mean, math.sqrt(max(square - mean * mean, 0.0))


def differences(what, tensors, facts, tolerance):
    facts = [fact for fact in facts if isinstance(fact, dict) and "shape" in fact]
    for index, (tensor, fact) in enumerate(zip(tensors, facts)):
        if list(tensor.shape) != fact["shape"] or tensor.numel() == 0:
            continue  # the structure's affair
        unit = max(fact["std"], 1e-12)
        for got, wanted in zip(sampled(tensor), fact["samples"]):
            if abs(got - wanted) > tolerance * (unit + abs(wanted)):
                yield f"{what} {index}: an element is {got:.7g}, the facts have {wanted:.7g}"
                break
        mean, spread = mean_and_spread(tensor)
        if max(abs(mean - fact["mean"]), abs(spread - fact["std"])) > tolerance * (unit + abs(fact["mean"])):
            yield f"{what} {index}: mean {mean:.7g}, deviation {spread:.7g}; the facts have {fact['mean']:.7g}, {fact['std']:.7g}"


def seeded(function, *arguments):
    torch.manual_seed(42)
    return function(*arguments)


def disagreements(fact):
    module = load(PROBLEMS / f"level{fact['level']}" / fact["file"])
    declared = getattr(module, "FACTS_DIFFER", {})
    with torch.no_grad(), torch.device("cuda"):
        model = seeded(module.Model, *seeded(module.get_init_inputs)).cuda()
        inputs = seeded(module.get_inputs)
        tensors = [value for value in leaves(inputs) if isinstance(value, torch.Tensor)]
        if not {"inputs", "numbers"} & set(declared):
            yield from differences("input", tensors, fact["inputs"], INPUT_TOLERANCE)
        outputs = seeded(model, *inputs)
        if not declared:
            yield from differences("output", list(leaves(outputs)), fact["outputs"], OUTPUT_TOLERANCE)


def main(names):
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no NVIDIA GPU")
        return 77
    warnings.filterwarnings("ignore")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    facts = {f"{fact['level']}/{fact['id']}": fact for fact in map(json.loads, (HERE / "facts.jsonl").read_text().splitlines())}
    if unknown := [name for name in names if name not in facts]:
        print(f"the facts have no problem {', '.join(unknown)}", file=sys.stderr)
        return 2
    count = collections.Counter()
    for name in names or facts:
        try:
            sentences = list(disagreements(facts[name]))
        except Exception as error:
            sentences = [f"{type(error).__name__}: {error}"]
        count["disagrees" if sentences else "agrees"] += 1
        for sentence in sentences:
            print(f"{name}: {sentence}", flush=True)
        gc.collect()
        torch.cuda.empty_cache()
    print(f"{count['agrees']} agree where they do not declare a difference, {count['disagrees']} disagree")
    return 1 if count["disagrees"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
