"""How long `kernelbench score` takes over a hundred thousand stored evaluations.

Fills a store with made-up evaluations of ten models, ten samples a problem and a thousand problem names, written past
the engine, then times the JSON and the page. The JSON blobs are as large as real ones and their content is noise.
Usage: bench/scores.py [EVALUATIONS]
"""

import datetime
import math
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

import common

MODELS, SAMPLES = 10, 10
BLOB = 2000  # bytes of a compressed evaluation of the CPU, of which `kernelbench eval` makes 1,500 to 3,000
REPEATS = 5
FAILURES = ["incorrect"] * 6 + ["build_failed"] * 3 + ["crashed", "timed_out", "wrong_form", "non_finite", "static_rejected"]


def fill(path, evaluations):
    """A store of version 3 or later with that many evaluations and their jobs, all done."""
    subprocess.run([common.BINARY, "import", os.devnull, "--store", path], capture_output=True)  # makes a store, and has nothing to put there
    draw = random.Random(1)
    listed = list(common.problem_files())
    wanted = evaluations // (MODELS * SAMPLES)
    problems = (listed + [f"other/{i}" for i in range(max(0, wanted - len(listed)))])[:wanted]
    store = sqlite3.connect(path)
    if not store.execute("PRAGMA user_version").fetchone()[0]:
        raise SystemExit(f"{path} is no store")
    store.execute("PRAGMA synchronous = OFF")
    store.execute("INSERT INTO devices VALUES (1, 'x', 'cuda', 'Made-up GPU', '{\"torch\": \"2.9.0\"}'), (2, 'y', 'cuda', '', '{}')")
    store.executemany("INSERT INTO problems VALUES (?, ?, 'x')", enumerate(problems))
    store.executemany("INSERT INTO runs VALUES (?, ?, '2026-01-01T00:00:00Z')", [(m, f"run-{m}") for m in range(MODELS)])
    number = 0
    for model in range(MODELS):
        for sample in range(SAMPLES):
            for index, problem in enumerate(problems):
                number += 1
                correct = draw.random() < 0.3 + 0.05 * model
                verdict = "correct" if correct else draw.choice(FAILURES)
                speedup = math.exp(draw.gauss(0.1 * model - 0.3, 0.7)) if correct else None
                identity = f"{number:032x}"
                store.execute(
                    "INSERT INTO evaluations (id, created, run_id, problem_id, problem, size, device_id, device, protocol, candidate_sha256, "
                    "candidate_path, verdict, reason, speedup, low, high, baseline_us, candidate_us, json, model, sample, baseline) "
                    "VALUES (?, ?, ?, ?, ?, 'standard', ?, 'cuda', 'kernelbench', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'eager')",
                    (identity, f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z", model, index, problem,
                     2 if verdict == "static_rejected" else 1, draw.randbytes(32).hex(),
                     f"runs/run-{model}/level_1_problem_{index}_sample_{sample}_kernel.py", verdict,
                     "" if correct else "one sentence that says what went wrong here, as long as they are", speedup,
                     speedup and speedup * 0.97, speedup and speedup * 1.03, 100.0, speedup and 100 / speedup, draw.randbytes(BLOB),
                     f"model-{model}", sample))
                store.execute(
                    "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, evaluation_id) "
                    "VALUES (?, ?, ?, 'standard', ?, 'cuda', 'kernelbench', 'x', 'x', 'done', ?)",
                    (model, f"model-{model}", problem, sample, identity))
    store.commit()
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    return number


def timed(*arguments):
    """Seconds of each of several runs, the first left out, and the bytes printed."""
    taken = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        done = subprocess.run([common.BINARY, *arguments], capture_output=True)
        taken.append(time.perf_counter() - start)
        if done.returncode:
            raise SystemExit(done.stderr.decode())
    return sorted(taken[1:]), len(done.stdout)


def main():
    evaluations = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as directory:
        store = str(pathlib.Path(directory) / "store.sqlite")
        count = fill(store, evaluations)
        cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
        commit = subprocess.run(["git", "-C", common.ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
        print(f"# Scores over {count:,} stored evaluations\n\n{cpu}, {os.cpu_count()} cores; {datetime.date.today()}, commit {commit}. "
              f"{MODELS} models, {SAMPLES} samples of each problem; a store of {os.path.getsize(store) >> 20} MiB in the page cache; "
              f"{REPEATS} runs of the whole command.\n")
        print("| command | median s | least | largest | bytes |\n|---|---|---|---|---|")
        page = str(pathlib.Path(directory) / "page.html")
        for name, arguments in [("score --json", ["--json"]), ("score -o page.html", ["-o", page]), ("score run-0 --json", ["run-0", "--json"]),
                                ("compare model-0 model-1", None)]:
            command = ["compare", "model-0", "model-1"] if arguments is None else ["score", *arguments]
            taken, size = timed(*command, "--store", store)
            size = os.path.getsize(page) if "page.html" in name else size
            print(f"| `{name}` | {taken[len(taken) // 2]:.2f} | {taken[0]:.2f} | {taken[-1]:.2f} | {size:,} |")


if __name__ == "__main__":
    main()
