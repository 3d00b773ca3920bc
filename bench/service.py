#!/usr/bin/env python3
"""What does a service cost, and what does it save?

    bench/service.py [--device cuda] [--size SIZE] [--parts overhead,warm,rewards,connections,urgent]

overhead     a client's time for one evaluation over what the engine says it took (engine_us), against the same in a command, of 20 each
warm         `kernelbench eval --protocol quick` beside a warm service, from the second evaluation of a problem, median of 11
rewards      128 candidates in one POST /v1/rewards, against the same 128 in `kernelbench run --no-service`, builds cached
connections  2,000 event streams held beside 192 evaluations: how many are lost, and what the service's memory grows by
urgent       one urgent evaluation behind a batch of 500: how many others begin between its request and its turn

Starts a service of its own on a store of its own; other work on the machine shows in the figures.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from common import BINARY, heading, problem_files, self_candidate
from run_speed import right_examples

CONNECTIONS, BESIDE, SUBMITTERS, BATCH = 2000, 192, 16, 500


class Connection(http.client.HTTPConnection):
    """Over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=600)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(600)
        self.sock.connect(self.path)


class Service:
    def __init__(self, arguments, directory):
        self.store = directory / "store.sqlite"
        self.socket = directory / "store.sock"
        self.arguments = arguments
        self.process = subprocess.Popen([BINARY, "serve", "--devices", arguments.device, "--store", self.store], stderr=subprocess.PIPE, text=True)
        print(self.process.stderr.readline().strip(), file=sys.stderr)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def ask(self, method, target, body=None):
        with contextlib.closing(Connection(self.socket)) as connection:
            connection.request(method, target, json.dumps(body) if body is not None else None)
            answer = connection.getresponse()
            text = json.loads(answer.read())
            if answer.status >= 400:
                raise SystemExit(f"{method} {target}: {answer.status} {text}")
            return text

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def request(self, problem, path, **more):
        return {"problem": problem, "source": path.read_text(), "name": path.name, "size": self.arguments.size, "protocol": "quick", **more}

    def judge(self, request, whole=False):
        return self.ask("POST", f"/v1/evaluations?wait=600&whole={str(whole).lower()}", request)


def examples_of(arguments, count):
    """(problem, path) of native candidates that are right, in turn."""
    found = list(right_examples(arguments.device, False))
    return [found[i % len(found)] for i in range(count)]


def small_example(arguments):
    return next((problem, path) for problem, path in right_examples(arguments.device, False) if problem in ("1/19", "1/25"))


def beyond_steps(evaluation, start):
    """Milliseconds since `start` in which no step of the evaluation was."""
    return (time.monotonic() - start) * 1e3 - sum(evaluation["engine_us"].values()) / 1e3


def in_engine(problem, path, arguments):
    """The same between evaluations of one command, which prepares the next beside each."""
    command = [BINARY, "eval", problem, *[path] * 21, "--size", arguments.size, "--protocol", "quick", "--device", arguments.device, "--no-store", "--no-service", "--json"]
    over, start = [], time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1) as engine:
        for line in engine.stdout:
            over.append(beyond_steps(json.loads(line), start))
            start = time.monotonic()
    return statistics.median(over[1:])


def overhead(service, arguments):
    problem, path = small_example(arguments)
    found = {}
    for keep in (False, True):
        over = []
        for _ in range(21):
            start = time.monotonic()
            over.append(beyond_steps(service.judge({**service.request(problem, path), "keep": keep}), start))
        found[keep] = statistics.median(over[1:])
    alone = in_engine(problem, path, arguments)
    print(f"overhead over the engine's steps, medians of 20: a client's request {found[False]:.1f} ms, one that is kept {found[True]:.1f}, in an engine alone, "
          f"whose preparing overlaps the evaluation before, {alone:.1f}")


def warm(service, arguments, directory):
    files = problem_files()
    rows = [(name, self_candidate(files[name], directory)) for name in ("1/1", "2/1", "1/19")]
    rows.extend(native for native in dict(reversed([*right_examples(arguments.device, False)])).items() if native[0] in ("1/1", "1/19", "1/36"))
    for problem, path in rows:
        times = []
        for _ in range(12):
            start = time.monotonic()
            done = subprocess.run([BINARY, "eval", problem, path, "--size", arguments.size, "--protocol", "quick", "--device", arguments.device,
                                   "--store", service.store, "--json"], capture_output=True, text=True)
            times.append(time.monotonic() - start)
            if "judging here" in done.stderr or done.returncode > 1:
                raise SystemExit(done.stderr)
        start = time.monotonic()
        subprocess.run([BINARY, "eval", problem, path, "--size", arguments.size, "--protocol", "quick", "--device", arguments.device,
                        "--no-store", "--no-service", "--json"], capture_output=True, text=True)
        print(f"warm: {problem} {path.name}: first {times[0]:.2f} s, then {statistics.median(times[1:]):.2f} s in the median of 11; "
              f"without a service {time.monotonic() - start:.2f} s")


def rewards(service, arguments, directory):
    candidates = examples_of(arguments, arguments.rewards)
    folder = directory / "run"
    folder.mkdir()
    lines = []
    for i, (problem, path) in enumerate(candidates):
        (folder / f"{i}_{path.name}").write_text(path.read_text())
        lines.append(json.dumps({"problem": problem, "path": f"{i}_{path.name}", "sample": i}))
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n")

    def run(name):
        start = time.monotonic()
        subprocess.run([BINARY, "run", folder, "--name", name, "--size", arguments.size, "--protocol", "quick", "--devices", arguments.device,
                        "--store", service.store, "--no-service", "--quiet"], stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - start

    request = {"reward": "kernelbench", "evaluations": [service.request(problem, path) for problem, path in candidates]}

    def reward():
        start = time.monotonic()
        got = service.ask("POST", "/v1/rewards", request)
        missing = sum(row["reward"] is None for row in got["rewards"])
        return time.monotonic() - start, missing

    reward()  # builds are cached from here on
    run_s, (reward_s, missing) = run("cached"), reward()
    count = len(candidates)
    print(f"rewards: {count} candidates in {reward_s:.1f} s, {count / reward_s:.2f} a second; run {run_s:.1f} s, {count / run_s:.2f}; "
          f"ratio {run_s / reward_s:.2f}, 0.9 is asked; {missing} without a reward")


def connections(service, arguments):
    request = service.request(*small_example(arguments))
    service.judge(request)
    before = service.memory_mib()
    ended, errors = [], []

    def submit():
        for _ in range(BESIDE // SUBMITTERS):
            try:
                got = service.judge(request)
                (ended if got["state"] == "done" else errors).append(got["state"])
            except (OSError, SystemExit) as error:
                errors.append(str(error))

    threads = [threading.Thread(target=submit) for _ in range(SUBMITTERS)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    last = service.ask("POST", "/v1/evaluations", {**request, "priority": -100})["id"]  # whose turn comes after all of those
    held = []
    for _ in range(CONNECTIONS):
        connection = Connection(service.socket)
        connection.request("GET", f"/v1/evaluations/{last}/events")
        held.append((connection, connection.getresponse()))
    most = service.memory_mib()
    for thread in threads:
        thread.join()
    lost = 0
    for connection, events in held:
        try:
            lost += b"event: done" not in events.read()
        except (OSError, http.client.HTTPException):
            lost += 1
        connection.close()
    print(f"connections: {lost} of {CONNECTIONS} event streams lost beside {len(ended)} evaluations, {len(errors)} failed {errors[:1]}; "
          f"memory {before:.0f} MiB before, {most:.0f} with them, {service.memory_mib():.0f} after; at most 200 more are asked")


def urgent(service, arguments):
    request = service.request(*small_example(arguments))
    batch = service.ask("POST", "/v1/batches", {"evaluations": [request] * BATCH})
    time.sleep(3)
    mine = service.ask("POST", "/v1/evaluations", {**request, "priority": 10})
    done_before = sum(row["state"] == "done" for row in service.ask("GET", f"/v1/batches/{batch['id']}")["evaluations"])
    start = time.monotonic()
    service.ask("GET", f"/v1/evaluations/{mine['id']}?wait=600")
    waited = time.monotonic() - start
    done_after = sum(row["state"] == "done" for row in service.ask("GET", f"/v1/batches/{batch['id']}")["evaluations"])
    service.ask("DELETE", f"/v1/batches/{batch['id']}")
    print(f"urgent: its verdict came after {waited:.1f} s; {done_after - done_before} others of {BATCH} ended meanwhile, of which one was in "
          "progress and one may have begun behind it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="")
    parser.add_argument("--rewards", type=int, default=128, help="candidates of the part rewards; default 128")
    parser.add_argument("--parts", default="overhead,warm,rewards,connections,urgent")
    arguments = parser.parse_args()
    arguments.size = arguments.size or ("small" if arguments.device == "cpu" else "standard")
    with tempfile.TemporaryDirectory(prefix="service.") as temporary:
        directory = pathlib.Path(temporary)
        service = Service(arguments, directory)
        try:
            first = service.judge(service.request(*small_example(arguments)), whole=True)
            print(heading(f"A service on {arguments.device}, protocol quick, size {arguments.size}", first["evaluation"]))
            for part in arguments.parts.split(","):
                if part in ("warm", "rewards"):
                    globals()[part](service, arguments, directory)
                elif part in ("overhead", "connections", "urgent"):
                    globals()[part](service, arguments)
                else:
                    parser.error(f"there is no part {part}")
                sys.stdout.flush()
        finally:
            service.end()


if __name__ == "__main__":
    main()
