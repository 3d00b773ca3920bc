// What a verdict is told as: from evaluations as the program writes them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../src/documents.ts";
import { againCommands } from "../../src/entry/again.ts";
import { explain, lastFrame, ratioWords } from "../../src/entry/verdict.ts";

const entry = (changes: JsonObject): JsonObject => ({
  verdict: "correct",
  reason: "",
  baseline: "eager",
  notes: [],
  evidence: {},
  protocol_keys: {},
  ...changes,
});

test("a speedup is faster or slower only where its interval says so", () => {
  const told = (low: number, high: number) => explain(entry({ speedup: 1.2, speedup_interval: [low, high] })).sentence;
  assert.match(told(1.1, 1.3), /correct and faster: 1\.20× the speed of eager PyTorch, surely 1\.10 to 1\.30×/);
  assert.match(told(0.9, 1.3), /cannot be told apart/);
  assert.match(told(0.8, 0.9), /correct but slower/);
});

test("an interval at less than 95% is called by its confidence, and not sure", () => {
  const told = (confidence: number) =>
    explain(entry({ speedup: 1.2, speedup_interval: [1.1, 1.3], confidence })).sentence;
  assert.match(told(0.875), /1\.10 to 1\.30× at 87\.5% confidence/);
  assert.match(told(0.969), /surely 1\.10 to 1\.30×/);
});

test("a correct candidate without a speedup says why", () => {
  const said = explain(entry({ speedup: null, no_speedup: "machine_busy" }));
  assert.match(said.sentence, /no speedup/);
  assert.match(said.got, /Other programs used the machine/);
});

test("a wrong output says what was expected, what came, where, and what to look at", () => {
  const mismatch = {
    output: 0,
    shape: [512, 8192],
    dtype: "float32",
    distribution: "centred",
    round: 3,
    worst_index: [141, 8154],
    expected: 0,
    got: -0.5,
    wrong: 24554,
    total: 4194304,
    unwritten: 0,
    non_finite: 0,
    worst: 26412.3,
    where: "dimension 1 from 8096 on",
  };
  const said = explain(entry({ verdict: "incorrect", reason: "x", mismatch, errors: { natural: 0 } }));
  assert.equal(
    said.sentence.replaceAll("\u202f", ","),
    "Its output is wrong: 24,554 of 4,194,304 elements are off by more than is allowed.",
  );
  assert.equal(said.expected, "0 at the worst element, [141, 8154] of output 0");
  assert.match(said.got.replaceAll("\u202f", ","), /^-0\.5, an error of 26,400 times/);
  assert.match(said.where, /dimension 1 from 8096 on; in round 3, on inputs shifted/);
  assert.match(said.look.join(" "), /share an index.*right on natural inputs/);
});

test("many elements that are off are told by how far", () => {
  const told = (worst: number) =>
    explain(entry({ verdict: "incorrect", mismatch: { wrong: 90, total: 100, worst, unwritten: 0 } })).look.join(" ");
  assert.match(told(782.4), /the worst by 782 times what is allowed: look at arithmetic in too low a precision/);
  assert.doesNotMatch(told(26412), /precision/);
});

test("a speedup that is not the ratio of the two times says why", () => {
  const told = (changes: JsonObject) => ratioWords(entry({ speedup: 2, candidate_us: 100, baseline_us: 212, ...changes }));
  assert.match(told({}), /^These two times make 2\.12×.*median of the rounds' own ratios/);
  assert.equal(told({ baseline_us: 201.5 }), "");
  assert.equal(told({ speedup: null }), "");
  const notes = [{ code: "clock", text: "baseline_disturbed: the baseline took 212 us" }];
  assert.match(told({ notes, undisturbed_baseline_us: 190 }), /takes 190 µs by itself/);
});

test("the first error of a compiler, and where it is", () => {
  const cases: [string, string, string, number][] = [
    [
      "candidate.cpp: In function ‘int f()’:\ncandidate.cpp:8:3: error: expected ‘;’ before ‘float’\n",
      "expected ‘;’ before ‘float’",
      "candidate.cpp",
      8,
    ],
    [
      '/tmp/build/kernels/relu.cu(12): error: identifier "x" is undefined\n',
      'identifier "x" is undefined',
      "relu.cu",
      12,
    ],
    [
      "a.cpp:1:10: fatal error: nothing.h: No such file or directory\n",
      "nothing.h: No such file or directory",
      "a.cpp",
      1,
    ],
  ];
  for (const [words, got, file, line] of cases) {
    const said = explain(
      entry({
        verdict: "build_failed",
        reason: "the compiler refused it; evidence.compiler_output holds what it said",
        evidence: { compiler_output: words },
      }),
    );
    assert.equal(said.got, got);
    assert.equal(said.place?.line, line);
    assert.ok(said.place?.file.endsWith(file), said.place?.file);
  }
});

test("a traceback leads to the candidate's own innermost line", () => {
  const traceback = `Traceback (most recent call last):
  File "/x/kernelbench_torch/module_runner.py", line 204, in _call
  File "/tmp/candidate.py", line 11, in forward
  File "/tmp/candidate.py", line 7, in helper
  File "/v/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1789, in _call_impl
RuntimeError: no`;
  assert.deepEqual(lastFrame(traceback), { file: "/tmp/candidate.py", line: 7 });
  assert.equal(lastFrame("RuntimeError: no"), null);
});

test("words that nobody chose", () => {
  for (const word of ["__proto__", "constructor", "toString", "of_the_future", ""]) {
    const said = explain(entry({ verdict: word, no_speedup: word, reason: "why" }));
    assert.match(said.sentence, /does not know/);
  }
  assert.doesNotThrow(() => explain({}));
  for (const verdict of [
    "correct",
    "incorrect",
    "non_finite",
    "build_failed",
    "crashed",
    "static_rejected",
    "timed_out",
    "out_of_memory",
    "tampered",
  ]) {
    assert.doesNotThrow(() =>
      explain({ verdict, mismatch: [], evidence: 7, notes: {}, speedup_interval: "x", errors: null }),
    );
  }
});

test("commands that judge it again quote what a shell would take apart", () => {
  const again = againCommands(
    entry({
      id: "20261201-1",
      problem: "my file.py",
      size: "small",
      device: "cpu",
      protocol: "quick",
      candidate: { kind: "native" },
      protocol_changed: ["half_width", "static"],
      protocol_keys: { half_width: 0.02, static: { no_kernel: "off", "a'b": "error" } },
    }),
  );
  assert.equal(again[0], "kernelbench show 20261201-1 --json | jq -j .candidate.source > candidate.cpp");
  assert.equal(
    again[1],
    `kernelbench eval 'my file.py' candidate.cpp --size small --device cpu --protocol quick --half-width 0.02 --static 'no_kernel=off,a'\\''b=error'`,
  );
});
