#!/usr/bin/env python3
"""Inspect itself reads what `export --inspect` writes, and runs the task of packages/kernelbench_inspect.

    tests/inspect/check.py [--binary build/dev/bin/kernelbench] [--venv DIRECTORY] [--screenshots DIRECTORY] [--chromium PATH]

Installs inspect-ai and openai from PyPI (357 MB) into --venv, by default a temporary one, and playwright-core beside it. A replayed run is generated, judged and
exported; `inspect log list`, `inspect log dump` and read_eval_log() open the log, and `inspect view` shows it in Chromium. `inspect eval` runs the task against a server
of ours, which answers right, wrong, with what static analysis refuses, and with no code; then once more with an engine that fails. Exit status 0 if all held, 1 if not,
77 if PyPI cannot be reached. Without npm or Chromium the browser's part is left out, which is said.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RELU = """#include <kernelbench/kernel.h>

#include <cstdint>

KB_EXPORT int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
"""
RIGHT = f"A loop.\n\n```cpp\n{RELU}```\n"
WRONG = RIGHT.replace("return 0;", "out[0] += 1;\n  return 0;")
NOT_BUILT = RIGHT.replace("return 0;", "return zero;")
REFUSED_BY_ITS_TEXT = RIGHT.replace("KB_EXPORT", 'extern "C" int cudaEventElapsedTime(float*, void*, void*) { return 0; }\n\nKB_EXPORT')
NO_CODE = "It depends on the machine."
USAGE = {"input": 2000, "output": 100}
FAILING = """#!/bin/sh
if [ "$1" != eval ] || [ -f "$FIRST_EVAL" ]; then
  [ "$1" = eval ] && { echo 'kernelbench: the device does not answer' >&2; exit 3; }
fi
[ "$1" = eval ] && touch "$FIRST_EVAL"
exec "$BINARY" "$@"
"""
SAID = "times as fast as|without a speedup: machine_busy"


def timed(score):
    """A correct candidate's score has a speedup; where other programs had the machine, it says so instead."""
    speedup = score["value"]["speedup"]
    return speedup > 0 if speedup is not None else score["metadata"]["no_speedup"] == "machine_busy"


READ = """
import glob, json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
(path,) = glob.glob(sys.argv[1] + "/*.eval")
log = read_eval_log(path)
header = read_eval_log(path, header_only=True)
def plain(sample):
    return {"id": sample.id, "epoch": sample.epoch, "error": sample.error.message if sample.error else None, "roles": [m.role for m in sample.messages],
            "answer": sample.output.completion, "usage": {k: v.total_tokens for k, v in sample.model_usage.items()}, "metadata": sample.metadata,
            "scores": {k: v.model_dump() for k, v in (sample.scores or {}).items()}}
one = log.samples[0]
assert read_eval_log_sample(path, one.id, one.epoch).messages == one.messages
assert len(read_eval_log_sample_summaries(path)) == len(log.samples)
assert header.eval == log.eval and header.samples is None
json.dump({"status": log.status, "samples": [plain(s) for s in log.samples], "metrics": {k: m.value for s in log.results.scores for k, m in s.metrics.items()},
           "model": log.eval.model, "completed": log.results.completed_samples}, sys.stdout)
"""


class Check:
    def __init__(self, options, root):
        self.binary, self.root, self.options = str(pathlib.Path(options.binary).resolve()), root, options
        self.venv = pathlib.Path(options.venv).resolve() if options.venv else root / "venv"
        self.failures = []
        self.environment = {**os.environ, "KERNELBENCH_STORE": str(root / "store.db"), "INSPECT_LOG_DIR": str(root / "unused"), "INSPECT_DISPLAY": "plain", "KERNELBENCH": self.binary,
                            "PATH": f"{self.venv / 'bin'}:{os.environ['PATH']}"}

    def expect(self, holds, what):
        print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
        if not holds:
            self.failures.append(what)

    def run(self, *arguments, fails=False, **environment):
        done = subprocess.run([str(each) for each in arguments], env={**self.environment, **environment}, capture_output=True, text=True, cwd=self.root)
        if done.returncode != 0 and not fails:
            sys.exit(f"{' '.join(map(str, arguments))} failed with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def install(self):
        if not (self.venv / "bin" / "inspect").exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.venv)], check=True)
            pip = subprocess.run([self.venv / "bin" / "pip", "install", "--quiet", "inspect-ai", "openai"], capture_output=True, text=True)
            if pip.returncode != 0:
                print(f"skipped: inspect-ai cannot be installed from PyPI: {pip.stderr.splitlines()[-1] if pip.stderr else ''}")
                sys.exit(77)
        package = self.root / "package"  # pip leaves a build directory where it builds
        shutil.copytree(ROOT / "packages" / "kernelbench_inspect", package)
        self.run(self.venv / "bin" / "pip", "install", "--quiet", "--force-reinstall", "--no-deps", package)

    def read(self, directory):
        return json.loads(self.run(self.venv / "bin" / "python", "-c", READ, directory).stdout)

    # ---- export --inspect ----

    def generate(self):
        answers = {19: [RIGHT, WRONG, NOT_BUILT, NO_CODE], 20: [RIGHT, RIGHT, RIGHT, RIGHT]}
        with open(self.root / "answers.jsonl", "w") as lines:
            for number, texts in answers.items():
                for sample, text in enumerate(texts):
                    lines.write(json.dumps({"problem": f"level1/{number}", "sample": sample, "text": text, "reasoning": "a loop will do", "usage": USAGE, "cost_usd": 0.01}) + "\n")
        self.run(self.binary, "generate", "1/19", "1/20", "--model", "replay:answers.jsonl", "--run", "first", "--samples", 4, "--size", "small", "--protocol", "quick", "--profile-ms", 0)
        self.run(self.binary, "export", "first", "--inspect", "exported")

    def exported(self):
        self.generate()
        (file,) = (self.root / "exported").iterdir()
        listed = self.run("inspect", "log", "list", "--log-dir", "exported", "--json").stdout
        self.expect(file.name in listed, "inspect log list names the log")
        dumped = json.loads(self.run("inspect", "log", "dump", file).stdout)
        self.expect(len(dumped["samples"]) == 8 and dumped["status"] == "success", "inspect log dump has eight samples")
        log = self.read("exported")
        scores = {(sample["id"], sample["epoch"]): sample["scores"]["judge"] for sample in log["samples"]}
        verdicts = [scores["1/19", epoch]["metadata"]["verdict"] for epoch in (1, 2, 3, 4)]
        self.expect(verdicts == ["correct", "incorrect", "build_failed", "static_rejected"], f"verdicts of 1/19: {verdicts}")
        right = next(sample for sample in log["samples"] if (sample["id"], sample["epoch"]) == ("1/19", 1))
        self.expect(timed(scores["1/19", 1]) and right["scores"]["judge"]["answer"] == RELU, "value, and the candidate as the answer")
        self.expect(right["roles"] == ["system", "user", "assistant"] and right["answer"] == RIGHT, "the conversation")
        self.expect(list(right["usage"].values()) == [2100] and right["metadata"]["cost_usd"] == 0.01, "tokens and cost")
        self.expect("was not declared" in scores["1/19", 3]["metadata"]["compiler_output"], "what the compiler said")
        # 1/20 is LeakyReLU: a ReLU is wrong there.
        self.expect(log["metrics"]["fast_0"] == log["metrics"]["correct"] == 0.125, f"one of eight is correct: {log['metrics']}")
        bundle = self.run("inspect", "view", "bundle", "--log-dir", "exported", "--output-dir", "bundle")
        self.expect(bundle.returncode == 0 and (self.root / "bundle" / "index.html").exists(), "inspect view bundle")

    def view(self):
        chromium, npm = self.options.chromium or shutil.which("chromium"), shutil.which("npm")
        if not chromium or not npm:
            return print("left out: inspect view in a browser needs chromium and npm", flush=True)
        self.run(npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "playwright-core@1.65.1")
        screenshots = pathlib.Path(self.options.screenshots or self.root)
        screenshots.mkdir(parents=True, exist_ok=True)
        url = "http://127.0.0.1:7576"
        view = subprocess.Popen([self.venv / "bin" / "inspect", "view", "start", "--log-dir", "exported", "--port", "7576"], cwd=self.root, env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(url)
            shown = json.loads(self.run("node", HERE / "view.mjs", url, chromium, screenshots.resolve()).stdout)
        finally:
            view.terminate()
            view.wait()
        self.expect(not shown["failures"], f"no error in the page: {shown['failures']}")
        self.expect("fast_1" in shown["samples"].lower() and "1/20" in shown["samples"], "inspect view shows scores and samples")
        self.expect("kb_forward" in shown["sample"] and re.search(SAID, shown["score"]), "inspect view shows messages and explanation")

    # ---- the task ----

    def evaluate(self, name, *arguments, fails=False, **environment):
        model = {"LOCAL_BASE_URL": f"http://127.0.0.1:{self.port}/v1", "LOCAL_API_KEY": "none"}
        command = ["inspect", "eval", "kernelbench_inspect/kernelbench", "--model", "openai-api/local/scripted", "--log-dir", name, "-T", "size=small", "-T", "protocol=quick"]
        return self.run(*command, *arguments, fails=fails, **model, **environment)

    def task(self):
        answers = {"1/19": [NO_CODE, REFUSED_BY_ITS_TEXT, RIGHT], "1/20": [WRONG], "1/21": [NO_CODE], "1/22": [NOT_BUILT]}
        (self.root / "script.json").write_text(json.dumps({f"the reference, {problem}": texts for problem, texts in answers.items()}))
        server = subprocess.Popen([sys.executable, HERE / "server.py", self.root / "script.json"], stdout=subprocess.PIPE, text=True)
        try:
            self.port = int(server.stdout.readline())
            self.task_runs()
        finally:
            server.terminate()
            server.wait()

    def task_runs(self):
        native = ["-T", "backend=native", "-T", "max_regenerations=2"]
        self.evaluate("task", "-T", "splits=1/19-22", *native, "-T", "p=0.001")
        log = self.read("task")
        scores = {sample["id"]: sample["scores"]["judge"] for sample in log["samples"]}
        verdicts = {problem: score["metadata"]["verdict"] for problem, score in scores.items()}
        self.expect(verdicts == {"1/19": "correct", "1/20": "incorrect", "1/21": "static_rejected", "1/22": "build_failed"}, f"verdicts of the task: {verdicts}")
        regenerations = {sample["id"]: sample["metadata"]["regenerations"] for sample in log["samples"]}
        self.expect(regenerations == {"1/19": 2, "1/20": 0, "1/21": 2, "1/22": 0}, f"answers that were sent back: {regenerations}")
        self.expect(timed(scores["1/19"]) and scores["1/21"]["value"] == {"speedup": 0, "correct": 0}, "values")
        fast = 0.25 if scores["1/19"]["value"]["speedup"] else 0
        self.expect(log["metrics"]["fast_0"] == 0.25 and log["metrics"]["fast_0.001"] == fast and log["status"] == "success", f"metrics: {log['metrics']}")
        shown = json.loads(self.run(self.binary, "show", scores["1/19"]["metadata"]["evaluation"], "--json").stdout)
        self.expect(shown["verdict"] == "correct", "the store has the evaluation")

        self.evaluate("unmeasured", "-T", "splits=1/19", *native, "-T", "measure_performance=false", "-T", "num_correct_trials=7", "--epochs", "2")
        log = self.read("unmeasured")
        values = [sample["scores"]["judge"]["value"] for sample in log["samples"]]
        self.expect(values == [{"speedup": None, "correct": 1}] * 2 and log["metrics"]["fast_0"] == 1 and log["metrics"]["fast_1"] == 0, "correct, and no time was measured")

        self.engine_fails(native)
        for wrong, needle in REFUSED:
            refused = self.evaluate("refused", "-T", "splits=1/19", *native, *wrong, fails=True)
            said = refused.stdout + refused.stderr
            self.expect(needle in said, f"{' '.join(wrong)} is refused: {needle}")
        self.expect(not list((self.root / "refused").glob("*.eval")), "and no model is asked")

    def engine_fails(self, native):
        failing = self.root / "failing"
        failing.write_text(FAILING)
        failing.chmod(0o755)
        broken = {"KERNELBENCH": str(failing), "BINARY": self.binary, "FIRST_EVAL": str(self.root / "first")}
        self.evaluate("failed", "-T", "splits=1/19", *native, fails=True, **broken)
        (file,) = (self.root / "failed").glob("*.eval")
        log = json.loads(self.run("inspect", "log", "dump", file).stdout)
        (sample,) = log["samples"]
        self.expect(log["status"] == "error" and not sample.get("scores") and "the device does not answer" in sample["error"]["message"], "an engine that fails is an error and no zero")
        model = {"LOCAL_BASE_URL": f"http://127.0.0.1:{self.port}/v1", "LOCAL_API_KEY": "none"}
        self.run("inspect", "eval-retry", file, "--log-dir", "retried", **model)
        (sample,) = self.read("retried")["samples"]
        self.expect(sample["scores"]["judge"]["metadata"]["verdict"] == "correct", "inspect eval-retry judges it")


REFUSED = [
    (["-T", "timing_method=nsight_python_time"], "does not exist here"),
    (["-T", "timing_method=cuda_event"], "choose --timing outer"),
    (["-T", "build_dir=/tmp/x"], "KERNELBENCH_CACHE"),
    (["-T", "verbose=true"], "kernelbench show"),
    (["-T", "include_hardware=true"], "needs gpu_name"),
    (["-T", "gpu_name=H100"], "include_hardware=true"),
    (["-T", "option=five_shot"], "one_shot"),
    (["-T", "measure_performance=false", "-T", "num_perf_trials=10"], "no effect"),
    (["-T", "splits=level_9"], "level9"),
]


def wait_for(url):
    for _ in range(300):
        try:
            return urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{url} does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    parser.add_argument("--venv")
    parser.add_argument("--screenshots")
    parser.add_argument("--chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kernelbench-inspect-check.") as directory:
        check = Check(options, pathlib.Path(directory))
        check.install()
        check.exported()
        check.view()
        check.task()
        failures = check.failures
    print(f"{len(failures)} checks failed" if failures else "Inspect reads the log, shows it and runs the task: all held")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
