"""What the measurement scripts share: running the binary, and saying where and when a result was taken."""

import datetime
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("KERNELBENCH_BINARY", ROOT / "build" / "release" / "bin" / "kernelbench"))


def evaluate(problem, candidates, *flags):
    """The JSON of each evaluation, in order. KEEP_EVALUATIONS names a file to which they are added as well, round by round."""
    command = [BINARY, "eval", problem, *candidates, "--json", "--no-store", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    if keep := os.environ.get("KEEP_EVALUATIONS"):
        with open(keep, "a") as file:
            file.write(done.stdout)
    return [json.loads(line) for line in done.stdout.splitlines()]


def heading(title, evaluation):
    """First lines of a result: device, versions, date and commit."""
    info = evaluation["device_info"]
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return (f"# {title}\n\n{info['name']}, {info['cores']} cores, last-level cache {info['last_level_cache'] >> 20} MiB, "
            f"copy {info['copy_gb_s']:.1f} GB/s; torch {info['torch']}, {info['compiler']}; "
            f"{datetime.date.today()}, commit {commit}, isolation {evaluation['isolation']}\n")


def self_candidate(problem_file, directory):
    """A candidate that is the problem's own reference."""
    if not pathlib.Path(problem_file).is_file():
        raise SystemExit(f"there is no problem {problem_file}: it is neither a name that `kernelbench problems list` prints nor a file")
    path = pathlib.Path(directory) / f"self_{pathlib.Path(problem_file).name}"
    path.write_text(pathlib.Path(problem_file).read_text() + "\n\nclass ModelNew(Model):\n    pass\n")
    return path


def problem_files():
    listed = subprocess.run([BINARY, "problems", "list", "--json"], capture_output=True, text=True, check=True).stdout
    return {row["name"]: row["file"] for row in map(json.loads, listed.splitlines())}
