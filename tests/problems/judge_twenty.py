#!/usr/bin/env python3
"""For twenty problems over all decks: is the reference itself judged correct as a candidate, and a slightly wrong one not?

    judge_twenty.py [--binary PATH] [--size small] [--device cpu] [--protocol strict] [NAME ...]

The wrong one adds a twentieth of the output's standard deviation to the last hundredth of its first floating output; where
the output is a single number, a thousandth of it.

Exit status: 0 if all forty verdicts are right, 1 if not.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from problem_index import problem_files  # noqa: E402

TWENTY = ("1/3", "1/24", "1/47", "1/57", "1/91", "1/98", "2/22", "2/44", "2/61", "2/73", "3/1", "3/8", "3/31", "3/36",
          "4/7", "v3:1/9", "v3:4/3", "v3:4/7", "modern:5", "modern:7")

CORRECT = """
_Reference = Model


class ModelNew(_Reference):
    pass
"""
WRONG = """
_Reference = Model


class ModelNew(_Reference):
    def forward(self, *inputs):
        y = super().forward(*inputs)
        outputs = [y] if isinstance(y, torch.Tensor) else list(y)
        i = next(i for i, t in enumerate(outputs) if t.is_floating_point())
        t = outputs[i].clone(memory_format=torch.contiguous_format)
        flat = t.view(-1)
        if flat.numel() == 1:
            flat.mul_(1.001)
        else:
            flat[-(flat.numel() // 100 + 1):] += t.std() / 20
        outputs[i] = t
        return t if isinstance(y, torch.Tensor) else type(y)(outputs)
"""


def with_sizes(source, size):
    """The module as it is at this size: a candidate knows nothing of sizes."""
    return source + f"\nglobals().update(SIZES.get({size!r}, {{}}))\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--binary", default=str(ROOT / "build/release/bin/kernelbench"))
    parser.add_argument("--size", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="strict")
    arguments = parser.parse_args()
    files, right = problem_files(), 0
    names = arguments.names or TWENTY
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            source = with_sizes(files[name].read_text(), arguments.size)
            paths = []
            for kind, more in (("correct", CORRECT), ("incorrect", WRONG)):
                path = pathlib.Path(directory) / f"{kind}.py"
                path.write_text(source + more)
                paths.append(str(path))
            command = [arguments.binary, "eval", name, *paths, "--size", arguments.size, "--device", arguments.device,
                       "--protocol", arguments.protocol, "--json", "--no-store", "--quiet"]
            done = subprocess.run(command, capture_output=True, text=True)
            verdicts = {}
            for line in done.stdout.splitlines():
                evaluation = json.loads(line)
                verdicts[pathlib.Path(evaluation["candidate"]["path"]).stem] = evaluation
            for kind in ("correct", "incorrect"):
                evaluation = verdicts.get(kind, {})
                verdict = evaluation.get("verdict", "none: " + done.stderr.strip()[-200:])
                right += verdict == kind
                print(f"{'ok ' if verdict == kind else 'BAD'} {name:<9} {kind:<10} {verdict:<10} {evaluation.get('reason', '')[:110]}", flush=True)
    print(f"{right} of {2 * len(names)} verdicts are right ({arguments.protocol}, {arguments.size}, {arguments.device})")
    return 0 if right == 2 * len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
