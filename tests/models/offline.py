#!/usr/bin/env python3
"""The whole way without a network: a replayed model, 20 problems with 5 answers each, generated, judged, scored and reported by one command on the CPU.

    tests/models/offline.py [--problems 20] [--samples 5] [--measure] [--report FILE.html] [--binary build/dev/bin/kernelbench]

The answers are right, right with OpenMP, wrong, not compiling, and without code, in fences as models write them. Checks every verdict, that the forecast made after
the first sample of each problem is within a tenth of what the others took, that the run as KernelBench keeps one holds every candidate, and that the same command
again asks nothing. Exit status 0 if all held, 1 if not.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ELEMENTWISE = {
    19: "v > 0 ? v : 0", 20: "v > 0 ? v : 0.01f * v", 21: "1 / (1 + std::exp(-v))", 22: "std::tanh(v)", 25: "v / (1 + std::exp(-v))",
    26: "0.5f * v * (1 + std::erf(v * 0.70710678f))", 27: "1.05070099f * (v > 0 ? v : 1.67326324f * std::expm1(v))", 28: "std::min(std::max(v / 6 + 0.5f, 0.0f), 1.0f)",
    29: "v > 20 ? v : std::log1p(std::exp(v))", 30: "v / (1 + std::fabs(v))", 31: "v > 0 ? v : std::expm1(v)", 32: "std::min(std::max(v, -1.0f), 1.0f)",
    88: "0.5f * v * (1 + std::tanh(0.79788456f * (v + 0.044715f * v * v * v)))"}
ROWS = {  # what a row's sum is of, and what becomes of an element
    23: ("std::exp(v - top)", "std::exp(v - top) / sum"), 24: ("std::exp(v - top)", "v - top - std::log(sum)"), 38: ("std::fabs(v)", "v / (sum / columns)"), 39: ("v * v", "v / std::sqrt(sum)"),
    37: ("v * v", "v / std::sqrt(sum)")}
MEANS = {94: "d * d", 96: "std::fabs(d) < 1 ? 0.5 * d * d : std::fabs(d) - 0.5"}
HEAD = """#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
"""


def kernel(number, pragma=""):
    if number in ELEMENTWISE:
        body = f"{pragma}  for (int64_t i = 0; i < n; ++i) {{\n    const float v = x[i];\n    out[i] = {ELEMENTWISE[number]};\n  }}\n"
    elif number in MEANS:
        body = ("  const float* y = static_cast<const float*>(call->inputs[1].data);\n  double sum = 0;\n" + pragma.replace("for", "for reduction(+ : sum)")
                + f"  for (int64_t i = 0; i < n; ++i) {{\n    const double d = static_cast<double>(x[i]) - y[i];\n    sum += {MEANS[number]};\n  }}\n"
                + "  out[0] = static_cast<float>(sum / n);\n")
    else:
        of, becomes = ROWS[number]
        rows = "1" if number == 37 else "call->inputs[0].shape[0]"
        body = (f"  const int64_t rows = {rows}, columns = n / rows;\n{pragma}  for (int64_t r = 0; r < rows; ++r) {{\n    double total = 0;\n"
                f"    [[maybe_unused]] const float top = *std::max_element(x + r * columns, x + (r + 1) * columns);\n"
                f"    for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {{\n      const float v = x[i];\n      total += {of};\n    }}\n"
                f"    const float sum = static_cast<float>(total);\n"
                f"    for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {{\n      const float v = x[i];\n      out[i] = {becomes};\n    }}\n  }}\n")
    return HEAD + body + "  return 0;\n}\n"


def answer(number, sample):
    """Text and the verdict that it must get."""
    right = kernel(number)
    kind = sample % 5
    if kind == 0:
        return f"A plain loop.\n\n```cpp\n{right}```\nIt reads each element once.", "correct"
    if kind == 1:
        return f"<think>Two cores: share the rows.</think>\n~~~c++\n{kernel(number, '#pragma omp parallel for' + chr(10))}~~~", "correct"
    if kind == 2:
        return f"```\n{right.replace('  return 0;', '  out[0] += 1;' + chr(10) + '  return 0;')}```", "incorrect"
    if kind == 3:
        return f"First a draft:\n```cpp\nint main() {{}}\n```\nand the kernel:\n```cpp\n{right.replace('return 0', 'return zero')}```", "build_failed"
    return "I would tile the loop and use vector instructions, but it depends on the machine.", "static_rejected"


def write_model(root, numbers, samples):
    with open(root / "answers.jsonl", "w") as lines:
        for number in numbers:
            for sample in range(samples):
                text = answer(number, sample)[0]
                usage = {"input": 2000 + number, "output": len(text) // 4 + 40}
                lines.write(json.dumps({"problem": f"level1/{number}", "sample": sample, "text": text, "usage": usage}) + "\n")
    (root / "models.toml").write_text('[models.replayed]\nprovider = "replay"\npath = "answers.jsonl"\nprice = { input = 1.0, output = 4.0 }\n')


def write_matrix(root, numbers, samples, measure, name):
    text = f"""problems = [{", ".join(f'"1/{number}"' for number in numbers)}]
models = ["replayed"]
models-file = "{root / 'models.toml'}"
run = "offline"
samples = {samples}
size = "small"
protocol = "quick"
measure = {str(measure).lower()}
profile-ms = 0
shots = 0
"""
    (root / name).write_text(text)
    return root / name


class Offline:
    def __init__(self, binary, root):
        self.binary, self.root = binary, root
        self.environment = {**os.environ, "KERNELBENCH_STORE": str(root / "store.db")}

    def run(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"kernelbench {' '.join(map(str, arguments))} failed with {done.returncode}:\n{done.stderr}{done.stdout[-1500:]}")
        return done.stdout

    def lines(self, *arguments):
        return [json.loads(line) for line in self.run(*arguments).splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    own = pathlib.Path(__file__).resolve().parents[2] / "build" / "dev" / "bin" / "kernelbench"
    parser.add_argument("--binary", default=str(own))
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--report")
    options = parser.parse_args()
    numbers = sorted([*ELEMENTWISE, *ROWS, *MEANS])[: options.problems]
    failures = []
    with tempfile.TemporaryDirectory(prefix="kernelbench-offline.") as directory:
        root = pathlib.Path(directory)
        write_model(root, numbers, options.samples)
        offline = Offline(options.binary, root)
        wanted = len(numbers) * options.samples
        spent = {"calls": 0, "cost_usd": 0.0}
        forecast = None
        if options.samples > 1:  # a pilot of one sample each, not judged, and what the others are then expected to take
            pilot = write_matrix(root, numbers, 1, options.measure, "pilot.toml")
            pilot.write_text(pilot.read_text() + "no-judge = true\n")
            spent = offline.lines("matrix", pilot, "--json")[-1]
        matrix = write_matrix(root, numbers, options.samples, options.measure, "matrix.toml")
        if options.samples > 1:
            forecast = offline.lines("matrix", matrix, "--forecast", "--json")[0]["forecast"][0]
        start = time.monotonic()
        report = options.report or root / "report.html"
        lines = offline.lines("matrix", matrix, "--report", report, "--json")
        seconds = time.monotonic() - start
        verdicts = {(line["problem"], line["sample"]): line["verdict"] for line in lines if "verdict" in line}
        summary = next(line for line in lines if line.get("summary"))
        for number in numbers:
            for sample in range(options.samples):
                expected = answer(number, sample)[1]
                if verdicts.get((f"1/{number}", sample)) != expected:
                    failures.append(f"1/{number} sample {sample}: {verdicts.get((f'1/{number}', sample))} instead of {expected}")
        if len(verdicts) != wanted or summary["answered"] != wanted or summary["calls"] != wanted:
            failures.append(f"{len(verdicts)} verdicts, {summary['answered']} answers, {summary['calls']} calls; wanted {wanted}")
        if forecast:
            took = summary["cost_usd"] - spent["cost_usd"]
            off = forecast["cost_usd"] / took - 1
            print(f"forecast of {forecast['answers']} answers from {forecast['learnt_from']}: ${forecast['cost_usd']:.4f}; they took ${took:.4f} ({100 * off:+.1f}%)")
            if abs(off) > 0.1:
                failures.append(f"the forecast is off by {100 * off:.0f}%")
        again = offline.lines("matrix", matrix, "--json")
        if sum("verdict" in line for line in again) or again[0]["calls"] != wanted:
            failures.append("the same command again did something")
        if pathlib.Path(report).stat().st_size < 1000:
            failures.append("the report is empty")
        offline.run("export", "offline", "--kernelbench", root / "run")
        kernels = len(list((root / "run").glob("**/*_kernel.*")))
        if kernels != wanted:
            failures.append(f"{kernels} candidates in KernelBench's layout, wanted {wanted}")
        print(offline.run("score", "offline", "--k", f"1,{options.samples}"))
        counts = ", ".join(f"{count} {verdict}" for verdict, count in collections.Counter(verdicts.values()).most_common())
        print(f"{len(numbers)} problems x {options.samples} samples in {seconds:.0f} s: {counts}; {len(failures)} failures")
    for failure in failures:
        print("FAILED " + failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
