"""Judges the bundled examples and holds the verdicts against examples/expected.json, or where there is a GPU for it against
examples/expected_cuda.json. Needs only the standard library."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / os.environ.get("KERNELBENCH_PRESET", "release") / "bin" / "kernelbench"
EXAMPLES = ROOT / "examples"
ALL_EXPECTED, NOT_ALL_EXPECTED, WRONG_ARGUMENTS, FAILED, INTERRUPTED = 0, 1, 2, 3, 130
EXPECTED = {"cpu": "expected.json", "cuda": "expected_cuda.json"}
GPU_MEMORY = 80e9  # bytes; all examples have been judged on a GPU of that much
# Prints why the examples for a GPU cannot be judged here, or nothing.
GPU_PROBE = f"""
import torch
if not torch.cuda.is_available():
    print("PyTorch cannot use it")
elif torch.cuda.get_device_properties(0).total_memory < {GPU_MEMORY}:
    print("the examples for it need {GPU_MEMORY / 1e9:.0f} GB of memory")
"""


class Row:
    """One line of expected.json or expected_cuda.json, and what became of it."""

    def __init__(self, line):
        self.candidate, self.problem, self.size = line["candidate"], line["problem"], line["size"]
        self.allowed = line["verdict"] if isinstance(line["verdict"], list) else [line["verdict"]]
        self.teaches, self.faster = line["teaches"], line["faster"]
        self.backend = line.get("backend", "")  # one that not every machine with a GPU can judge
        self.sample = 0  # which candidate of its problem and size
        self.evaluation = None

    @property
    def verdict(self):
        return self.evaluation["verdict"] if self.evaluation else "no verdict"

    @property
    def speedup(self):
        return self.evaluation["speedup"] if self.evaluation else None

    @property
    def expected(self):
        return self.verdict in self.allowed


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def has_driver():
    """NVIDIA's, under WSL too. Asking PyTorch takes seconds, which only such machines have to wait."""
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg"))


def find_nvcc():
    """nvcc from where kernelbench would take it, or None."""
    home = os.environ.get("CUDA_HOME")
    own = f"{home}/bin/nvcc" if home else ""
    return shutil.which(own) or shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


def choose_device():
    if not has_driver():
        return "cpu"
    python = os.environ.get("KERNELBENCH_PYTHON") or sys.executable
    probe = subprocess.run([python, "-c", GPU_PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    obstacle = "PyTorch cannot be asked" if probe.returncode != 0 else probe.stdout.strip()
    if not obstacle and not find_nvcc():
        obstacle = "there is no nvcc (install the CUDA toolkit or set CUDA_HOME)"
    if not obstacle:
        return "cuda"
    print(f"An NVIDIA GPU is left alone: {obstacle}", flush=True)
    return "cpu"


def without_what_lacks(binary, rows):
    """The rows that this machine can judge; says which backends the others need."""
    if not any(row.backend for row in rows):
        return rows
    told = subprocess.run([binary, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    lacks = {each["backend"]: each["lacks"] for each in json.loads(told.stdout)["backends"]}
    for backend in sorted({row.backend for row in rows if row.backend and lacks[row.backend]}):
        print(f"Examples in {backend} are left out; this machine lacks {'; '.join(lacks[backend])}", flush=True)
    return [row for row in rows if not row.backend or not lacks[row.backend]]


def run_name(size):
    return f"examples-{size}"


def write_list(rows, folder):
    """The examples of one size as `kernelbench run` takes them; beside the list is what its paths refer to."""
    link = folder / "examples"
    if not link.is_symlink() or link.resolve() != EXAMPLES:
        link.unlink(missing_ok=True)
        link.symlink_to(EXAMPLES)
    path = folder / f"{run_name(rows[0].size)}.jsonl"
    samples = {}
    with path.open("w") as file:
        for row in rows:
            row.sample = samples[row.problem] = samples.get(row.problem, -1) + 1
            entry = {"problem": row.problem, "path": f"examples/{row.candidate}", "model": "examples", "sample": row.sample}
            file.write(json.dumps(entry) + "\n")
    return path


def judge(binary, rows, device, store, jobs, folder):
    """Judges rows of one size in one run, which shows its own progress. Returns why some have no verdict, a line each."""
    path = write_list(rows, folder)
    waiting = {(row.problem, row.sample): row for row in rows}
    command = [binary, "run", path, "--name", path.stem, "--again", "--size", rows[0].size, "--devices", device,
               "--protocol", "quick", "--json", "--store", store, "--jobs", str(jobs)]
    failures = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            for line in process.stdout:
                told = json.loads(line)
                if told.get("summary"):
                    continue
                row = waiting.pop((told["problem"], told["sample"]))
                if "not_judged" in told:
                    failures.append(f"{row.candidate} ({row.size}): {told['not_judged']}")
                else:
                    row.evaluation = told
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)  # if Ctrl-C reached only this process
            process.wait()
            raise
        except BaseException:
            process.terminate()
            raise
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if waiting:
        failures.append(f"{len(waiting)} examples of size {rows[0].size} have no verdict; kernelbench ended with {process.returncode}")
    return failures


def print_table(rows):
    heads = ("", "candidate", "size", "expected", "verdict", "speedup", "teaches")
    lines = []
    for row in rows:
        speedup = f"{row.speedup:.2f}×" if row.speedup is not None else "–"
        lines.append(("ok" if row.expected else "!!", row.candidate, row.size, "|".join(row.allowed), row.verdict, speedup,
                      row.teaches))
    widths = [max(len(line[i]) for line in [heads, *lines]) for i in range(len(heads))]
    columns = shutil.get_terminal_size((160, 24)).columns
    widths[-1] = min(widths[-1], columns - 1 - sum(width + 2 for width in widths[:-1]))
    if widths[-1] < 20:  # no room to say it
        heads, lines, widths = heads[:-1], [line[:-1] for line in lines], widths[:-1]
    for line in [heads, *lines]:
        cells = [text if len(text) <= width else text[:width - 1] + "…" for text, width in zip(line, widths)]
        print("  ".join(text.rjust(width) if head == "speedup" else text.ljust(width)
                        for head, text, width in zip(heads, cells, widths)).rstrip())


def print_summary(rows):
    expected = sum(row.expected for row in rows)
    fast = [row for row in rows if row.faster and row.speedup is not None]
    print(f"\n{expected} of {len(rows)} verdicts are as expected; of {len(fast)} examples that should beat eager PyTorch, "
          f"{sum(row.speedup > 1 for row in fast)} did.")
    for row in rows:
        if not row.expected:
            reason = (row.evaluation or {}).get("reason") or "see above"
            print(f"  {row.candidate} ({row.size}): {row.verdict} instead of {' or '.join(row.allowed)}: {reason}")


def write_report(binary, store, runs):
    """Writes report.html of these runs; False if that failed."""
    named = [word for run in runs for word in ("--run", run)]
    done = subprocess.run([binary, "report", "--store", store, *named, "-o", ROOT / "report.html"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8")
    if done.returncode != 0:
        print(f"\nno report: {done.stdout.strip()}", file=sys.stderr)
        return False
    print(f"\n{done.stdout}", end="")
    return True


def expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text} is no regular expression: {error}")


def default_store():
    """Where the program keeps results unless it is told otherwise."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.environ.get("HOME") or ".", ".local", "share")
    return os.path.join(data, "kernelbench", "evaluations.sqlite")


def shown(path):
    path = pathlib.Path(path)
    return str(path.relative_to(pathlib.Path.cwd()) if path.is_relative_to(pathlib.Path.cwd()) else path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--only", type=expression, default="", metavar="REGEX", help="only examples whose path matches")
    parser.add_argument("--device", choices=sorted(EXPECTED), help="default: cuda where those examples can be judged")
    parser.add_argument("--binary", type=pathlib.Path, default=BUILT, help="default: what ./quickstart builds")
    arguments = parser.parse_args()
    binary = arguments.binary.absolute()
    if not binary.exists():
        print(f"there is no {shown(binary)}: run ./quickstart, which builds it first", file=sys.stderr)
        return FAILED
    jobs, device = arguments.jobs, arguments.device or choose_device()
    store = os.path.abspath(os.environ.get("KERNELBENCH_STORE") or default_store())
    folder = ROOT / "build" / "quickstart"
    for needed in (os.path.dirname(store), folder):
        os.makedirs(needed, exist_ok=True)
    rows = [Row(line) for line in json.loads((EXAMPLES / EXPECTED[device]).read_text())
            if re.search(arguments.only, line["candidate"])]
    if not rows:
        print(f"no example's path matches {arguments.only.pattern}; {shown(EXAMPLES)} holds them", file=sys.stderr)
        return WRONG_ARGUMENTS
    rows = without_what_lacks(binary, rows)
    if not rows:
        return FAILED

    print(f"Judging {len(rows)} examples on the {'CPU' if device == 'cpu' else 'GPU'}", flush=True)
    start, failures, by_size = time.monotonic(), [], {}
    for row in rows:
        by_size.setdefault(row.size, []).append(row)
    try:
        for size, members in by_size.items():
            print(f"  {len(members)} of size {size}", flush=True)
            failures += judge(binary, members, device, store, jobs, folder)
    except KeyboardInterrupt:
        print(f"\ninterrupted; the evaluations that were finished are in {shown(store)}", file=sys.stderr)
        return INTERRUPTED
    print(f"  judged in {duration(time.monotonic() - start)}\n")
    for failure in failures:
        print(failure, file=sys.stderr)

    print_table(rows)
    print_summary(rows)
    reported = write_report(binary, store, [run_name(size) for size in by_size])
    print(f"\nThe program is {shown(binary)} (--help lists its commands), the results are in {shown(store)}.\nNext:")
    if reported:
        print(f"  open {shown(ROOT / 'report.html')} in a browser")
    print(f"  list the results: {shown(binary)} list")
    suffix = ".cpp" if device == "cpu" else ".cu"
    print(f"  judge a kernel of your own: {shown(binary)} eval 1/36 my_kernel{suffix}"
          f"\n    (begin with a copy of {shown(EXAMPLES / '1_36_rmsnorm' / ('fused' + suffix))})")
    if any(row.evaluation is None for row in rows) or not reported:
        return FAILED
    return ALL_EXPECTED if all(row.expected for row in rows) else NOT_ALL_EXPECTED


if __name__ == "__main__":
    sys.exit(main())
