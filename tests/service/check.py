#!/usr/bin/env python3
"""`kernelbench serve` under the tools that others use: schemathesis, openapi-spec-validator, Prometheus's parser and curl.

    tests/service/check.py [--binary build/dev/bin/kernelbench] [--venv DIRECTORY] [--seconds 120]

Installs the three from PyPI into --venv, by default a temporary one. schemathesis makes requests of /openapi.json, right and wrong ones, for so many seconds, with a token and
without. curl has a candidate judged, reads its events and waits for it. Exit status 0 if all held, 1 if not, 77 if PyPI cannot be reached or there is no curl.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ["schemathesis", "openapi-spec-validator", "prometheus-client"]
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
          "unsupported_method", "allow_header_conformance", "ignored_auth"]
READ_METRICS = """
import json, sys
from prometheus_client.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(sys.stdin.read()))
json.dump({family.name: {"type": family.type, "help": family.documentation, "samples": [[s.name, s.labels, s.value] for s in family.samples]} for family in families}, sys.stdout)
"""
RELU = """#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* out = static_cast<float*>(call->outputs[0].data);
  int64_t n = 1;
  for (int d = 0; d < call->inputs[0].ndim; ++d) n *= call->inputs[0].shape[d];
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
"""
REQUEST = {"problem": "1/19", "size": "small", "protocol": "quick", "keys": {"measure": False}, "name": "relu.cpp", "source": RELU}


class Check:
    def __init__(self, options, root):
        self.binary, self.root, self.seconds = str(pathlib.Path(options.binary).resolve()), root, options.seconds
        self.venv = pathlib.Path(options.venv).resolve() if options.venv else root / "venv"
        self.failures = []
        self.environment = {**os.environ, "KERNELBENCH_STORE": str(root / "store.db"), "PATH": f"{self.venv / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1"}

    def expect(self, holds, what):
        print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
        if not holds:
            self.failures.append(what)

    def run(self, *arguments, fails=False, **options):
        done = subprocess.run([str(each) for each in arguments], env=self.environment, capture_output=True, text=True, cwd=self.root, **options)
        if done.returncode != 0 and not fails:
            sys.exit(f"{' '.join(map(str, arguments))} failed with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def curl(self, *arguments, fails=False):
        return self.run("curl", "--silent", "--show-error", "--max-time", 300, "--unix-socket", self.root / "store.sock", *arguments, fails=fails).stdout

    def install(self):
        if shutil.which("curl") is None:
            print("skipped: there is no curl")
            sys.exit(77)
        if (self.venv / "bin" / "schemathesis").exists():
            return
        subprocess.run([sys.executable, "-m", "venv", str(self.venv)], check=True)
        pip = subprocess.run([self.venv / "bin" / "pip", "install", "--quiet", *PACKAGES], capture_output=True, text=True)
        if pip.returncode != 0:
            print(f"skipped: {', '.join(PACKAGES)} cannot be installed from PyPI: {pip.stderr.splitlines()[-1] if pip.stderr else ''}")
            sys.exit(77)

    def serve(self):
        self.token = self.run(self.binary, "token", "add", "tester", "--rights", "judge,admin").stdout.strip()
        self.service = subprocess.Popen([self.binary, "serve", "--listen", "127.0.0.1:0"], env=self.environment, cwd=self.root, stderr=subprocess.PIPE, text=True)
        said = self.service.stderr.readline()
        self.url = re.search(r"http://\S+", said)[0]

    # ---- curl ----

    def judged_by_curl(self):
        body = self.root / "request.json"
        body.write_text(json.dumps(REQUEST))
        accepted = json.loads(self.curl("http://kernelbench/v1/evaluations", "--data-binary", f"@{body}"))
        where = f"http://kernelbench/v1/evaluations/{accepted['id']}"
        self.expect(accepted["state"] in ("queued", "preparing"), "a request is accepted at once")
        events = self.curl("--no-buffer", f"{where}/events")
        names = re.findall(r"^event: (\w+)", events, re.MULTILINE)
        numbers = re.findall(r"^id: (\d+)", events, re.MULTILINE)
        self.expect(names[:1] == ["queued"] and names[-1:] == ["done"], f"events from the first to the last: {names}")
        self.expect(numbers == [str(n) for n in range(len(names))], "each has its number")
        self.expect(all(json.loads(line) for line in re.findall(r"^data: (.*)", events, re.MULTILINE)), "and JSON")
        self.expect(json.loads(self.curl(f"{where}?wait=60"))["verdict"] == "correct", "who waits is told the verdict")
        slow = {**REQUEST, "source": RELU + "// another"}
        body.write_text(json.dumps(slow))
        waited = self.curl("http://kernelbench/v1/evaluations?wait=120", "--data-binary", f"@{body}", "--write-out", " %{http_code}")
        self.expect(waited.endswith(" 200") and json.loads(waited[:-4])["state"] == "done", "a request may wait for its end")

    # ---- what others make of it ----

    def metrics(self):
        found = json.loads(self.run(self.venv / "bin" / "python", "-c", READ_METRICS, input=self.curl("http://kernelbench/metrics")).stdout)
        self.expect(set(found) == {"kernelbench_evaluations_open", "kernelbench_evaluations", "kernelbench_device_seconds"}, f"metrics: {sorted(found)}")
        self.expect(found["kernelbench_evaluations"]["type"] == "counter" and all(family["help"] for family in found.values()), "types and help")
        self.expect(["kernelbench_evaluations_total", {"verdict": "correct"}, 2.0] in found["kernelbench_evaluations"]["samples"], "both evaluations are counted")
        self.expect(sum(sample[2] for sample in found["kernelbench_evaluations_open"]["samples"]) == 0, "and none is open")

    def document(self):
        (self.root / "openapi.json").write_text(self.curl("http://kernelbench/openapi.json"))
        valid = self.run("openapi-spec-validator", self.root / "openapi.json", fails=True)
        self.expect(valid.returncode == 0, f"the document is OpenAPI: {(valid.stdout + valid.stderr).strip()[-500:]}")

    def schemathesis(self):
        done = self.run("schemathesis", "run", f"{self.url}/openapi.json", "--header", f"Authorization: Bearer {self.token}", "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
                        "--max-time", self.seconds, "--seed", 1, "--request-timeout", 60, "--continue-on-failure", fails=True)
        (self.root / "schemathesis.log").write_text(done.stdout + done.stderr)
        if done.returncode != 0:
            print(done.stdout[-12000:], done.stderr[-3000:])
        self.expect(done.returncode == 0, "schemathesis finds nothing")
        self.expect(self.service.poll() is None and json.loads(self.curl("http://kernelbench/health"))["status"] == "healthy", "the service is well after it")

    def end(self):
        self.service.send_signal(signal.SIGTERM)
        self.expect(self.service.wait(60) == 0, "SIGTERM ends it")
        self.expect(not (self.root / "store.sock").exists(), "and its socket has gone")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    parser.add_argument("--venv")
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kernelbench-service-check.") as directory:
        check = Check(options, pathlib.Path(directory))
        check.install()
        check.serve()
        try:
            check.judged_by_curl()
            check.metrics()
            check.document()
            check.schemathesis()
            check.end()
        finally:
            check.service.kill()
            check.service.wait()
        failures = check.failures
    print(f"{len(failures)} checks failed" if failures else "schemathesis, openapi-spec-validator, Prometheus's parser and curl: all held")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
