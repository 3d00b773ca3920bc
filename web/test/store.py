"""Puts made-up evaluations into a store: models, runs, devices, verdicts and speedups as they might be, the same ones each time.

    store.py STORE --count 10000 --binary build/release/bin/kernelbench

Tests and measurements of the pages need many entries; judging that many takes hours.
"""

import argparse
import datetime
import hashlib
import json
import math
import pathlib
import random
import sqlite3
import subprocess

import zstandard

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGAN = datetime.datetime(2026, 1, 5, 8, 0, 0)

# Name, skill (how often it is right, how fast it is then), share of own work, strategy, dollars an answer.
MODELS = [
    ("alder-large", 0.82, 1.9, 0.95, "agent", 0.61), ("alder-small", 0.55, 1.1, 0.75, "oneshot", 0.01),
    ("birch-70b", 0.48, 1.0, 0.60, "oneshot", 0.02), ("cedar-coder", 0.71, 1.5, 0.90, "refine", 0.09),
    ("dogwood-r2", 0.76, 1.7, 0.85, "refine", 0.14), ("elm-kernels", 0.66, 1.6, 1.00, "evolve", 0.33),
    ("fir-mini", 0.31, 0.8, 0.40, "oneshot", 0.003), ("ginkgo-pro", 0.79, 1.4, 0.70, "agent", 0.48),
]  # fmt: skip
DEVICES = [
    ("cuda", {"name": "NVIDIA H200", "compute_capability": "9.0", "cuda": "13.0", "memory": 150754820096,
              "copy_gb_s": 4050.0, "rates": {"fp32": 52.1, "tf32": 371.0, "bf16": 742.0},
              "torch": "2.13.0+cu130", "python": "3.11.7", "compiler": "nvcc 13.0"}),
    ("cuda", {"name": "NVIDIA L40S", "compute_capability": "8.9", "cuda": "13.0", "memory": 47810936832,
              "copy_gb_s": 690.0, "rates": {"fp32": 68.0, "tf32": 140.0, "bf16": 280.0},
              "torch": "2.13.0+cu130", "python": "3.11.7", "compiler": "nvcc 13.0"}),
    ("cpu", {"name": "Intel(R) Xeon(R) Processor", "cores": 16, "last_level_cache": 314572800,
             "flush": "private caches, inputs and outputs", "copy_gb_s": 21.1, "rates": {"fp32": 0.9},
             "seat": {"cores": None, "nice": 0}, "torch": "2.13.0+cpu", "python": "3.11.7", "compiler": "g++ 12.2.0"}),
]  # fmt: skip
WRONG = [
    ("incorrect", "output 0: every element is wrong, the worst by 41 times what is allowed", 30),
    ("build_failed", "kernel.cu:14: error: identifier \"tile\" is undefined", 24), ("crashed", "killed by SIGSEGV in its first call", 8),
    ("timed_out", "its calls took longer than evaluation_timeout_s, 120 s", 6), ("static_rejected", "line 9: reads the frames of its caller", 6),
    ("wrong_form", "output 0 has shape [16, 128], expected [16, 256]", 6), ("non_finite", "output 0: 12 elements are not finite", 5),
    ("load_failed", "ModelNew() raised TypeError: missing 1 required argument", 8), ("out_of_memory", "it asked for 61 GB of device memory", 3),
    ("tampered", "outputs were still written after the candidate had said that it was done", 2),
]  # fmt: skip
BACKENDS = {"cuda": ["cuda", "triton", "cute", "tilelang"], "cpu": ["native", "cpp", "torch"]}
COUNTERPARTS = {"cuda": "inline", "triton": "jit", "cute": "jit", "tilelang": "jit", "native": "", "cpp": "", "torch": ""}


def source_of(problem, model, sample, backend):
    if backend == "native":
        return f"""// {problem} by {model}, sample {sample}.
#include <kernelbench/kernel.h>

KB_KERNEL(call) {{
  const float* x = call.input<float>(0);
  float* y = call.output<float>(0);
#pragma omp parallel for
  for (int64_t i = 0; i < call.elements(0); ++i) y[i] = x[i] > 0 ? x[i] : 0;  // {sample}
}}
"""
    return f'''"""{problem} by {model}, sample {sample}, in {backend}."""
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), {256 << sample % 4}),)](x, y, x.numel(), block={256 << sample % 4})
        return y
'''


class Maker:
    def __init__(self, database, seed):
        self.database = database
        self.random = random.Random(seed)
        index = json.loads((ROOT / "problems/index.json").read_text())
        # Half of all, some of each deck.
        self.problems = [name for place, name in enumerate(index) if place % 2 == 0 and not name.startswith("cli")]
        self.index = index
        self.hardness = {name: self.random.gauss(0, 0.5) for name in self.problems}
        self.device_ids, self.problem_ids, self.runs = {}, {}, {}
        self.made = 0

    def device(self, place):
        if place not in self.device_ids:
            kind, info = DEVICES[place]
            mark = hashlib.sha256((kind + json.dumps(info)).encode()).hexdigest()
            self.device_ids[place] = self.database.execute(
                "INSERT INTO devices (fingerprint, kind, name, info) VALUES (?, ?, ?, ?)",
                (mark, kind, info["name"], json.dumps(info))).lastrowid
        return self.device_ids[place]

    def problem(self, name):
        if name not in self.problem_ids:
            self.problem_ids[name] = self.database.execute(
                "INSERT INTO problems (name, sha256) VALUES (?, ?)", (name, self.text_sha(name))).lastrowid
        return self.problem_ids[name]

    def run(self, name, strategy, model, created):
        if name not in self.runs:
            self.runs[name] = self.database.execute("INSERT INTO runs (name, created) VALUES (?, ?)", (name, created)).lastrowid
            settings = {"backend": "any", "models": {model: {"name": model, "model": model, "provider": "openai"}},
                        "precision": "fp32", "samples": 4, "shots": 1, "size": "standard", "strategy": strategy, "turns": 8}
            self.database.execute("INSERT INTO generations VALUES (?, ?, ?)", (self.runs[name], created, json.dumps(settings)))
        return self.runs[name]

    def outcome(self, model, problem, device):
        """Verdict, reason and the figures of a speedup."""
        _, right, fast, own, _, _ = model
        chance = right - 0.25 * self.hardness.get(problem, 0)
        if self.random.random() > chance:
            verdict, reason, _ = self.random.choices(WRONG, [weight for _, _, weight in WRONG])[0]
            return {"verdict": verdict, "reason": reason}
        baseline = math.exp(self.random.gauss(6 if device < 2 else 8, 1.2))
        speedup = fast * math.exp(self.random.gauss(-0.2 - 0.5 * self.hardness.get(problem, 0), 0.55))
        if self.random.random() < 0.004:
            speedup *= 90  # what ought to be doubted
        half = 1 + abs(self.random.gauss(0.04, 0.04)) + 0.005
        custom = min(1, max(0, self.random.gauss(own, 0.25)))
        kind = "custom" if custom >= 0.9 else "library" if custom <= 0.1 else "mixed"
        found = {"verdict": "correct", "reason": "", "class": kind, "custom": custom}
        if self.random.random() < 0.03:
            return found | {"no_speedup": "machine_busy"}
        return found | {"speedup": speedup, "interval": [speedup / half, speedup * half], "baseline_us": baseline,
                        "candidate_us": baseline / speedup, "fraction": min(1.4, self.random.uniform(0.05, 0.5) * speedup)}

    def rounds(self, found):
        result = []
        for index in range(14):
            base = found["baseline_us"] * math.exp(self.random.gauss(0, 0.05))
            mine = found["candidate_us"] * math.exp(self.random.gauss(0, 0.05))
            void = "others used the device just before the candidate's call" if self.random.random() < 0.05 else None
            result.append({"index": index, "distribution": self.random.choice(["natural", "natural", "centred", "outliers"]), "weights": 0,
                           "scored": index > 1 and void is None, "void": void, "baseline_us": base, "candidate_us": mine,
                           "baseline_clock_us": base, "candidate_clock_us": mine, "baseline_event_us": base, "candidate_event_us": mine,
                           "ratio": base / mine, "worst": self.random.uniform(0, 0.4)})
        return result

    def document(self, ids, found, device):
        kind, info = DEVICES[device]
        notes = []
        if found.get("speedup", 0) > 20:
            notes.append({"code": "clock", "text": "faster_than_memory: it moved its bytes in less time than the memory takes", "values": {}})
        if found["verdict"] == "incorrect":
            mismatch = {"output": 0, "shape": [512, 768], "dtype": "float32", "distribution": "natural", "round": 0,
                        "worst_index": [511, 700], "expected": 0.25, "got": "nan", "wrong": 393216, "total": 393216, "unwritten": 0,
                        "non_finite": 12, "max_abs_error": 4.1, "rms_error": 0.8, "worst": 41.0, "blocks_wrong": 384, "blocks": 384,
                        "where": "every element", "histogram": [[1.0, 0], [10.0, 300000], [100.0, 93216]],
                        "map": {"split": 1, "rows": 8, "columns": 12, "wrong": [round(n / 96, 3) for n in range(96)]}}
        else:
            mismatch = None
        speedup = found.get("speedup")
        return {
            "schema": 2, **ids, "device": kind, "device_info": info, "protocol_changed": [], "protocol_keys": {"precision": "fp32", "half_width": 0.05},
            "verdict": found["verdict"], "reason": found["reason"], "notes": notes, "speedup": speedup, "no_speedup": found.get("no_speedup"),
            "speedup_interval": found.get("interval"), "confidence": 0.99 if speedup else None, "floor": 0.01 if speedup else None,
            "headline": "natural" if speedup else None, "baseline": "eager", "baseline_us": found.get("baseline_us"),
            "candidate_us": found.get("candidate_us"), "undisturbed_baseline_us": found.get("baseline_us"), "offset_us": 3.1, "prepare_us": 812.0,
            "speed_of_light": {"us": found["candidate_us"] * found["fraction"], "bound": "memory", "memory_us": found["candidate_us"] * found["fraction"],
                               "compute_us": 1.0, "rate": "fp32", "fraction": found["fraction"]} if "fraction" in found else None,
            "rounds": 12 if speedup else 0,
            "authorship": {"class": found["class"], "custom": found["custom"], "library": 1 - found["custom"], "python": 0.0, "other": 0.0, "samples": 160,
                           "by_object": [{"object": "kernel.so", "share": found["custom"]}, {"object": "libtorch_cuda.so", "share": 1 - found["custom"]}],
                           "kernels": None, "kernels_span_us": None, "arithmetic": None} if "class" in found else None,
            "mismatch": mismatch, "errors": {"natural": 41.0 if mismatch else 0.02}, "isolation": "namespaces", "isolation_info": ["mount-namespace", "pid-namespace"],
            "evidence": {"compiler_output": found["reason"]} if found["verdict"] == "build_failed" else {}, "figures": {}, "problem_source": "file",
            "engine_us": {"calls": 181000.0, "build": 2410000.0, "baseline": 94000.0},
        }  # fmt: skip

    def answer(self, run_id, model, problem, sample, sha, response):
        """What the model was asked and said, of which the evaluation came."""
        name, _, _, _, strategy, usd = model
        turn = 0 if strategy in ("oneshot", "agent") else sample
        request = self.database.execute(
            "INSERT INTO requests (run_id, model, problem, sample, turn, candidate, state) VALUES (?, ?, ?, ?, ?, ?, 'answered')",
            (run_id, name, problem, sample - turn, turn, sample)).lastrowid
        prompt = {"system": "You write kernels.", "messages": [{"role": "user", "text": f"Write a faster {problem}."}], "tools": []}
        self.database.execute(
            "INSERT INTO answers (request_id, attempt, created, model, prompt_bytes, prompt, response, reasoning, finish, answered_by, input, cache_read, "
            "output, cost_usd, price_source, calls, seconds, settled, source_sha256, language) VALUES "
            "(?, 0, ?, ?, ?, ?, ?, ?, 'stop', ?, ?, 0, ?, ?, 'models.toml', 1, ?, 1, ?, 'python')",
            (request, self.now(), name, 40, zstandard.compress(json.dumps(prompt).encode()), zstandard.compress(response.encode()),
             zstandard.compress(b""), name, int(self.random.uniform(2000, 9000)), int(self.random.uniform(800, 6000)),
             usd * self.random.uniform(0.5, 2), self.random.uniform(4, 90), sha))  # fmt: skip

    def now(self):
        return (BEGAN + datetime.timedelta(seconds=self.made * 71)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def text_sha(self, problem):
        return self.index.get(problem, {"sha256": hashlib.sha256(problem.encode()).hexdigest()})["sha256"]

    def entry(self, model, problem, sample, device, protocol, size, run, path=None, text=None, found=None, change=None):
        """One evaluation. `change` is given its document, before it is stored."""
        name, _, _, _, strategy, _ = model
        created_text = self.now()
        kind, _ = DEVICES[device]
        backend = self.random.choice(BACKENDS[kind])
        found = found or self.outcome(model, problem, device)
        text = source_of(problem, name, sample, backend) if text is None else text
        sha = hashlib.sha256(text.encode()).hexdigest()
        suffix = "cpp" if backend == "native" else "py"
        path = path or f"problem_{problem.replace('/', '_').replace(':', '_')}_sample_{sample}_kernel.{suffix}"
        candidate = {"path": path, "kind": "native" if backend == "native" else "module", "sha256": sha, "backend": backend}
        identity = f"{created_text[:10].replace('-', '')}-{created_text[11:19].replace(':', '')}-{hashlib.sha256(f'{self.made}'.encode()).hexdigest()[:8]}"
        ids = {"id": identity, "created": created_text, "problem": problem, "problem_sha256": self.text_sha(problem), "size": size,
               "protocol": protocol, "candidate": candidate, "model": name, "run": run, "sample": sample}
        document = self.document(ids, found, device)
        if change:
            change(document)
        low, high = found.get("interval", (None, None))
        run_id = self.run(run, strategy, name, created_text)
        execute = self.database.execute
        execute("INSERT OR IGNORE INTO candidates VALUES (?, ?, ?, ?, ?)",
                (sha, candidate["kind"], backend, len(text), zstandard.compress(text.encode())))
        execute("INSERT INTO evaluations (id, created, run_id, problem_id, problem, size, device_id, device, protocol, candidate_sha256, source_sha256, "
                "candidate_path, verdict, reason, speedup, low, high, baseline_us, candidate_us, json, model, sample, baseline, rules) VALUES "
                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (identity, created_text, run_id, self.problem(problem), problem, size, self.device(device), kind, protocol, sha, sha, path,
                 found["verdict"], found["reason"], found.get("speedup"), low, high, found.get("baseline_us"), found.get("candidate_us"),
                 zstandard.compress(json.dumps(document).encode()), name, sample, "eager", protocol))  # fmt: skip
        if "speedup" in found:
            rounds = self.rounds(found)
            execute("INSERT INTO samples VALUES (?, ?, ?)", (identity, len(rounds), zstandard.compress(json.dumps(rounds).encode())))
        execute("INSERT OR IGNORE INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, evaluation_id, problem_sha256) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'done', ?, ?)",
                (run_id, name, problem, size, sample, kind, protocol, path, sha, identity, self.text_sha(problem)))  # fmt: skip
        self.answer(run_id, model, problem, sample, sha, f"Here it is.\n\n```\n{text}```\n")
        self.made += 1

    def make(self, count):
        """Round after round over models, devices and problems, until there are enough; of few each model has some."""
        few = max(8, count // (2 * len(MODELS) * len(DEVICES)))
        problems = self.problems[:: max(1, len(self.problems) // few)]
        for sample in range(1000):
            for device in (0, 1, 2):
                for model in MODELS:
                    # Each run a part of the problems: no two models attempted just the same.
                    protocol = "strict" if device == 1 else "quick"
                    size = "small" if device == 2 else "standard"
                    run = f"{model[0]}-{DEVICES[device][1]['name'].split()[-1].lower()}" if device < 2 else f"{model[0]}-cpu"
                    for problem in problems:
                        if self.random.random() < 0.1:
                            continue
                        if self.made == count:
                            return
                        self.entry(model, problem, sample, device, protocol, size, run)

    def leave_some(self):
        """Jobs that wait, and some that the engine failed at."""
        for place, (run, run_id) in enumerate(sorted(self.runs.items())[:3]):
            model, device = run.rsplit("-", 1)
            for sample, state in enumerate(["queued", "queued", "failed"]):
                self.database.execute(
                    "INSERT OR IGNORE INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, error) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, 'later.py', '', ?, ?)",
                    (run_id, model, self.problems[place], "small" if device == "cpu" else "standard", 900 + sample,
                     "cpu" if device == "cpu" else "cuda", "strict" if device == "l40s" else "quick", state,
                     "the device process ended by itself (exit status 1)" if state == "failed" else ""))  # fmt: skip


def new_store(path, binary):
    """An empty store at `path`, whose tables the program makes."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    empty = path.with_suffix(".none")
    empty.write_bytes(b"")
    # It refuses the archive, in a store that it has made.
    subprocess.run([binary, "import", empty, "--store", path], capture_output=True, check=False)
    empty.unlink()
    database = sqlite3.connect(path)
    if not database.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'evaluations'").fetchone()[0]:
        raise SystemExit(f"store.py: {binary} made no store at {path}")
    return database


def make_store(path, count, binary, seed=1):
    database = new_store(path, binary)
    with database:
        maker = Maker(database, seed)
        maker.make(count)
        maker.leave_some()
    database.close()
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--binary", default=str(ROOT / "build/dev/bin/kernelbench"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(make_store(arguments.store, arguments.count, arguments.binary, arguments.seed))
