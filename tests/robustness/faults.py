#!/usr/bin/env python3
"""What a machine may lack while the real binary judges.

    tests/robustness/faults.py [--few] [--python PYTHON] [BINARY]

--few: fewer limits on file descriptors. --python: the engine's, PYTHON in place of one with PyTorch.

A machine's failure is an error with a message and exit status 3, or does not matter; it is never a verdict against the
candidate. Exit status 0 if all held, 1 if not.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from kill import MODULE, NATIVE, PROBLEM  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Dates of evaluations and the age of files: nothing that is measured or waited for.
# Dates of results and cache entries; what doctor looks at; a probe that tries to set it; names that static analysis knows.
WALL_CLOCK_ALLOWED = {"src/base/clock.cc", "src/judge/doctor/host_checks.cc",
                      "src/runner/probes.cc", "src/judge/static/native_tables.cc",
                      "src/model/remote_provider.cc", "src/model/faults_test.cc"}  # a server may say until which date to wait
WALL_CLOCK = re.compile(r"system_clock|gettimeofday|CLOCK_REALTIME|std::time\(|time\.time\(|file_time_type::clock")


class Faults:
    def __init__(self, binary, root):
        self.binary, self.root, self.failed = binary, root, []
        for name in ("tmp", "home", "full"):
            (root / name).mkdir()
        for name, text in (("relu.py", PROBLEM), ("module.py", MODULE), ("native.cpp", NATIVE % 0)):
            (root / name).write_text(text)

    def judge(self, before="", store="store.db", prefix=()):
        """Runs eval after the shell commands `before`: (exit status, verdicts, stderr)."""
        environment = {**os.environ, "TMPDIR": str(self.root / "tmp"), "HOME": str(self.root / "home"),
                       "KERNELBENCH_CACHE": str(self.root / "cache")}
        script = (f"{before}\nexec '{self.binary}' eval relu.py native.cpp --protocol quick --measure false --json "
                  f"--store {store}")
        done = subprocess.run([*prefix, "bash", "-ec", script], cwd=self.root, env=environment, capture_output=True,
                              text=True, timeout=300)
        return done.returncode, [json.loads(line)["verdict"] for line in done.stdout.splitlines()], done.stderr

    def expect(self, name, good, told):
        print(f"{'ok    ' if good else 'FAILED'} {name}: exit status {told[0]}, {told[1]} {told[2].strip()[:120]}", flush=True)
        if not good:
            self.failed.append(name)

    def descriptors(self, limits):
        for limit in limits:
            told = self.judge(f"ulimit -n {limit}")
            good = told[:2] == (0, ["correct"]) or (told[0] == 3 and told[1] == [] and told[2].strip() != "")
            self.expect(f"{limit} file descriptors", good, told)

    def cache(self):
        told = self.judge()
        self.expect("an empty cache", told[:2] == (0, ["correct"]), told)
        entries = [path for path in (self.root / "cache" / "builds").rglob("*") if path.is_file()]
        for name, damage in (("truncated", lambda data: data[:len(data) // 2]), ("empty", lambda data: b""),
                             ("another form", lambda data: b'{"ok": 1, "log": 2, "seconds": "x"}')):
            for path in entries:
                path.write_bytes(damage(path.read_bytes()))
            told = self.judge()
            self.expect(f"cache entries: {name}", bool(entries) and told[:2] == (0, ["correct"]), told)

    def full_disks(self):
        own = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--mount")
        mount = (f"mount -t tmpfs -o size=64k full {self.root}/%s\n"
                 f"! head -c 1M /dev/zero >{self.root}/%s/filler 2>/dev/null")  # must not succeed
        told = self.judge(mount % ("tmp", "tmp"), prefix=own)
        self.expect("TMPDIR full", told[:2] == (0, ["correct"]), told)
        told = self.judge(mount % ("full", "full"), store="full/store.db", prefix=own)
        self.expect("store on a full disk", told[0] == 3 and "full" in told[2], told)
        told = self.judge(mount % ("cache", "cache"), prefix=own)
        self.expect("cache on a full disk", told[0] == 3 and told[1] == [], told)

    def clock(self):
        uses = {str(path.relative_to(ROOT)) for part in ("src", "python") for path in (ROOT / part).rglob("*")
                if path.suffix in (".cc", ".h", ".py") and WALL_CLOCK.search(path.read_text())}
        self.expect("no wall clock", uses == WALL_CLOCK_ALLOWED, (0, sorted(uses), ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--python", default=os.environ.get("KERNELBENCH_PYTHON", sys.executable))
    parser.add_argument("binary", nargs="?", default=str(ROOT / "build" / "dev" / "bin" / "kernelbench"))
    options = parser.parse_args()
    os.environ["KERNELBENCH_PYTHON"] = options.python
    with tempfile.TemporaryDirectory(prefix="kernelbench-faults.") as directory:
        faults = Faults(options.binary, pathlib.Path(directory))
        faults.clock()
        faults.cache()
        faults.full_disks()
        faults.descriptors((6, 17, 20, 22) if options.few else (6, 12, 14, 17, 18, 19, 20, 21, 22))
    print(f"{len(faults.failed)} failures")
    sys.exit(1 if faults.failed else 0)


if __name__ == "__main__":
    main()
