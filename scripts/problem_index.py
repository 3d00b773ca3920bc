#!/usr/bin/env python3
"""Writes problems/index.json: how much each problem moves and computes at each of its sizes.

    problem_index.py            brings the index up to date: problems whose file changed, is new or is gone
    problem_index.py --check    says what is not up to date (needs no PyTorch); exit status 1 if anything is

Modules run on the meta device, where tensors have shapes and no memory. For each size:
    input_bytes, parameter_bytes, output_bytes    what any implementation must at least read and write
    operators                                     operators that compute something (views do not)
    flops            PyTorch's own count for matrix products, convolutions and attention (a multiplication and an
                     addition are two); other operators count one for each element of their largest operand
    matrix_flops     the part of it that matrix units can do
"dominated_by" is the largest of three lower bounds at the standard size, at an H200's published rates: bytes / 4.8 TB/s
(memory), matrix_flops / 495 TFLOP/s in TF32 (tensor cores), 4 us an operator (launch).
"""

import argparse
import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROBLEMS = ROOT / "problems"
INDEX = PROBLEMS / "index.json"
BYTES_PER_S, FLOPS_PER_S, LAUNCH_S = 4.8e12, 495e12, 4e-6


def problem_files():
    """{name: path} in the order of src/judge/problem/problem_catalog.h."""
    found = {}
    for deck in ("", "v3", "modern"):
        prefix = f"{deck}:" if deck else ""
        for path in (PROBLEMS / deck).glob("level*/[0-9]*_*.py"):
            found[f"{prefix}{path.parent.name[5:]}/{path.name.split('_')[0]}"] = path
        for path in (PROBLEMS / deck).glob("[0-9]*_*.py"):
            found[f"{prefix}{path.name.split('_')[0]}"] = path

    def order(name):
        deck, _, number = name.rpartition(":")
        return ("", "v3", "modern").index(deck), *map(int, number.split("/"))
    return {name: found[name] for name in sorted(found, key=order)}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def figures(path, size):
    import torch
    from kernelbench_torch import trees
    from kernelbench_torch.problem import load_module, tensor_bytes
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Count(TorchDispatchMode):
        flops = matrix = operators = 0
        last = None

        def question(self, tensor):
            """Libraries ask whether all tokens count, or any is special; here, as in the inputs, all and none."""
            return tensor.new_ones((), dtype=tensor.dtype, device="cpu").item() if self.last != "any" else False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            formula = flop_registry.get(func._overloadpacket)
            if func._overloadpacket is torch.ops.aten._local_scalar_dense and args[0].device.type == "meta":
                return self.question(args[0])
            if formula is None and func not in (torch.ops.prim.device.default,):
                with self:
                    decomposed = func.decompose(*args, **(kwargs or {}))
                if decomposed is not NotImplemented:
                    return decomposed
            if func._overloadpacket is torch.ops.aten.bincount and args[0].device.type == "meta":
                out = balanced(args[0].numel(), (kwargs or {}).get("minlength", args[2] if len(args) > 2 else 0))
            else:
                out = func(*args, **(kwargs or {}))
            self.last = func._overloadpacket.__name__
            operands = [t.numel() for t in torch.utils._pytree.tree_leaves([args, kwargs, out]) if isinstance(t, torch.Tensor)]
            if formula is not None:
                matrix = formula(*args, **(kwargs or {}), out_val=out)
                self.matrix += matrix
                self.flops += matrix
                self.operators += 1
            elif operands and not func.is_view and func._overloadpacket not in UNCOUNTED:
                self.flops += max(operands)
                self.operators += 1
            return out

    def balanced(items, bins):
        """Which expert a token goes to depends on values, of which there are none; how much is computed does not."""
        return torch.tensor([items // bins + (i < items % bins) for i in range(bins)], device="cpu")

    UNCOUNTED = {torch.ops.aten._unsafe_view, torch.ops.aten.detach, torch.ops.aten.empty, torch.ops.aten.empty_like,
                 torch.ops.aten.new_empty, torch.ops.aten._reshape_alias, torch.ops.aten.lift_fresh}
    module = load_module(path, size)
    with torch.no_grad(), torch.device("meta"):
        positional, named = trees.arguments(module.Model, module.get_init_inputs())
        model = module.Model(*positional, **named)
        inputs = trees.arguments(model.forward, module.get_inputs())
        with Count() as count:
            outputs = model(*inputs[0], **inputs[1])
    state = list({id(t): t for t in [*model.parameters(), *model.buffers()]}.values())  # tied weights once
    found = []
    trees.flatten(outputs, found, "outputs")
    return {"input_bytes": tensor_bytes(inputs), "parameter_bytes": tensor_bytes(state),
            "output_bytes": sum(t.numel() * t.element_size() for t in found), "operators": count.operators,
            "flops": count.flops, "matrix_flops": count.matrix}


def dominated_by(standard):
    bounds = {"memory": sum(v for k, v in standard.items() if k.endswith("_bytes")) / BYTES_PER_S,
              "tensor cores": standard["matrix_flops"] / FLOPS_PER_S, "launch": standard["operators"] * LAUNCH_S}
    return max(bounds, key=bounds.get)


def entry(path):
    from kernelbench_torch.problem import load_module
    sizes = ["standard", *getattr(load_module(path, "standard"), "SIZES", {})]
    measured = {size: figures(path, size) for size in sizes}
    return {"sha256": digest(path), "dominated_by": dominated_by(measured["standard"]), "sizes": measured}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    index = json.loads(INDEX.read_text()) if INDEX.exists() else {}
    files = problem_files()
    stale = [name for name, path in files.items() if index.get(name, {}).get("sha256") != digest(path)]
    gone = sorted(set(index) - set(files))
    if arguments.check:
        for name in stale + gone:
            print(f"{name}: {'no longer there' if name in gone else 'not in problems/index.json as it is now'}")
        print(f"{len(files)} problems, {len(stale) + len(gone)} not up to date"
              + (": run scripts/problem_index.py" if stale or gone else ""))
        return 1 if stale or gone else 0
    sys.path.insert(0, str(ROOT / "python"))
    failed = 0
    for name in stale:
        try:
            index[name] = entry(files[name])
            print(f"{name}: {index[name]['dominated_by']}, {index[name]['sizes']['standard']}", flush=True)
        except Exception as error:  # the others are still worth writing down
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    INDEX.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(index[name])}" for name in files if name in index) + "\n}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
