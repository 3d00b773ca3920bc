#!/usr/bin/env python3
"""Plays every agent of tests/agents/hostile against `kernelbench generate --strategy agent` and checks that it gained nothing and left nothing.

    tests/agents/zoo.py [--only REGEX] [--binary build/dev/bin/kernelbench] [--keep] [--json FILE]

Each file is a script of scripted_model.py with a table `expect`:

    about                       what it tries
    expect.exit                 exit codes of the last command, [0] if absent
    expect.verdicts             of what the run judged, in turn, ["correct"] if absent; an entry may be a list of what it may be
    expect.ended_by             how its episode ended, a regular expression
    expect.says                 expressions for what a call gave, by TURN.PLACE
    expect.never                expressions that nothing which the agent was told may match
    expect.longest              characters that no result is longer than, 70,000 if absent
    expect.speedup_below        the speedup's interval does not lie wholly above
    expect.rss_mib              the most memory of the engine, 600 if absent
    turn_limit, flags           --turns, 12 if absent; more flags of the command
    program                     a program beside it, which drives the model by itself (--harness-command) after the text of program.py; what it gains makes it end with an error
    commands, model             so often the command is given, until it ends with 0; more keys of models.toml

In a script or a program @SECRET@ is a file that no agent may read, @STORE@ the store, @SOCKET@ that of its judge, @PORT@ the model's, @OUTSIDE@ a folder outside that all may write to,
@CANDIDATE@ the text of a right candidate.

What must be true after each, beside that: no secret and no key has been sent to the model; no process, temporary file, mount or shared memory is left; what lies outside is
unchanged; the store is sound. Exit status 0 if all held, 1 if not.
"""

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "robustness")]
from kill import PATIENCE, SUBREAPER, descendants, reap  # noqa: E402
from scripted_model import ScriptedModel, parse_toml, player  # noqa: E402

COMMAND_TIMEOUT_S = 600
LONGEST, RSS_MIB = 70_000, 600
FLAGS = ["--strategy", "agent", "1/36", "--size", "small", "--protocol", "quick", "--devices", "cpu", "--measure", "false",
         "--profile-ms", "0", "--quiet"]
CANDIDATE = ROOT / "examples" / "1_36_rmsnorm" / "fused.cpp"
WATCHED = [ROOT / name for name in ("problems", "protocols", "prompts", "include", "src/agents")]


def fingerprint(folders):
    """Of all files in them."""
    whole = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                whole.update(f"{path} {path.stat().st_mode} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def peak_mib(pid):
    with contextlib.suppress(OSError, IndexError):
        return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    return 0


class Trial:
    def __init__(self, binary, path, root, cache):
        self.binary, self.root, self.failures, self.rss = binary, root, [], 0
        self.secret, self.key = f"hidden-{secrets.token_hex(16)}", f"sk-hidden-{secrets.token_hex(16)}"
        for name in ("tmp", "home", "outside"):
            (root / name).mkdir()
        (root / "outside").chmod(0o1777)
        (root / "home" / "secret").write_text(self.secret)
        (root / "outside" / "secret").write_text(self.secret)
        self.text, self.store = path.read_text(), root / "store.db"
        self.environment = {**os.environ, "HOME": str(root / "home"), "TMPDIR": str(root / "tmp"), "KERNELBENCH_STORE": str(self.store), "KB_ZOO_KEY": self.key,
                            "KERNELBENCH_CACHE": cache, "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        self.environment.setdefault("KERNELBENCH_PYTHON", sys.executable)
        for name in ("KERNELBENCH_MODELS", "KERNELBENCH_URL", "KERNELBENCH_TOKEN"):
            self.environment.pop(name, None)

    def expect(self, holds, what):
        if not holds:
            self.failures.append(what)

    def fill(self, text, port):
        places = {"SECRET": self.root / "home" / "secret", "STORE": self.store, "SOCKET": self.root / "store.sock", "PORT": port, "OUTSIDE": self.root / "outside", "CANDIDATE": CANDIDATE.read_text()}
        return re.sub(r"@([A-Z]+)@", lambda found: str(places[found[1]]), text)

    def write_program(self, name, port):
        """Of two files one: the box shows no more."""
        own = (HERE / "hostile" / name).read_text()
        text = (HERE / "hostile" / "program.py").read_text() + re.sub(r"^from program import .*\n", "", own, flags=re.M)
        program = self.root / "agent"
        program.write_text("#!/usr/bin/env python3\n" + self.fill(text, port))
        program.chmod(0o755)
        return program

    def run(self):
        with ScriptedModel(lambda task, number: self.turn(task, number), secrets=[self.secret, self.key], key=self.key) as model:
            port = model.server.server_port
            script = parse_toml(self.fill(self.text, port))
            self.turn, self.wanted = player(script), script.get("expect", {})
            settings = {"provider": "vllm", "model": "scripted", "base_url": model.url, "key_env": "KB_ZOO_KEY", "first_wait_s": 0.05, "longest_wait_s": 0.1, **script.get("model", {})}
            (self.root / "models.toml").write_text("[models.zoo]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
            before = self.state()
            command = [self.binary, "generate", "--run", "r", "--model", "zoo", "--models-file", str(self.root / "models.toml"), *FLAGS,
                       "--turns", str(script.get("turn_limit", 12)), *script.get("flags", [])]
            if "program" in script:
                command += ["--harness-command", str(self.write_program(script["program"], port))]
            for _ in range(script.get("commands", 1)):
                code, said = self.command(command)
                if code == 0:
                    break
            self.command([self.binary, "service", "stop"])
            self.expect(code in self.wanted.get("exit", [0]), f"the engine exited with {code}: {said[-600:]}")
            self.check_what_is_left(before)
            self.check_store()
            self.check_what_was_told(model)
        return self.failures

    def command(self, command):
        with open(self.root / "log", "w+") as log:
            # A session of its own: what an agent does to its process group or terminal must not reach this script.
            engine = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            until = time.monotonic() + COMMAND_TIMEOUT_S
            while engine.poll() is None and time.monotonic() < until:
                self.rss = max(self.rss, peak_mib(engine.pid))
                time.sleep(0.05)
            if engine.poll() is None:
                engine.kill()
                self.failures.append(f"the engine hung for {COMMAND_TIMEOUT_S} s")
            engine.wait()
            log.seek(0)
            said = log.read()
        self.expect(self.key not in said and self.secret not in said, "the engine printed a secret")
        return engine.returncode, said

    # ---- What must be true afterwards ----

    def state(self):
        return {"what lies outside": fingerprint([*WATCHED, self.root / "home", self.root / "outside"]), "shared memory": sorted(os.listdir("/dev/shm")),
                "temporary files": sorted(os.listdir(self.root / "tmp")), "mounts": len(pathlib.Path("/proc/self/mounts").read_text().splitlines())}

    def check_what_is_left(self, before):
        until = time.monotonic() + PATIENCE
        while (left := descendants(os.getpid())) and time.monotonic() < until:
            reap()
            time.sleep(0.1)
        self.expect(not left, f"processes are left: {[' '.join(each.argv)[:80] for each in left.values()]}")
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        after = self.state()
        for what, value in before.items():
            self.expect(after[what] == value, f"{what} changed" + (f": {value} before, {after[what]} now" if what != "what lies outside" else ""))

    def check_store(self):
        sound = subprocess.run([self.binary, "store", "check"], env=self.environment, capture_output=True, text=True)
        self.expect(sound.returncode == 0, f"store check: {(sound.stdout + sound.stderr).strip()[:300]}")
        try:
            with contextlib.closing(sqlite3.connect(self.store)) as database:
                verdicts = database.execute("SELECT verdict, low FROM evaluations ORDER BY sequence").fetchall()
                ended = database.execute("SELECT ended_by, ending FROM episodes").fetchall()
        except sqlite3.Error as error:
            self.failures.append(f"the store: {error}")
            return
        got, wanted = [row[0] for row in verdicts], self.wanted.get("verdicts", ["correct"])
        same = len(got) == len(wanted) and all(verdict == each or verdict in each and isinstance(each, list) for verdict, each in zip(got, wanted))
        self.expect(same, f"verdicts {got} instead of {wanted}")
        for _, low in verdicts:
            self.expect(low is None or low < self.wanted.get("speedup_below", float("inf")), f"it gained: the speedup is surely above {low}")
        if "ended_by" in self.wanted:
            self.expect(all(re.fullmatch(self.wanted["ended_by"], each) for each, _ in ended), f"ended by {ended} instead of {self.wanted['ended_by']}")

    def check_what_was_told(self, model):
        results = {call_id: text for _, call_id, text in model.results()}
        for place, expression in self.wanted.get("says", {}).items():
            text = results.get("call_" + place.replace(".", "_"), "")
            self.expect(re.search(expression, text), f"call {place} gave {text[:300]!r} instead of /{expression}/")
        for expression in self.wanted.get("never", []):
            for call_id, text in results.items():
                found = re.search(expression, text)
                self.expect(not found, f"{call_id} gave what it never may: {text[max(0, found.start() - 100):found.end() + 100]!r}" if found else "")
        longest = max(map(len, results.values()), default=0)
        self.expect(longest <= self.wanted.get("longest", LONGEST), f"a result has {longest} characters")
        self.expect(self.rss <= self.wanted.get("rss_mib", RSS_MIB), f"the engine took {self.rss:.0f} MiB")
        for violation in model.report()["violations"]:
            self.failures.append(f"the conversation: {violation}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=os.environ.get("KERNELBENCH_BINARY", str(ROOT / "build" / "dev" / "bin" / "kernelbench")))
    parser.add_argument("--only", default="", metavar="REGEX", help="only files whose name matches")
    parser.add_argument("--keep", action="store_true", help="keep what a failed one left, and say where")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    if not pathlib.Path(binary).is_file():
        sys.exit(f"zoo: there is no {binary}; build it or give --binary")
    scripts = [path for path in sorted((HERE / "hostile").glob("*.toml")) if re.search(options.only, path.stem)]
    if not scripts:
        sys.exit("zoo: nothing to play")
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    rows = []
    cache = os.environ.get("KERNELBENCH_CACHE") or tempfile.mkdtemp(prefix="agents.cache.", dir="/var/tmp")
    for path in scripts:
        root, began = pathlib.Path(tempfile.mkdtemp(prefix="agents.", dir="/var/tmp")), time.monotonic()
        failures = Trial(binary, path, root, cache).run()
        rows.append({"script": path.stem, "about": parse_toml(re.sub(r"@[A-Z]+@", "0", path.read_text()))["about"], "seconds": round(time.monotonic() - began, 1), "failures": failures})
        print(f"{path.stem:24} {rows[-1]['seconds']:6.1f} s  {'ok' if not failures else 'NOT AS EXPECTED: ' + '; '.join(failures)}", flush=True)
        if failures and options.keep:
            print(f"    kept in {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    if "KERNELBENCH_CACHE" not in os.environ:
        shutil.rmtree(cache, ignore_errors=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    failed = [row for row in rows if row["failures"]]
    print(f"agents: {len(rows) - len(failed)} of {len(rows)} gained nothing and left nothing")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
