"""How long `kernelbench conclude` takes over a run of many stored evaluations, and whether it says what they say.

  bench/conclude_speed.py --binary build/dev/bin/kernelbench [--count 10000]

Judges examples a few times, and copies what is stored of them until there are as many evaluations as asked for."""

import argparse
import collections
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = [("1/36", "examples/1_36_rmsnorm/fused.cpp"), ("1/36", "examples/1_36_rmsnorm/fused_inline.py"),
            ("1/19", "examples/1_19_relu/streaming.cpp"), ("1/19", "examples/1_19_relu/replay.py"),
            ("1/19", "examples/1_19_relu/syntax_error.cpp")]
TABLES = {"samples": "evaluation_id", "measurements": "evaluation_id", "evaluations": "id"}


def judge(binary, store):
    for problem, path in EXAMPLES:
        for protocol in ("quick", "strict"):
            subprocess.run([binary, "eval", problem, ROOT / path, "--size", "small", "--protocol", protocol, "--store", store],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def copy(store, count):
    """Copies rows as they are under new ids, in a run of their own."""
    database = sqlite3.connect(store)
    database.execute("INSERT INTO runs (name, created) VALUES ('many', '2026-01-01T00:00:00Z')")
    run = database.execute("SELECT id FROM runs WHERE name = 'many'").fetchone()[0]
    ids = [row[0] for row in database.execute("SELECT id FROM evaluations")]
    columns = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in TABLES}
    for number in range(count):
        old, new = ids[number % len(ids)], f"copy-{number:06d}"
        for table, key in reversed(TABLES.items()):
            changed = {key: "?1", "run_id": "?3", "sequence": "NULL"}
            values = ", ".join(changed.get(name, name) for name in columns[table])
            given = (new, old, run) if table == "evaluations" else (new, old)
            database.execute(f"INSERT INTO {table} SELECT {values} FROM {table} WHERE {key} = ?2", given)
    database.commit()
    sizes = database.execute("SELECT max(length(data)), avg(length(data)) FROM measurements").fetchone()
    database.close()
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory() as directory:
        store = os.path.join(directory, "many.sqlite")
        judge(binary, store)
        most, mean = copy(store, options.count)
        start = time.monotonic()
        told = subprocess.run([binary, "conclude", "many", "--json", "--store", store], capture_output=True, check=True)
        seconds = time.monotonic() - start
    outcomes = collections.Counter(json.loads(line)["outcome"] for line in told.stdout.splitlines())
    print(f"{options.count} evaluations in {seconds:.1f} s: {dict(outcomes)}")
    print(f"measurements of one: {mean / 1e3:.1f} kB on average, {most / 1e3:.1f} kB at most")


if __name__ == "__main__":
    main()
