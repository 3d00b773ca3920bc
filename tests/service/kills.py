#!/usr/bin/env python3
"""What may happen to `kernelbench serve`: it is killed, a client cancels, a command finds another one's service, the disk is full.

    tests/service/kills.py [--count 12] [--kills 3] [--binary build/dev/bin/kernelbench] [--python PYTHON] [--seed N]

--count: evaluations of the batch that is killed. --python: the engine's, PYTHON in place of one with PyTorch.

Each evaluation that was accepted is judged once or stays cancelled, `eval` says in one line why it asks no service, and a full disk costs nobody an answer. Exit
status 0 if all held, 1 if not.
"""

import argparse
import contextlib
import ctypes
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "robustness"))
from kill import PATIENCE, PROBLEM, SUBREAPER, descendants, kind_of, reap  # noqa: E402

RIGHT = """#include <kernelbench/kernel.h>
#include <unistd.h>

KB_EXPORT int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  usleep(%d);
  for (int i = 0; i < 64 * 64; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
"""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("kernelbench", timeout=300)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Stub(socketserver.ThreadingUnixStreamServer):
    """A service that says what another one would, for as long as it is a context."""

    def __init__(self, path, status, body):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def address_string(self):
                return "stub"

            def log_message(self, *_):
                pass

        super().__init__(str(path), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        os.unlink(self.server_address)


class Check:
    def __init__(self, options, root):
        self.options, self.root, self.failures, self.chance = options, root, [], random.Random(options.seed)
        self.binary = str(pathlib.Path(options.binary).resolve())
        for name in ("tmp", "home", "full"):
            (root / name).mkdir()
        (root / "relu.py").write_text(PROBLEM)
        (root / "right.cpp").write_text(RIGHT % 0)
        self.environment = {**os.environ, "TMPDIR": str(root / "tmp"), "HOME": str(root / "home"), "KERNELBENCH_CACHE": str(root / "cache"), "NO_COLOR": "1"}
        if options.python:
            self.environment["KERNELBENCH_PYTHON"] = options.python

    def expect(self, holds, what):
        print(f"{'ok' if holds else 'FAILED'}: {what}", flush=True)
        if not holds:
            self.failures.append(what)

    # ---- the service ----

    def serve(self, store, prefix=(), before="", more=()):
        self.socket = self.root / "s.sock"
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()
        command = f"{before}\nexec '{self.binary}' serve --store {store} --socket '{self.socket}' {' '.join(more)}"
        self.log = open(self.root / "log", "a")  # a pipe would be kept open by what stays behind
        self.service = subprocess.Popen([*prefix, "bash", "-ec", command], cwd=self.root, env=self.environment, stdout=self.log, stderr=self.log)
        self.until(lambda: self.ask("GET", "/health")[0] == 200, "it answers")

    def ask(self, method, target, body=None):
        """(status, JSON); (0, None) where nobody answers."""
        try:
            connection = Connection(self.socket)
            connection.request(method, target, json.dumps(body) if body is not None else None)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return 0, None

    def until(self, happened, what, patience_s=120):
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if happened():
                return True
            time.sleep(0.01)
        self.expect(False, what)
        return False

    def stop(self):
        self.service.send_signal(signal.SIGTERM)
        self.expect(self.service.wait(60) == 0, "SIGTERM ends it")
        self.gone()

    def kill(self):
        self.service.kill()
        self.service.wait()

    def gone(self):
        """Nothing of it is left."""
        self.until(lambda: (reap(), not descendants(os.getpid()))[1], "no process is left", PATIENCE)

    def device_processes(self):
        return [p.pid for p in descendants(self.service.pid).values() if "kernelbench_torch.device_host" in p.argv]

    def native_runners(self):
        below = descendants(self.service.pid)
        return [p.pid for p in below.values() if kind_of(p, below) == "native runner"]

    def request(self, number=0, sleep_us=0, **more):
        return {"problem": str(self.root / "relu.py"), "problem_name": "relu", "protocol": "quick", "keys": {"measure": False}, "name": "right.cpp", "source": RIGHT % sleep_us,
                "sample": number, **more}

    def rows(self, query, store="store.db"):
        with sqlite3.connect(self.root / store) as database:
            return database.execute(query).fetchall()

    # ---- kills ----

    def kills(self):
        count = self.options.count
        self.serve("store.db")
        status, batch = self.ask("POST", "/v1/batches", {"evaluations": [self.request(i, 2000, run="r") for i in range(count)]})
        self.expect(status == 202 and batch["open"] == count, f"{count} are accepted")
        where = f"/v1/batches/{batch['id']}"
        for kill in range(self.options.kills):
            enough = count * (kill + 1) // (self.options.kills + 1)
            self.until(lambda: count - self.ask("GET", where)[1]["open"] >= enough, f"{enough} are judged")
            time.sleep(self.chance.uniform(0, 0.3))
            self.kill()
            self.serve("store.db")
        self.until(lambda: self.ask("GET", f"{where}?wait=60")[1]["open"] == 0, "all are judged", 900)
        views = self.ask("GET", where)[1]["evaluations"]
        self.expect([view["verdict"] for view in views] == ["correct"] * count, "each is correct")
        self.stop()
        samples = [row[0] for row in self.rows("SELECT sample FROM evaluations ORDER BY sample")]
        self.expect(samples == list(range(count)), f"after {self.options.kills} kills each is there, once")
        self.expect(self.rows("SELECT DISTINCT state FROM jobs") == [("done",)] and self.rows("PRAGMA integrity_check") == [("ok",)], "and the store is sound")

    # What is being judged is cancelled, and the service is killed before anything has ended.
    def cancels(self):
        self.serve("cancel.db")
        kept = self.ask("POST", "/v1/evaluations", self.request(0, 3_000_000))[1]["id"]
        self.until(lambda: self.ask("GET", f"/v1/evaluations/{kept}")[1]["state"] == "judging", "it is being judged")
        self.until(lambda: self.native_runners() and self.device_processes(), "it has a runner")
        before = self.device_processes()
        after = self.ask("POST", "/v1/evaluations", self.request(1))[1]["id"]
        self.expect(self.ask("DELETE", f"/v1/evaluations/{kept}")[1]["state"] == "cancelled", "what is being judged is cancelled")
        start = time.monotonic()
        self.ask("GET", f"/v1/evaluations/{after}?wait=60")
        print(f"the next one was judged {time.monotonic() - start:.1f} s later")
        self.expect(self.device_processes() == before, "by the same device process")
        doomed = self.ask("POST", "/v1/evaluations", self.request(2, 3_000_000))[1]["id"]
        self.until(lambda: self.ask("GET", f"/v1/evaluations/{doomed}")[1]["state"] == "judging", "another is being judged")
        self.ask("DELETE", f"/v1/evaluations/{doomed}")
        self.kill()
        self.serve("cancel.db")
        states = [self.ask("GET", f"/v1/evaluations/{each}")[1]["state"] for each in (kept, after, doomed)]
        self.expect(states == ["cancelled", "done", "cancelled"], f"a kill does not lose it: {states}")
        self.leaves()
        self.stop()
        self.expect(self.rows("SELECT count(*) FROM evaluations", "cancel.db") == [(1,)], "nothing is kept of what was cancelled")

    # A client that does not have it kept goes away while it is being judged.
    def leaves(self):
        connection = Connection(self.socket)
        connection.request("POST", "/v1/evaluations", json.dumps(self.request(3, 3_000_000, keep=False)))
        judging = lambda: self.ask("GET", "/v1/service")[1]["open"] == 1  # noqa: E731
        self.until(judging, "an unkept one is open")
        connection.close()
        self.expect(self.until(lambda: not judging(), "it is cancelled", 20), "a client that goes away ends what is not kept")

    # ---- eval beside the service of another one ----

    def eval(self, store):
        """(whether it judged well, what it says of services)"""
        done = subprocess.run([self.binary, "eval", "relu.py", "right.cpp", "--protocol", "quick", "--measure", "false", "--store", store], cwd=self.root, env=self.environment,
                              capture_output=True, text=True, timeout=300)
        return done.returncode == 0, [line for line in done.stderr.splitlines() if "judging here" in line]

    def others(self):
        self.serve("mine.db")
        identity = self.ask("GET", "/v1/service")[1]["identity"]
        self.stop()
        socket_path = self.root / "mine.sock"
        for what, status, body, says in (
                ("another version", 200, {"identity": {**identity, "program": "another"}}, "differs in program:"),
                ("another user", 200, {"identity": {**identity, "user": "4711"}}, "differs in user:"),
                ("other devices", 200, {"identity": {**identity, "devices": "cuda:0"}}, "differs in devices:"),
                ("a version that has no such route", 404, {"detail": "there is none"}, "no service of this version")):
            with Stub(socket_path, status, json.dumps(body).encode()):
                right, lines = self.eval("mine.db")
            self.expect(right and len(lines) == 1 and says in lines[0], f"eval beside the service of {what} judges itself: {lines}")
        self.serve("mine.db")
        os.symlink(self.socket, socket_path)
        self.expect(self.eval("other.db") == (True, []), "eval with another store asks nobody")
        self.expect(self.rows("SELECT count(*) FROM evaluations", "other.db") == [(1,)], "and fills its own")
        self.expect(self.eval("mine.db") == (True, []), "beside its own service it says nothing")
        self.stop()

    # ---- a full disk ----

    def full_disk(self):
        if shutil.which("unshare") is None:
            print("skipped: there is no unshare")
            return
        own = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
        self.serve("full/store.db", own, f"mount -t tmpfs -o size=2m full '{self.root}/full'")
        first = self.ask("POST", "/v1/evaluations?wait=60", self.request(0))[1]
        self.expect(first["verdict"] == "correct", "there is room at first")
        slow = self.ask("POST", "/v1/evaluations", self.request(1, 300_000))[1]["id"]
        self.until(lambda: self.ask("GET", f"/v1/evaluations/{slow}")[1]["state"] == "judging", "one is being judged")
        filler = pathlib.Path(f"/proc/{self.service.pid}/root{self.root}/full/filler")
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1024))
        long = lambda number: self.request(number, source=RIGHT % 0 + f"// {os.urandom(100_000).hex()}\n")  # noqa: E731
        answers = [self.ask("POST", "/v1/evaluations", long(2 + i)) for i in range(20)]
        refused = [body for status, body in answers if status == 503]
        self.expect(refused and all(body["retryable"] and body["fault"] == "machine" and "full" in body["detail"] for body in refused), f"{len(refused)} of 20 are refused with 503")
        self.expect(all(status in (202, 503) for status, _ in answers), "and nothing else")
        unkept = self.ask("POST", "/v1/evaluations", self.request(0, keep=False))[1]
        self.expect(unkept["verdict"] == "correct", "what is not kept is judged")
        self.expect(self.ask("GET", f"/v1/evaluations/{first['id']}")[0] == 200, "what is stored can be read")
        time.sleep(2)
        print(f"meanwhile /health says {self.ask('GET', '/health')}, and the slow one is {self.ask('GET', f'/v1/evaluations/{slow}')[1]['state']}")
        filler.unlink()
        self.expect(self.ask("GET", f"/v1/evaluations/{slow}?wait=60")[1]["verdict"] == "correct", "what was judged meanwhile is not lost")
        accepted = [body["id"] for status, body in answers if status == 202]
        ended = [self.ask("GET", f"/v1/evaluations/{each}?wait=120")[1]["verdict"] for each in accepted]
        self.expect(set(ended) <= {"correct"}, f"nor the {len(accepted)} that were accepted")
        self.until(lambda: self.ask("GET", "/health")[0] == 200, "it is healthy again", 20)
        self.expect(self.ask("POST", "/v1/evaluations?wait=60", self.request(50))[1]["verdict"] == "correct", "and takes others again")
        self.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--binary", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    parser.add_argument("--python")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # what outlives the service is this program's to see
    with tempfile.TemporaryDirectory(prefix="kernelbench-kills.") as directory:
        check = Check(options, pathlib.Path(directory))
        try:
            for part in (check.kills, check.cancels, check.others, check.full_disk):
                part()
        except Exception:
            print((check.root / "log").read_text()[-3000:])
            raise
        finally:
            if check.service.poll() is None:
                check.kill()
    print(f"{len(check.failures)} checks failed" if check.failures else f"{options.kills} kills in a batch of {options.count}, cancels, other services, a full disk: all held")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
