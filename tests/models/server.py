#!/usr/bin/env python3
"""`kernelbench generate` and a model server as people run one, with a tiny model that is trained here to know one kernel by heart.

    tests/models/server.py [--server llama.cpp|transformers] [--binary build/dev/bin/kernelbench]

Asks the server through `kernelbench models --try`, then for two candidates, then for two more; in the middle of these answers the server is killed. The command must
say so, keep what it has, and go on when the server is back. The server and what trains the model come from PyPI, into an environment of their own in
build/model_server, which is made once. Exit status 0 if all held, 1 if not, 77 if there is no network to make the environment.
"""

import argparse
import ctypes
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
NO_NETWORK = r"name resolution|name or service not known|failed to establish a new connection|network is unreachable|connection (refused|timed out|broken)|max retries|timed out"
SKIPPED = 77
ANSWER = """One loop, for it is bound by memory — 4 bytes in, 4 out.

```cpp
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
```
"""
MODELS = """[models.memory]
provider = "llamacpp"
model = "{model}"
base_url = "{url}"
concurrency = 2
temperature = 0
max_tokens = 1500
attempts = 1
"""
LIBC = ctypes.CDLL(None)
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy does not know this machine's ports


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command, log, **environment):
    """A process that is gone when this one is, even if this one is killed."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **environment}, preexec_fn=die_with_parent)


# ---- The environment ------------------------------------------------------------------------------------------------


def make_environment(directory, packages, log):
    """Its Python also finds what this one has, so that PyTorch is not installed twice."""
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", directory], stdout=log, stderr=log, check=True)
    python = directory / "bin" / "python"
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True, text=True, check=True).stdout.strip()
    # --system-site-packages looks below a virtual environment, not into it.
    pathlib.Path(own, "of_the_project.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("-packages")))
    subprocess.run([python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--retries", "2", *packages], stdout=log, stderr=log, check=True)


def environment(name, packages, parent="model_server"):
    """The Python of build/PARENT/NAME, which is made if it is not there or not the one that is wanted now."""
    directory, log = BUILD / parent / name, BUILD / parent / f"{name}.log"
    directory.parent.mkdir(parents=True, exist_ok=True)
    stamp, wanted = directory / "made_of", "\n".join([os.path.realpath(sys.prefix), sys.version, *packages])
    with open(directory.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test may be making it
        if not stamp.exists() or stamp.read_text() != wanted:
            print(f"making {directory} of {', '.join(packages)}", flush=True)
            try:
                with open(log, "w") as out:
                    make_environment(directory, packages, out)
            except subprocess.CalledProcessError as failure:
                said = log.read_text(errors="replace")
                if not re.search(NO_NETWORK, said, re.IGNORECASE):
                    sys.exit(f"{' '.join(map(str, failure.cmd))} failed:\n{said[-3000:]}")
                print(f"skipped: {', '.join(packages)} could not be fetched ({log}). Connect the network and run it again. Without one: let `pip download "
                      f"{' '.join(packages)}` fill a directory on a machine like this one, and run it with PIP_NO_INDEX=1 PIP_FIND_LINKS=DIRECTORY.")
                sys.exit(SKIPPED)
            stamp.write_text(wanted)
    return directory / "bin" / "python"


# ---- The servers ----------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ModelServer:
    """Started with start(), gone after kill() and after the with statement."""

    def __init__(self, root):
        self.root, self.port, self.process = root, free_port(), None
        self.model = "one-answer"  # as requests name it
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.log = root / "server.log"
        self.python = environment(self.name, self.packages)
        (root / "answer.txt").write_text(ANSWER)
        subprocess.run([self.python, HERE / "one_answer.py", root / "answer.txt", root, *self.files], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, slow=False):
        with open(self.log, "a") as log:
            self.process = start([str(word) for word in self.command(slow)], log, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
        until = time.monotonic() + 120
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"{self.name} did not start:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def get(self, path):
        with DIRECT.open(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return json.load(answer)

    def is_up(self):
        try:
            return bool(self.get("/health"))
        except OSError:
            return False

    def ask(self):
        """What it answers when it is asked for no stream."""
        body = {"model": self.model, "messages": [{"role": "user", "content": "Which kernel?"}], "temperature": 0, "max_tokens": 1500}
        request = urllib.request.Request(self.url + "/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        with DIRECT.open(request, timeout=120) as answer:
            return json.load(answer)


class LlamaCpp(ModelServer):
    name, packages = "llama.cpp", ["xllamacpp==2026.10.11549", "gguf==0.19.0"]
    files = ["--files", "gguf", "--ballast", "8192"]

    def command(self, slow):
        return [self.python, HERE / "llama_server.py", self.root / ("slow.gguf" if slow else "model.gguf"), self.port]

    def is_amid(self, count):
        return sum(slot["is_processing"] and slot["next_token"][0]["n_decoded"] > 20 for slot in self.get("/slots")) >= count


class Transformers(ModelServer):
    name, packages = "transformers", ["transformers[serving]==5.24.0"]
    files = ["--files", "transformers"]

    def __init__(self, root):
        super().__init__(root)
        self.model, self.asked_at = str(root), None  # it wants to be asked for the directory

    def command(self, _slow):  # it is slow enough
        return [self.python, "-m", "transformers.cli.transformers", "serve", "--host", "127.0.0.1", "--port", self.port, self.root]

    def ask(self):
        began = time.monotonic()
        answer = super().ask()
        self.seconds = time.monotonic() - began
        return answer

    def is_amid(self, count):
        """It does not tell how far it is: a third of an answer's time after the questions came."""
        established = re.compile(rf" \w+:{self.port:04X} \w+:\w+ 01 ")
        if self.asked_at is None and len(established.findall(pathlib.Path("/proc/net/tcp").read_text())) >= count:
            self.asked_at = time.monotonic()
        return self.asked_at is not None and time.monotonic() - self.asked_at > self.seconds / 3


# ---- What must hold -------------------------------------------------------------------------------------------------


class Test:
    def __init__(self, binary, root, server):
        self.binary, self.root, self.server, self.failures = binary, root, server, []
        (root / "models.toml").write_text(MODELS.format(url=server.url, model=server.model))
        self.environment = {"KERNELBENCH_STORE": str(root / "store.db"), "KERNELBENCH_MODELS": str(root / "models.toml"), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def expect(self, what, found, wanted):
        if found != wanted:
            self.failures.append(f"{what}: {found!r} instead of {wanted!r}")

    def lines(self, *arguments):
        done = subprocess.run([self.binary, *arguments, "--json"], env={**os.environ, **self.environment}, capture_output=True, text=True, preexec_fn=die_with_parent)
        if done.returncode != 0:
            sys.exit(f"FAILED kernelbench {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}{done.stdout[-1500:]}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    @staticmethod
    def generate(samples):
        return ["generate", "1/19", "--model", "memory", "--run", "r", "--samples", str(samples), "--size", "small", "--protocol", "quick", "--measure", "false", "--profile-ms", "0",
                "--backend", "native"]

    def stored(self):
        """The states of the requests, and the answers."""
        with sqlite3.connect(self.root / "store.db") as database:
            states = [row[0] for row in database.execute("SELECT state FROM requests ORDER BY id")]
            return states, database.execute("SELECT * FROM answers ORDER BY id").fetchall()

    def models(self, usage):
        listed = self.lines("models")
        self.expect("addresses of kernelbench models", [line.get("base_url") for line in listed], [self.server.url])
        for line in self.lines("models", "--try", "memory"):
            if answer := line.get("answer"):
                self.expect("the answer of models --try", answer["text"], ANSWER)
                self.expect("its output tokens", answer["usage"]["output"], usage["completion_tokens"])
                return
        self.failures.append("kernelbench models --try has no answer")

    def candidates(self, samples, before, usage):
        """generate, when `before` of the samples have been answered."""
        lines = self.lines(*self.generate(samples))
        summary = next((line for line in lines if line.get("summary")), {})
        verdicts = {line["sample"]: line["verdict"] for line in lines if "verdict" in line}
        self.expect("verdicts", verdicts, {sample: "correct" for sample in range(before, samples)})
        counted = {"answered": samples, "calls": samples, "calls_without_usage": 0, "without_candidate": 0, "gave_no_answer": 0,
                   "input_tokens": samples * usage["prompt_tokens"], "output_tokens": samples * usage["completion_tokens"]}
        self.expect("the summary", {key: summary.get(key) for key in counted}, counted)
        for sample in range(samples):
            shown = self.lines("trajectory", "r", "--candidate", str(sample))
            self.expect(f"the answer of candidate {sample}", [line["response"] for line in shown], [ANSWER])

    def killed(self, samples):
        """generate, and the server is killed in the middle of two answers."""
        before = self.stored()[1]
        with open(self.root / "killed.log", "w+") as log:
            engine = start([self.binary, *self.generate(samples)], log, **self.environment)
            try:
                while engine.poll() is None and not self.server.is_amid(2):
                    time.sleep(0.01)
                self.server.kill()
                engine.wait(60)
            finally:
                engine.kill()
            log.seek(0)
            said = log.read()
        self.expect("the exit status after the server was killed", engine.returncode, 3)
        if "gave up after 1 attempt: the connection broke" not in said:
            self.failures.append(f"it does not say that the connection broke: {said}")
        states, answers = self.stored()
        self.expect("requests after the server was killed", states, ["answered"] * len(before) + ["failed"] * (samples - len(before)))
        self.expect("answers after the server was killed", answers, before)
        return before


def run(test, server):
    server.start()
    whole = server.ask()
    test.expect("the answer without a stream", whole["choices"][0]["message"]["content"], ANSWER)
    test.models(whole["usage"])
    test.candidates(2, 0, whole["usage"])
    server.kill()
    server.start(slow=True)
    kept = test.killed(4)
    server.start()
    test.candidates(4, 2, whole["usage"])
    states, answers = test.stored()
    test.expect("requests in the end", states, ["answered"] * 4)
    test.expect("the first answers in the end", answers[:2], kept)
    sound = subprocess.run([test.binary, "store", "check"], env={**os.environ, **test.environment}, capture_output=True, text=True)
    test.expect(f"the exit status of store check ({sound.stdout.strip()})", sound.returncode, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(BUILD / "dev" / "bin" / "kernelbench"))
    parser.add_argument("--server", choices=["llama.cpp", "transformers"], default="llama.cpp")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the directory is removed
    with tempfile.TemporaryDirectory(prefix="kernelbench-server.") as directory:
        root = pathlib.Path(directory)
        with (LlamaCpp if options.server == "llama.cpp" else Transformers)(root) as server:
            began = time.monotonic()
            test = Test(options.binary, root, server)
            run(test, server)
        if server.is_up():
            test.failures.append("the server is still there")
        if test.failures:
            print(server.log.read_text()[-2000:])
        for failure in test.failures:
            print("FAILED " + failure)
        print(f"{options.server}: 4 candidates, one kill in {time.monotonic() - began:.1f} s: {len(test.failures)} failures")
    sys.exit(1 if test.failures else 0)


if __name__ == "__main__":
    main()
