#!/usr/bin/env python3
"""How fast does `kernelbench run` judge many candidates?

    bench/run_speed.py modules [--device cuda] [--protocol quick] [--count 50] [SELECTION ...]
    bench/run_speed.py native  [--device cuda] [--protocol quick] [--count 256] [--equal] [--faster]

modules: each problem's reference as its own candidate, under ModelNew; with --count so many of them, evenly spread over the selection.
native:  the examples that are right, each many times. All texts differ by a comment, unless --equal: then builds are found in the cache.

Prints evaluations a second, verdicts, how long the device was held and how long calls ran on it, and the engine's largest resident memory.
--timeline FILE keeps the trace, which bench/timeline.py draws.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

from common import BINARY, ROOT, problem_files, self_candidate


def selected(terms):
    done = subprocess.run([BINARY, "problems", "list", "--json", *terms], capture_output=True, text=True, check=True)
    return [json.loads(line)["name"] for line in done.stdout.splitlines()]


def spread(names, count):
    if not count or count >= len(names):
        return names
    return [names[i * len(names) // count] for i in range(count)]


def modules(arguments, directory):
    files = problem_files()
    for name in spread(selected(arguments.selection), arguments.count):
        yield {"problem": name, "path": self_candidate(files[name], directory).name, "sample": 0}


def right_examples(device, faster):
    """(problem, file) of native examples that must be correct, and beat eager PyTorch if `faster`."""
    for line in json.loads((ROOT / "examples" / ("expected.json" if device == "cpu" else "expected_cuda.json")).read_text()):
        path = ROOT / "examples" / line["candidate"]
        if line["verdict"] == "correct" and path.suffix in (".cpp", ".cu") and (line.get("faster") or not faster):
            yield line["problem"], path


def native(arguments, directory):
    examples = list(right_examples(arguments.device, arguments.faster))
    for i in range(arguments.count or 256):
        problem, path = examples[i % len(examples)]
        copy = pathlib.Path(directory) / f"{i}_{path.name}"
        copy.write_text(path.read_text() + ("" if arguments.equal else f"\n// {i} {time.time_ns()}\n"))
        yield {"problem": problem, "path": copy.name, "sample": i}


def watch_memory(pid, peak):
    """Largest resident memory of the engine itself, in bytes."""
    while True:
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        if found:
            peak[0] = max(peak[0], int(found.group(1)) * 1024)
        time.sleep(0.2)


class Utilization:
    """How busy a GPU is, by the driver's own count: the share of time in which at least one kernel ran."""

    def __init__(self, device):
        self._samples, self._process = [], None
        if device == "cpu":
            return
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop-ms=250"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            if line.strip().isdigit():
                self._samples.append(int(line))

    def stop(self):
        """A line, or nothing on the CPU."""
        if self._process is None:
            return []
        self._process.terminate()
        self._process.wait()
        if not self._samples:
            return ["the driver gave no utilization"]
        return [f"kernels ran {sum(self._samples) / len(self._samples):.0f}% of the time (utilization.gpu, {len(self._samples)} samples)"]


def sustained(timeline, judged):
    """Evaluations a second from the end of the first to the end of the last; nothing for fewer than two."""
    events = json.loads(pathlib.Path(timeline).read_text())["traceEvents"]
    device = {e["tid"] for e in events if e["ph"] == "M" and not e["args"]["name"].startswith("prepare")}
    ends = sorted(e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["tid"] in device)[:judged]  # one more after Ctrl-C
    if len(ends) < 2:
        return []
    return [f"from the end of the first to the end of the last: {1e6 * (len(ends) - 1) / (ends[-1] - ends[0]):.2f} a second"]


def where_time_went(store):
    """Lines: seconds by step over all evaluations of the store, and the evaluations that took longest."""
    def told(*command):
        return subprocess.run([BINARY, *command, "--json", "--store", store], capture_output=True, text=True, check=True).stdout

    evaluations = [json.loads(told("show", json.loads(row)["id"])) for row in told("list", "--limit", "0").splitlines()]
    steps = {}
    for evaluation in evaluations:
        for step, us in evaluation["engine_us"].items():
            steps[step] = steps.get(step, 0) + us / 1e6
    yield "seconds by step: " + ", ".join(f"{step} {s:.1f}" for step, s in sorted(steps.items(), key=lambda item: -item[1]) if s >= 0.05)
    for evaluation in sorted(evaluations, key=lambda e: -sum(e["engine_us"].values()))[:20]:
        us = sorted(evaluation["engine_us"].items(), key=lambda item: -item[1])
        yield (f"{evaluation['problem']}: {sum(t for _, t in us) / 1e6:.1f} s, {len(evaluation['samples'])} rounds, {evaluation['verdict']}: "
               + ", ".join(f"{step} {t / 1e6:.1f}" for step, t in us[:6]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("modules", "native"))
    parser.add_argument("selection", nargs="*", default=["kernelbench", "not:level4"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--faster", action="store_true", help="only examples that should beat eager PyTorch: one that is right and slow takes its time")
    parser.add_argument("--timeline", default="")
    parser.add_argument("--steps", action="store_true", help="say which steps took the time, and which evaluations")
    parser.add_argument("--json", default="", help="write the evaluations there")
    arguments = parser.parse_args()
    size = arguments.size or ("small" if arguments.device == "cpu" else "standard")
    with tempfile.TemporaryDirectory() as directory:
        manifest = pathlib.Path(directory) / "manifest.jsonl"
        rows = list(modules(arguments, directory) if arguments.kind == "modules" else native(arguments, directory))
        manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = [BINARY, "run", directory, "--name", "speed", "--devices", arguments.device, "--size", size, "--protocol",
                   arguments.protocol, "--store", os.path.join(directory, "speed.sqlite")]
        if arguments.timeline:
            command += ["--timeline", arguments.timeline]
        start, peak, busy = time.monotonic(), [0], Utilization(arguments.device)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the engine's: it says how far it came
        threading.Thread(target=watch_memory, args=(process.pid, peak), daemon=True).start()
        out, _ = process.communicate()
        took = time.monotonic() - start
        used = busy.stop()
        steps = list(where_time_went(os.path.join(directory, "speed.sqlite"))) if arguments.steps else []
        now = re.search(r"^now: (\d+) in", out, re.MULTILINE)
        judged = int(now[1]) if now else 0  # fewer than there are, after Ctrl-C
        if arguments.timeline and judged:
            steps = sustained(arguments.timeline, judged) + steps
        if arguments.json:
            listed = subprocess.run([BINARY, "list", "--json", "--store", os.path.join(directory, "speed.sqlite")], capture_output=True, text=True)
            pathlib.Path(arguments.json).write_text(listed.stdout)
    print(out, end="")
    print("\n".join(used + steps))
    print(f"{judged} {arguments.kind}{' (equal texts)' if arguments.equal else ''}, {arguments.protocol}, {size}, {arguments.device}: {took:.1f} s, "
          f"{judged / took:.2f} a second; engine's largest resident memory {peak[0] >> 20} MiB")


if __name__ == "__main__":
    main()
