#!/usr/bin/env python3
"""Holds the modules in problems/ against facts.jsonl: what a problem takes, holds and returns.

    check_structure.py [LEVEL/ID ...]    these problems, or all

Modules are built and called on the meta device, where tensors have shapes and no memory, so this checks level 3 on a
laptop. Recurrent ones are called on the CPU: on meta each of hundreds of steps is taken apart, ten times slower. Compared are the init arguments, the inputs (shapes and dtypes of tensors, values of others), the state_dict
(names and shapes, in order) and the outputs. A module that differs on purpose says so: FACTS_DIFFER = {"inputs": "why"}
exempts that part; its keys are init, inputs, state, outputs and numbers (numbers are not looked at here).

Exit status: 0 if no problem that exists disagrees, 1 if one does, 2 if a named one does not exist.
"""
import dataclasses
import importlib.util
import itertools
import json
import pathlib
import sys
import warnings

import torch

HERE = pathlib.Path(__file__).resolve().parent
PROBLEMS = HERE.parent.parent / "problems"
PARTS = ("init", "inputs", "state", "outputs")


@dataclasses.dataclass
class Structure:
    """The parts that are compared, each a list that prints well."""
    init: list
    inputs: list
    state: list
    outputs: list


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def tensor_text(dtype, shape):
    return f"{dtype}[{', '.join(map(str, shape))}]"


def text_of(value):
    if isinstance(value, torch.Tensor):
        return tensor_text(str(value.dtype).removeprefix("torch."), value.shape)
    return json.dumps(value)


def text_of_fact(fact):
    if isinstance(fact, dict) and "shape" in fact:
        return tensor_text(fact["dtype"], fact["shape"])
    return json.dumps(fact)


def structure_in(fact):
    return Structure(init=[json.dumps(argument) for argument in fact["init"]],
                     inputs=[text_of_fact(each) for each in fact["inputs"]],
                     state=[f"{name} {shape}" for name, shape in fact["state"].items()],
                     outputs=[text_of_fact(each) for each in fact["outputs"]])


def load(path):
    spec = importlib.util.spec_from_file_location("problem_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def structure_of(module, build_on):
    """`build_on`: where the module is constructed."""
    with torch.device(build_on):
        init = module.get_init_inputs()
        model = module.Model(*init)
    recurrent = any(isinstance(part, torch.nn.RNNBase) for part in model.modules())
    call_on = "cpu" if recurrent else "meta"
    model = model.to_empty(device="cpu") if recurrent else model.to("meta")
    with torch.device(call_on):
        inputs = module.get_inputs()
        outputs = model(*[each.to(call_on) if isinstance(each, torch.Tensor) else each for each in inputs])
    return Structure(init=[text_of(argument) for argument in init],
                     inputs=[text_of(each) for each in leaves(inputs)],
                     state=[f"{name} {list(value.shape)}" for name, value in model.state_dict().items()],
                     outputs=[text_of(each) for each in leaves(outputs)])


def first_difference(part, found, wanted):
    for index, (ours, theirs) in enumerate(itertools.zip_longest(found, wanted, fillvalue="nothing")):
        if ours != theirs:
            return f"{part} {index}: {ours}, the facts have {theirs}"
    return None


def disagreements(module, fact):
    """Yields a sentence for each part that differs without being declared."""
    declared = getattr(module, "FACTS_DIFFER", {})
    unknown = set(declared) - {*PARTS, "numbers"}
    if unknown:
        yield f"FACTS_DIFFER has no key {', '.join(sorted(unknown))}"
    try:
        found = structure_of(module, "meta")
    except (RuntimeError, NotImplementedError):  # some constructors read values, which meta tensors lack
        found = structure_of(module, "cpu")
    wanted = structure_in(fact)
    for part in PARTS:
        difference = first_difference(part, getattr(found, part), getattr(wanted, part))
        if difference and part not in declared:
            yield difference


def check(fact):
    """Returns what came out ("agrees", "differs as declared", "disagrees" or "not there yet") and sentences about it."""
    path = PROBLEMS / f"level{fact['level']}" / fact["file"]
    if not path.exists():
        return "not there yet", []
    try:
        module = load(path)
        with torch.no_grad():
            sentences = list(disagreements(module, fact))
    except Exception as error:
        return "disagrees", [f"{type(error).__name__}: {error}"]
    if sentences:
        return "disagrees", sentences
    declared = getattr(module, "FACTS_DIFFER", {})
    return ("differs as declared", [f"{part}: {why}" for part, why in declared.items()]) if declared else ("agrees", [])


def main(names):
    warnings.filterwarnings("ignore")
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)  # tests of their own run beside this one
    facts = [json.loads(line) for line in (HERE / "facts.jsonl").read_text().splitlines()]
    by_name = {f"{fact['level']}/{fact['id']}": fact for fact in facts}
    for name in names:
        if name not in by_name:
            print(f"the facts have no problem {name}", file=sys.stderr)
            return 2
    counts = dict.fromkeys(("agrees", "differs as declared", "disagrees", "not there yet"), 0)
    for name in names or by_name:
        outcome, sentences = check(by_name[name])
        counts[outcome] += 1
        for sentence in sentences:
            print(f"{name} {outcome}: {sentence}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["disagrees"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
