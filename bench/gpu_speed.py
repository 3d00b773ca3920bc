#!/usr/bin/env python3
"""How long does one evaluation take on a GPU, and how long is the device held for it?

    bench/gpu_speed.py [--protocols strict,quick] [--problems 1/19,1/1,...] [--copies 12] [--no-cold] [--device cpu --size small]

Copies of a candidate, equal but for a comment, are judged in one command. All but the first find the engine running: device process, problem,
anchors and baseline are there, and so is their build, for a native candidate's copies are built before, by a command that measures nothing. The
next four may still wait for their runners, which start with the first one's. Columns, in seconds, for all but the first evaluation: median (least to
largest); all steps are those of `engine_us`, docs/reference/evaluation.md:

    evaluation    the sum of all steps
    device held   the sum without `build` (compiling, or finding what was compiled), `problem` (loading the problem), `launch` (starting the
                  runner) and `other` (static analysis; in a command's first evaluation also the start of the device process). What is left
                  is anchors, baselines, session, offset, undisturbed, load, weights, draw, present, call, calls, check, baseline, compare,
                  repeat, profile and finish
    first         device held in the first evaluation of the command, which takes the anchors too
    cold command  from the start of a command of its own to its end, by the wall clock, with a copy that was never built; the judge's own
                  machine code is there, unless it is the first command of a machine

--device cpu tries the script where there is no GPU.
"""

import argparse
import os
import pathlib
import statistics
import tempfile
import time

from common import ROOT, evaluate, heading

MODULES = {"1/1": "bench/candidates/1_1_matmul.py", "2/1": "bench/candidates/2_1_conv.py", "3/43": "examples/3_43_attention/sdpa.py"}
CASES = {"cuda": {"1/19": "tests/gpu/correct/1_19_relu.cu", **MODULES}, "cpu": {"1/19": "examples/1_19_relu/plain.cpp", **MODULES}}
NOT_HELD = ("build", "problem", "launch", "other")


def total_s(evaluation, without=()):
    return sum(us for step, us in evaluation["engine_us"].items() if step not in without) / 1e6


def copy(source, directory, name):
    """A copy that no build and no evaluation has seen: it ends with a comment of its own."""
    comment = "#" if source.suffix == ".py" else "//"
    path = pathlib.Path(directory) / f"{name}{source.suffix}"
    path.write_text(f"{source.read_text()}\n{comment} {name} {os.getpid()} {time.time_ns()}\n")
    return path


def steps(evaluations):
    """Medians in milliseconds, largest first."""
    names = sorted({step for e in evaluations for step in e["engine_us"]})
    medians = {name: statistics.median(e["engine_us"].get(name, 0) for e in evaluations) / 1e3 for name in names}
    return ", ".join(f"{name} {ms:.1f}" for name, ms in sorted(medians.items(), key=lambda item: -item[1]) if ms >= 0.05)


def spread(values, form=".2f"):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def number(value, form):
    return "–" if value is None else format(value, form)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=sorted(CASES))
    parser.add_argument("--size", default="standard")
    parser.add_argument("--protocols", default="strict,quick")
    parser.add_argument("--problems", default=",".join(CASES["cuda"]))
    parser.add_argument("--copies", type=int, default=12, choices=range(2, 100), metavar="N", help="at least 2; default 12")
    parser.add_argument("--no-cold", action="store_true")
    arguments = parser.parse_args()
    where = ("--device", arguments.device, "--quiet")
    details, begun = [], False
    with tempfile.TemporaryDirectory() as directory:
        for problem in arguments.problems.split(","):
            source = ROOT / CASES[arguments.device][problem]
            copies = [copy(source, directory, f"{source.stem}_{which}") for which in range(arguments.copies)]
            if source.suffix != ".py":
                evaluate(problem, copies, *where, "--size", "small", "--measure", "false", "--warmup-rounds", "1")
            for protocol in arguments.protocols.split(","):
                flags = (*where, "--size", arguments.size, "--protocol", protocol)
                results = evaluate(problem, copies, *flags)
                if not begun:
                    print(heading(f"Speed of evaluations on {arguments.device}, size {arguments.size}", results[0]))
                    print("| problem | candidate | protocol | verdict | speedup | rounds | baseline us | candidate us | evaluation s | device held s | "
                          "first, device held s | cold command s |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
                    begun = True
                further = results[1:]
                cold = None
                if not arguments.no_cold:
                    fresh = copy(source, directory, f"{source.stem}_{protocol}_cold")
                    start = time.monotonic()
                    evaluate(problem, [fresh], *flags)
                    cold = time.monotonic() - start
                last = results[-1]
                speedup = "–" if last["speedup"] is None else "{:.3f} [{:.3f}, {:.3f}]".format(last["speedup"], *last["speedup_interval"])
                cells = (problem, CASES[arguments.device][problem], protocol, last["verdict"], speedup, spread([e["rounds"] for e in further], ".0f"),
                         number(last["baseline_us"], ".0f"), number(last["candidate_us"], ".0f"),
                         spread([total_s(e) for e in further]), spread([total_s(e, NOT_HELD) for e in further]),
                         f"{total_s(results[0], NOT_HELD):.2f}", number(cold, ".1f"))
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
                details.append(f"- {problem} {protocol}: {steps(further)}")
                for evaluation in results:
                    if evaluation["verdict"] != "correct":
                        details.append(f"  - {evaluation['verdict']}: {evaluation['reason']}")
    print("\nSteps of all but the first evaluation, medians in ms:\n")
    print("\n".join(details))


if __name__ == "__main__":
    main()
