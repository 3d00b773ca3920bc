#!/usr/bin/env python3
"""One agent on each wire: `kernelbench generate --strategy agent` against a scripted model.

    tests/agents/loop.py [--wire chat|messages|responses] [--binary build/dev/bin/kernelbench]

The agent looks around, calls tools at once and wrongly, writes a wrong candidate and a right one, and submits that. What it was told must have the shape of the wire, each
request must begin with the whole of the one before, and the store must hold what was said. Exit status 0 if all held, 1 if
not.
"""

import argparse
import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(ROOT / "tests" / "robustness")]
from kill import PROBLEM  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

WIRES = ("chat", "messages", "responses")
NATIVE = """#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  for (int i = 0; i < 64 * 64; ++i) y[i] = x[i] < 0 ? 0.0f : %s * x[i];
  return 0;
}
"""
TURNS = [
    {"reasoning": "I look first.", "text": "Let me see.", "calls": [{"name": "list", "arguments": {}}, {"name": "read_file", "arguments": {"path": "TASK.md"}},
                                                                 {"name": "bash", "arguments": {"command": "echo a word; exit 3"}}]},
    {"calls": [{"name": "bash", "raw": '{"command": "ls'}, {"name": "no_such_tool", "arguments": {}},
               {"name": "bash", "arguments": {"command": "echo it ran", "gpu": True}}]},
    {"text": "A first try.", "calls": [{"name": "write_file", "arguments": {"path": "kernel.cpp", "content": NATIVE % "2.0f"}}, {"name": "compile", "arguments": {"path": "kernel.cpp"}},
                                       {"name": "evaluate", "arguments": {"path": "kernel.cpp"}}]},
    {"reasoning": "It must be once.", "calls": [{"name": "edit_file", "arguments": {"path": "kernel.cpp", "old_str": "2.0f", "new_str": "1.0f"}},
                                               {"name": "evaluate", "arguments": {"path": "kernel.cpp"}}, {"name": "best", "arguments": {}}]},
    {"calls": [{"name": "submit", "arguments": {"solution_path": "kernel.cpp"}}]},
    {"text": "It is submitted."},
]
SAYS = {"call_0_0": "TASK.md", "call_0_2": "a word", "call_1_1": "no_such_tool", "call_1_2": "Call bash without gpu", "call_2_2": "output is wrong", "call_3_1": "It is correct", "call_3_2": r"\bcorrect\b"}
FLAGS = ["--strategy", "agent", "--turns", "10", "--run", "r", "--model", "scripted", "--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--quiet"]


def play(binary, environment, wire, root):
    """What did not hold."""
    failures = []

    def expect(holds, what):
        if not holds:
            failures.append(what)

    (root / "relu.py").write_text(PROBLEM)
    environment = {**environment, "KERNELBENCH_STORE": str(root / "store.db")}
    with ScriptedModel({"turns": TURNS}) as model:
        (root / "models.toml").write_text(f'[models.scripted]\nprovider = "vllm"\nmodel = "scripted"\nbase_url = "{model.url}"\nwire = "{wire}"\n')
        done = subprocess.run([binary, "generate", str(root / "relu.py"), *FLAGS, "--models-file", str(root / "models.toml")], env=environment, capture_output=True, text=True)
        report, results = model.report(), {call_id: text for _, call_id, text in model.results()}
    subprocess.run([binary, "service", "stop"], env=environment, capture_output=True)
    expect(done.returncode == 0, f"it exited with {done.returncode}: {done.stderr[-1000:]}")
    expect(not report["violations"], f"the conversation: {report['violations']}")
    expect(report["continued"] >= 4 and report["prefix_kept"] == report["continued"], f"{report['prefix_kept']} of {report['continued']} requests began with the one before")
    for call_id, text in SAYS.items():
        expect(re.search(text, results.get(call_id, "")), f"{call_id} gave {results.get(call_id, '')[:300]!r} without {text!r}")
    try:
        with contextlib.closing(sqlite3.connect(root / "store.db")) as database:
            judged = database.execute("SELECT verdict FROM evaluations").fetchall()
            ended = database.execute("SELECT ended_by FROM episodes").fetchall()
            states = [row[0] for row in database.execute("SELECT state FROM turns ORDER BY number")]
            verdicts = database.execute("SELECT turn, tool, verdict FROM turn_verdicts WHERE tool = 'evaluate' ORDER BY id").fetchall()
    except sqlite3.Error as error:
        return [*failures, f"the store: {error}"]
    expect(judged == [("correct",)], f"the run judged {judged}")
    expect(ended == [("submit",)], f"it was ended by {ended}")
    expect(states == ["done"] * 5, f"its turns are {states}")
    expect(verdicts == [(3, "evaluate", "incorrect"), (4, "evaluate", "correct")], f"on the way it was told {verdicts}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.environ.get("KERNELBENCH_BINARY", str(ROOT / "build" / "dev" / "bin" / "kernelbench")))
    parser.add_argument("--wire", choices=WIRES)
    options = parser.parse_args()
    environment = {**os.environ, "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    for name in ("KERNELBENCH_MODELS", "KERNELBENCH_URL", "KERNELBENCH_TOKEN"):
        environment.pop(name, None)
    environment.setdefault("KERNELBENCH_PYTHON", sys.executable)
    failed = False
    for wire in [options.wire] if options.wire else WIRES:
        with tempfile.TemporaryDirectory(prefix="agents.") as directory:
            failures = play(str(pathlib.Path(options.binary).resolve()), environment, wire, pathlib.Path(directory))
        for failure in failures:
            print("FAILED " + failure)
        print(f"{wire}: {len(failures)} failures")
        failed = failed or bool(failures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
