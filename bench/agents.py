#!/usr/bin/env python3
"""What does an agent's loop cost, and what does a kill cost it?

    bench/agents.py [--device cuda] [--turns 1200] [--evaluations 300] [--kills 20] [--agents 16] [--parts turns,kills,beside]

turns    one agent: the engine's own time a turn (its wall time without the model's, the tools' and the judge's), its memory beside that of a short one, the transcript's
         size in the store, and how many turns began with the whole of the request before
kills    the same agent is killed (-9) at random moments, --kills times in all, and goes on: its transcript must be the undisturbed one but for calls that were cut off and
         what was measured. Exit status 1 if it is not
beside   so many agents on one device, each with --each evaluations of one candidate: evaluations a second, and those of `kernelbench run` on the same candidates

The model is scripted and answers at once. `kills` takes a tenth of the turns and evaluations. Other work on the machine shows in the figures.
"""

import argparse
import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from common import BINARY, ROOT, evaluate, heading

sys.path.insert(0, str(ROOT / "tests" / "agents"))
from scripted_model import ScriptedModel  # noqa: E402

EXAMPLE = "examples/1_36_rmsnorm/fused"
CUT_OFF = re.compile(r"(?i)cut off|interrupted")
SHORT = 8  # turns of the agent whose memory is the measure


# ---- The agent ------------------------------------------------------------------------------------------------------


def script(arguments, turns, evaluations, delay=0.0):
    """A turn is an edit with its evaluation, so often as wanted, else one of a few looks around."""
    suffix = "cpp" if arguments.device == "cpu" else "cu"
    name, source = f"kernel.{suffix}", (ROOT / f"{EXAMPLE}.{suffix}").read_text()
    looks = [
        lambda number: [("bash", {"command": f"seq {number} {number + 40}; wc -c {name}; cat TASK.md | head -n 5"})],
        lambda number: [("read_file", {"path": "reference.py", "offset": 1, "limit": 40}), ("list", {})],
        lambda number: [("write_file", {"path": "notes.md", "content": f"Turn {number}: the loop over channels is bound by memory.\n" * 8})],
        lambda number: [("search", {"pattern": "forward", "plain": True}), ("bash", {"command": f"grep -c . {name}"})],
    ]

    def calls_of(number):
        write = ("write_file", {"path": name, "content": source})
        if number == 0:
            return [write]
        if number >= turns - 1:
            return [write, ("submit", {"solution_path": name})]
        done = evaluations * (number - 1) // (turns - 2)
        if evaluations * number // (turns - 2) > done:
            # Two texts in turn, so that builds are cached from the third on.
            return [("write_file", {"path": name, "content": f"{source}\n// {done % 2}\n"}), ("evaluate", {"path": name})]
        return looks[number % len(looks)](number)

    def turn(_task, number):
        calls = [{"name": name, "arguments": values} for name, values in calls_of(number)]
        return {"reasoning": f"The {number}th thought: where does the time go? " * 4, "text": f"Step {number}.", "calls": calls, "delay": delay}

    return turn


def generate(arguments, directory, model, turns, samples=1):
    (directory / "models.toml").write_text(f'[models.scripted]\nprovider = "vllm"\nmodel = "scripted"\nbase_url = "{model.url}"\nwire = "{arguments.wire}"\nconcurrency = 64\n'
                                           "first_wait_s = 0.1\n")
    return [BINARY, "generate", "--run", "r", "--model", "scripted", "--models-file", directory / "models.toml", "--strategy", "agent", "--turns", str(turns), "--samples",
            str(samples), "1/36", "--size", arguments.size, "--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--devices", arguments.device,
            "--store", directory / "store.db", "--quiet"]


class Engine:
    """A command, whose memory (MiB) and CPU seconds are watched."""

    def __init__(self, command, directory):
        self.directory, self.peak, self.cpu, self.start = directory, 0.0, 0.0, time.monotonic()
        with open(directory / "log", "a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"})

    def wait(self, seconds=None):
        """False: it goes on."""
        until = time.monotonic() + seconds if seconds is not None else float("inf")
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError, IndexError):
                process = pathlib.Path(f"/proc/{self.process.pid}")
                self.peak = max(self.peak, int((process / "status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
                self.cpu = sum(map(int, (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
            time.sleep(min(0.2, max(0.0, until - time.monotonic())))
        self.seconds = time.monotonic() - self.start
        return self.process.poll() is not None

    def finish(self):
        self.wait()
        if self.process.returncode != 0:
            raise SystemExit(f"the engine exited with {self.process.returncode}:\n{(self.directory / 'log').read_text()[-2000:]}")
        return self


def end_service(directory):
    """The one that judged, if it is warm still."""
    subprocess.run([BINARY, "service", "stop", "--store", directory / "store.db"], capture_output=True)


# ---- What is in the store -------------------------------------------------------------------------------------------


ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t


def unpacked(frame):
    size = ZSTD.ZSTD_getFrameContentSize(frame, ctypes.c_size_t(len(frame)))
    text = ctypes.create_string_buffer(size)
    got = ZSTD.ZSTD_decompress(text, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    assert got == size
    return json.loads(text.raw.decode()) if size else {}


@contextlib.contextmanager
def database(directory):
    with contextlib.closing(sqlite3.connect(directory / "store.db")) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def rows(directory, query):
    with database(directory) as connection:
        return connection.execute(query).fetchall()


def unmeasured(text):
    return re.sub(r"\d+(\.\d+)?", "#", text)


def transcript(directory):
    """By turn: what the model said, what its tools gave, which files changed, what the judge said, without what is measured."""
    turns = {}
    for row in rows(directory, "SELECT * FROM turns ORDER BY number"):
        answer, results = unpacked(row["answer"]), unpacked(row["results"])
        turns[row["number"]] = {
            "kind": row["kind"], "answer": answer,
            "results": [(result["call_id"], result["name"], unmeasured(result["text"]), result["is_error"]) for result in results["results"]],
            "after": unmeasured(results.get("text", "")), "files": [], "verdicts": []}
    for row in rows(directory, "SELECT * FROM turn_files WHERE turn > 0 ORDER BY turn, path"):
        turns[row["turn"]]["files"].append((row["path"], row["mode"], row["sha256"]))
    for row in rows(directory, "SELECT * FROM turn_verdicts ORDER BY turn, call"):
        turns[row["turn"]]["verdicts"].append((row["call"], row["tool"], row["source_sha256"], row["verdict"]))
    return turns


# ---- The parts ------------------------------------------------------------------------------------------------------


def own_seconds(times, stored):
    """Of each turn but the last: from its answer to the next question, without its tools."""
    tools = [row["tool_seconds"] for row in stored if row["kind"] == "work"]
    return [times[number + 1][0] - times[number][1] - tools[number] for number in sorted(times)[:-1]]


def turns_part(arguments, root):
    found = {}
    for turns, evaluations in ((SHORT, 2), (arguments.turns, arguments.evaluations)):
        directory = root / f"turns_{turns}"
        directory.mkdir()
        with ScriptedModel(script(arguments, turns, evaluations)) as model:
            engine = Engine(generate(arguments, directory, model, turns), directory).finish()
            found[turns] = engine, model.report(), model.times()
        end_service(directory)
    engine, report, times = found[arguments.turns]
    stored = rows(directory, "SELECT kind, seconds, tool_seconds FROM turns ORDER BY number")
    own = own_seconds(times, stored)
    frames = rows(directory, "SELECT sum(length(answer)), sum(length(results)), sum(length(context)) FROM turns")[0]
    verdicts = rows(directory, "SELECT count(*), sum(length(view)) FROM turn_verdicts WHERE tool = 'evaluate'")[0]
    texts = rows(directory, "SELECT count(*), sum(length(source)) FROM candidates")[0]
    subprocess.run([BINARY, "store", "gc", "--store", directory / "store.db"], capture_output=True)
    quarter = max(1, len(own) // 4)
    print(f"turns: {len(stored)} with {verdicts[0]} evaluations in {engine.seconds:.0f} s, of which the model {sum(row['seconds'] for row in stored):.1f} s, tools and judge "
          f"{sum(row['tool_seconds'] for row in stored):.1f} s")
    print(f"turns: the engine's own time {statistics.mean(own) * 1e3:.1f} ms a turn, {statistics.median(own) * 1e3:.1f} in the median, "
          f"{statistics.median(own[:quarter]) * 1e3:.1f} in the first quarter, {statistics.median(own[-quarter:]) * 1e3:.1f} in the last, {max(own) * 1e3:.0f} at most; its CPU time {engine.cpu * 1e3 / len(stored):.1f} ms a turn")
    print(f"turns: memory {engine.peak:.0f} MiB at most, {found[SHORT][0].peak:.0f} of an agent with {SHORT} turns")
    print(f"turns: the store has {(directory / 'store.db').stat().st_size / 1e6:.1f} MB: answers {frames[0] / 1e6:.2f}, results {frames[1] / 1e6:.2f}, context {frames[2] / 1e6:.2f}, "
          f"what the judge said {(verdicts[1] or 0) / 1e6:.2f}, {texts[0]} files and candidates {texts[1] / 1e6:.2f}")
    print(f"turns: {report['prefix_kept']} of {report['continued']} requests began with the whole of the one before, {report['bytes'] / 1e6:.0f} MB were sent, "
          f"{len(report['violations'])} violations {report['violations'][:2]}")


def differences(undisturbed, killed):
    """(what differs without reason, turns with calls that were cut off)."""
    found, cut = [], []
    for number in sorted(set(undisturbed) & set(killed)):
        left, right = undisturbed[number], killed[number]
        if any(CUT_OFF.search(text) for _, _, text, _ in right["results"]):
            cut.append(number)
            left, right = [{key: turn[key] for key in ("kind", "answer")} for turn in (left, right)]
        found += [f"turn {number}: {key}: {left[key]!r:.300} and {right[key]!r:.300}" for key in left if left[key] != right[key]]
    # A submission that was cut off takes one turn more.
    if not 0 <= len(killed) - len(undisturbed) <= len(cut):
        found.append(f"turns {len(undisturbed)} and {len(killed)}")
    # What a call that was cut off did not write is written later.
    if cut:
        found = [each for each in found if ": files:" not in each]
    return found, cut


def kills_part(arguments, root):
    chance, turns = random.Random(arguments.seed), max(SHORT, arguments.turns // 10)
    evaluations = max(2, arguments.evaluations // 10)
    transcripts, seconds, delivered, kills = [], 0.0, 0, 0
    for wanted in (0, arguments.kills):
        directory = root / f"kills_{wanted}"
        directory.mkdir()
        with ScriptedModel(script(arguments, turns, evaluations, delay=0.3)) as model:
            command = generate(arguments, directory, model, turns + arguments.kills)
            while kills < wanted:
                engine = Engine(command, directory)
                if engine.wait(chance.uniform(0.05, seconds / wanted)):
                    break
                engine.process.send_signal(signal.SIGKILL)
                engine.process.wait()
                kills += 1
            seconds = Engine(command, directory).finish().seconds
            delivered, violations = model.report()["answered"], model.report()["violations"]
        end_service(directory)
        transcripts.append(transcript(directory))
    sound = subprocess.run([BINARY, "store", "check", "--store", directory / "store.db"], capture_output=True, text=True)
    lost = rows(directory, "SELECT sum(lost) FROM turns")[0][0]
    found, cut = differences(*transcripts)
    found += violations + ([f"store check: {sound.stdout}"] if sound.returncode else []) + ([f"{lost} calls of the model lost in {kills} kills"] if lost > kills else [])
    print(f"kills: {kills} in {len(transcripts[1])} turns (seed {arguments.seed}): {lost} calls of the model asked again, {len(cut)} turns with calls that were cut off, "
          f"{delivered - len(transcripts[1])} answers delivered in vain; {len(found)} other differences")
    for each in found[:10]:
        print("FAILED " + each)
    return not found


def beside_part(arguments, root):
    directory = root / "beside"
    directory.mkdir()
    turns = 2 * arguments.each + 2
    with ScriptedModel(script(arguments, turns, arguments.each)) as model:
        engine = Engine(generate(arguments, directory, model, turns, arguments.agents), directory).finish()
        report = model.report()
    end_service(directory)
    count = rows(directory, "SELECT count(*) FROM turn_verdicts WHERE tool = 'evaluate'")[0][0] + rows(directory, "SELECT count(*) FROM evaluations")[0][0]
    sources = rows(directory, "SELECT DISTINCT v.source_sha256 FROM turn_verdicts v WHERE v.tool = 'evaluate'")
    suffix = "cpp" if arguments.device == "cpu" else "cu"
    text = (ROOT / f"{EXAMPLE}.{suffix}").read_text()
    folder = root / "run"
    folder.mkdir()
    lines = []
    for sample in range(count):
        (folder / f"{sample}.{suffix}").write_text(f"{text}\n// {sample % max(1, len(sources))}\n")
        lines.append(json.dumps({"problem": "1/36", "path": f"{sample}.{suffix}", "sample": sample}))
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n")
    run = Engine([BINARY, "run", folder, "--name", "beside", "--size", arguments.size, "--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--devices", arguments.device,
                  "--store", directory / "run.db", "--no-service", "--quiet"], directory).finish()
    print(f"beside: {arguments.agents} agents, {count} evaluations in {engine.seconds:.1f} s, {count / engine.seconds:.2f} a second; run {run.seconds:.1f} s, "
          f"{count / run.seconds:.2f}; ratio {run.seconds / engine.seconds:.2f}; engine {engine.peak:.0f} MiB; {len(report['violations'])} violations")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", default="")
    parser.add_argument("--turns", type=int, default=1200)
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--agents", type=int, default=16)
    parser.add_argument("--each", type=int, default=8, help="evaluations of each agent of the part beside; default 8")
    parser.add_argument("--wire", default="chat", choices=("chat", "messages", "responses"))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--parts", default="turns,kills,beside")
    arguments = parser.parse_args()
    arguments.size = arguments.size or ("small" if arguments.device == "cpu" else "standard")
    parts = {"turns": turns_part, "kills": kills_part, "beside": beside_part}
    wanted = arguments.parts.split(",")
    if unknown := set(wanted) - set(parts):
        parser.error(f"there is no part {unknown.pop()}")
    suffix = "cpp" if arguments.device == "cpu" else "cu"
    first = evaluate("1/36", [ROOT / f"{EXAMPLE}.{suffix}"], "--size", arguments.size, "--protocol", "quick", "--device", arguments.device)[0]
    print(heading(f"Agents on {arguments.device}, protocol quick, size {arguments.size}, {arguments.wire}", first), flush=True)
    held = True
    with tempfile.TemporaryDirectory(prefix="agents.", dir="/var/tmp") as temporary:
        for part in wanted:
            held = parts[part](arguments, pathlib.Path(temporary)) is not False and held
            sys.stdout.flush()
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
