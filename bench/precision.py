#!/usr/bin/env python3
"""Which arithmetic below fp32 does a protocol accept? bench/precision.py [PROBLEM...] [--size=small] prints a table.

Each candidate is the problem's own module whose matrix products and convolutions take operands rounded to TF32, fp16 or bf16, and add
up in fp32, as tensor cores do; `split` rounds nothing and adds up products in two parts, which must be accepted. The judge is the real one.
PROBLEM is a name such as 2/22; without any, all of levels 1 and 2 that have a product.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import tempfile

import common

ROUNDINGS = {
    "tf32": "((t.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)",
    "fp16": "t.half().float()",
    "bf16": "t.bfloat16().float()",
}

MODE = '''

import torch
import torch.nn.functional
from torch.overrides import TorchFunctionMode

_CONVOLUTIONS = {torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d}
_PRODUCTS = {torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.mm, torch.Tensor.mm, torch.bmm, torch.Tensor.bmm,
             torch.mv, torch.Tensor.mv}
_LINEAR = torch.nn.functional.linear


def _rounded(t):
    return %s if isinstance(t, torch.Tensor) and t.dtype == torch.float32 else t


class _Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.einsum:
            args = (args[0], *([_rounded(t) for t in a] if isinstance(a, (list, tuple)) else _rounded(a) for a in args[1:]))
        elif function in _CONVOLUTIONS or function in _PRODUCTS or function is _LINEAR:
            args = (*map(_rounded, args[:2]), *args[2:])
            kwargs.update({name: _rounded(kwargs[name]) for name in ("input", "weight", "other", "mat2") if name in kwargs})
        return function(*args, **kwargs)


class ModelNew(Model):
    def forward(self, *args, **kwargs):
        with _Mode():
            return super().forward(*args, **kwargs)
'''

# In place of the mode's last line: the inner dimension of a product in two parts.
SPLIT = '''
        if function in _PRODUCTS and len(args) == 2 and not kwargs:
            part = args[0].shape[-1] // 3
            inner = -2 if args[1].dim() > 1 else -1
            rest = args[0].shape[-1] - part
            return (function(args[0].narrow(-1, 0, part), args[1].narrow(inner, 0, part)) +
                    function(args[0].narrow(-1, part, rest), args[1].narrow(inner, part, rest)))
        if (function is _LINEAR or function in _CONVOLUTIONS) and len(args) > 1:
            transposed = "transpose" in function.__name__
            groups = args[6] if len(args) > 6 else kwargs.get("groups", 1)
            if function is _LINEAR or groups == 1:
                at = -1 if function is _LINEAR else 1
                part = args[0].shape[at] // 3
                rest = args[0].shape[at] - part
                if part > 0:
                    inner = 0 if transposed else at
                    without_bias = (*args[:2], None, *args[3:])
                    sums = [function(args[0].narrow(at, first, n), args[1].narrow(inner, first, n), *without_bias[2:], **kwargs)
                             for first, n in ((0, part), (part, rest))]
                    bias = args[2] if len(args) > 2 else None
                    if bias is None:
                        return sums[0] + sums[1]
                    return sums[0] + sums[1] + (bias if function is _LINEAR else bias.view(-1, *[1] * (sums[0].dim() - 2)))
'''
LAST = "        return function(*args, **kwargs)\n"
WORDS = re.compile(r"nn\.Linear|nn\.Conv|F\.linear|F\.conv|matmul|einsum|\.mm\(|\.bmm\(|\.T\b|\w @ \w")


def has_product(source):
    return WORDS.search(source) is not None


def write_candidates(file, number, directory):
    source = pathlib.Path(file).read_text()
    texts = {name: source + MODE % rounding for name, rounding in ROUNDINGS.items()}
    texts["split"] = source + (MODE % "t").replace(LAST, SPLIT.lstrip("\n") + LAST)
    for name, text in texts.items():
        path = pathlib.Path(directory) / f"{number.replace('/', '_')}_{name}.py"
        path.write_text(text)
        yield name, path


def judge(problems, size, protocol):
    """By problem and kind of candidate the evaluation, in one run."""
    with tempfile.TemporaryDirectory(prefix="precision.") as folder:
        kinds = {}
        with open(f"{folder}/candidates.jsonl", "w") as lines:
            for number, file in problems.items():
                for sample, (name, path) in enumerate(write_candidates(file, number, folder)):
                    kinds[str(path)] = name
                    lines.write(json.dumps({"problem": number, "path": path.name, "sample": sample}) + "\n")
        command = [common.BINARY, "run", f"{folder}/candidates.jsonl", "--store", f"{folder}/store.sqlite", "--json", "--quiet",
                   f"--size={size}", f"--protocol={protocol}", "--measure=false", "--profile-ms=0", "--static=off"]
        done = subprocess.run(command, capture_output=True, text=True)
        results = collections.defaultdict(dict)
        for line in map(json.loads, done.stdout.splitlines()):
            if "verdict" in line:
                results[line["problem"]][kinds[str(pathlib.Path(folder) / pathlib.Path(line["candidate"]["path"]).name)]] = line
        if not results:
            raise SystemExit(done.stderr)
        return results


def told(evaluation):
    """The largest error on natural inputs, as a multiple of what is allowed; in bold where it is accepted on all."""
    if evaluation is None:
        return "–"
    if evaluation["verdict"] not in ("correct", "incorrect"):
        return evaluation["verdict"]
    error = (evaluation["errors"] or {}).get("natural")
    text = f"{error:.2g}" if isinstance(error, (int, float)) else str(error)
    return f"**{text}**" if evaluation["verdict"] == "correct" else text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--size", default="small")
    parser.add_argument("--protocol", default="strict")
    given = parser.parse_args()
    files = common.problem_files()
    names = given.problems or [name for name, file in files.items()
                               if name.split("/")[0] in ("1", "2") and has_product(pathlib.Path(common.ROOT, file).read_text())]
    results = judge({name: pathlib.Path(common.ROOT, files[name]) for name in names}, given.size, given.protocol)
    kinds = [*ROUNDINGS, "split"]
    some = next(iter(next(iter(results.values())).values()))
    print(common.heading("Arithmetic below fp32, by emulation on a CPU", some))
    print(f"`{given.protocol}`, size {given.size}: the largest error on natural inputs as a multiple of what is allowed; **bold**: correct.\n")
    print("| problem |", " | ".join(kinds), "|\n|---|" + "---|" * len(kinds))
    for name in names:
        print(f"| {name} |", " | ".join(told(results[name].get(kind)) for kind in kinds), "|")
    print("\n| of all | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    judged = {kind: [r[kind]["verdict"] for r in results.values() if kind in r] for kind in kinds}
    print("| accepted |", " | ".join(f"{v.count('correct')} of {len(v)}" for v in judged.values()), "|")


if __name__ == "__main__":
    main()
