// Scores of outcomes at their edges; web/test/browser/figures.test.mjs holds them against `score --json`.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome } from "../../src/figures.ts";
import { fastP, fastPSteps, geometricMeanInterval, scoreOf, studentQuantile, surelyFaster, wilson } from "../../src/figures.ts";
import { measure, own } from "../../src/charts/measures.ts";
import type { Catalog } from "../../src/documents.ts";
import { groupSamples, newestSamples, outcomesOf } from "../../src/samples.ts";

const outcome = (speedup: number | null, more: Partial<Outcome> = {}): Outcome => ({
  problem: "1/1", entry: null, correct: true, compiled: true, speedup, low: null, high: null, missing: false, authorship: "custom", own: 1, ...more,
});
const wrong = outcome(null, { correct: false });

const near = (mine: number | null, theirs: number, digits = 6) => assert.ok(mine !== null && Math.abs(mine - theirs) < 10 ** -digits, `${mine}, not ${theirs}`);

test("Wilson's interval: published values, and ends that are exact", () => {
  const [low, high] = wilson(15, 148); // Newcombe (1998), table I
  near(low, 0.0624, 4);
  near(high, 0.1605, 4);
  assert.equal(wilson(0, 20)[0], 0);
  assert.equal(wilson(20, 20)[1], 1);
  assert.deepEqual(wilson(0, 0), [0, 1]);
});

test("Student's quantiles agree with published tables", () => {
  for (const [degrees, t] of [[1, 12.7062], [2, 4.3027], [5, 2.5706], [10, 2.2281], [30, 2.0423], [249, 1.9695]] as const) near(studentQuantile(degrees), t, 3);
});

test("fast_p is strict, and at 0 counts what is correct, timed or not", () => {
  const outcomes = [outcome(1), outcome(2), outcome(null), wrong];
  assert.equal(fastP(outcomes, 0).count, 3);
  assert.equal(fastP(outcomes, 1).count, 1);
  assert.equal(fastP(outcomes, 2).count, 0);
  assert.equal(fastP([], 1).value, null);
});

test("a curve falls behind 0 where correct ones have no time", () => {
  const steps = fastPSteps([outcome(null), outcome(null)], 2);
  assert.equal(steps[0]?.value, 1);
  assert.equal(steps.at(-1)?.value, 0);
});

test("without an interval, or with one that holds 1, nothing is surely faster", () => {
  assert.equal(surelyFaster([outcome(3), outcome(3, { low: 1, high: 5 }), outcome(3, { low: 1.1, high: 5 })]).count, 1);
});

test("what is missing makes ranges, and means without a bound unless there is a cap", () => {
  const outcomes = [outcome(4), outcome(null, { missing: true }), wrong];
  const open = scoreOf(outcomes, [0, 1], null);
  assert.equal(open.missing, 1);
  assert.deepEqual(open.fast_p.map(({ count }) => count), [2, 1]);
  assert.deepEqual(open.if_all_pass?.fast_p.map(({ count }) => count), [2, 2]);
  assert.equal(open.if_all_pass?.geometric_mean, null);
  near(scoreOf(outcomes, [1], 16).if_all_pass?.geometric_mean ?? null, 8);
  assert.equal("if_all_pass" in scoreOf([outcome(4)], [1], null), false);
});

test("means: an incorrect one counts as 1 where it counts, and one speedup has no interval", () => {
  const score = scoreOf([outcome(8), wrong, outcome(1)], [1], null);
  near(score.geometric_mean, Math.sqrt(8));
  near(score.geometric_mean_incorrect_as_1, 2);
  assert.equal(geometricMeanInterval([3]), null);
});

// Two runs of a model on one device: (run, sample, verdict, speedup, counts); and a text that was rejected.
function catalogOf(rows: { run: number; device?: number; sample: number | null; candidate?: string; verdict: string; speedup?: number; counts: boolean }[]): Catalog {
  const verdicts = ["correct", "incorrect", "static_rejected", "infrastructure"];
  const zeros = rows.map(() => 0);
  const nulls = rows.map(() => null);
  return {
    schema: 1, made: "", version: "", scope: "store", runs: [], published: [],
    values: { run: ["a", "b"], model: ["m"], problem: ["1/1"], size: ["standard"], device: [{ kind: "cuda", name: "GPU" }, { kind: "cuda", name: "" }],
      protocol: ["p"], baseline: ["eager"], verdict: verdicts, authorship: [""], backend: [""], flag: [] },
    entries: { id: rows.map((_, i) => `e${i}`), created: rows.map((_, i) => i), run: rows.map(({ run }) => run), model: zeros, sample: rows.map(({ sample }) => sample),
      candidate: rows.map(({ candidate }) => candidate ?? ""), problem: zeros, size: zeros, device: rows.map(({ device }) => device ?? 0), protocol: zeros, baseline: zeros,
      verdict: rows.map(({ verdict }) => verdicts.indexOf(verdict)), speedup: rows.map(({ speedup }) => speedup ?? null), low: nulls, high: nulls, baseline_us: nulls,
      candidate_us: nulls, fraction: nulls, authorship: zeros, own: nulls, backend: zeros, flags: rows.map(() => []), counts: rows.map(({ counts }) => counts) },
    problems: [{ problem: "1/1", title: "", deck: "level1", level: "1", family: "", dominated_by: "", scored: true, unscored_reason: "" }],
  };
}

test("a run counts its own newest verdict of a sample, also where another run has a newer one", () => {
  const catalog = catalogOf([
    { run: 0, sample: 0, verdict: "incorrect", counts: false },
    { run: 0, sample: 0, verdict: "correct", speedup: 2, counts: false },
    { run: 1, sample: 0, verdict: "correct", speedup: 3, counts: true },
  ]);
  assert.deepEqual(newestSamples(catalog, [0, 1]), [1]);
  assert.deepEqual(newestSamples(catalog, [0, 1, 2]), [2]);
});

test("a problem counts with the best of its first samples", () => {
  const catalog = catalogOf([
    { run: 0, sample: 2, verdict: "correct", speedup: 9, counts: true },
    { run: 0, sample: 1, verdict: "correct", speedup: 2, counts: true },
    { run: 0, sample: 0, verdict: "incorrect", counts: true },
  ]);
  const [group] = groupSamples(catalog, [0, 1, 2]);
  assert.ok(group);
  assert.deepEqual([1, 2, 3].map((first) => outcomesOf(catalog, group, first)[0]?.speedup), [null, 2, 9]);
});

test("a rejected text counts on the device on which its run judged others", () => {
  const rejected = { run: 0, sample: 1, device: 1, verdict: "static_rejected", counts: true };
  const groups = groupSamples(catalogOf([{ run: 0, sample: 0, verdict: "correct", speedup: 2, counts: true }, rejected]), [0, 1]);
  assert.deepEqual(groups.map(({ setting, problems }) => [setting.device_name, problems.get("1/1")]), [["GPU", [0, 1]]]);
  const alone = groupSamples(catalogOf([{ run: 1, sample: 0, verdict: "correct", speedup: 2, counts: true }, rejected]), [0, 1]);
  assert.deepEqual(alone.map(({ setting }) => setting.device_name).sort(), ["", "GPU"]);
});

test("a job without a verdict counts once, and not beside a verdict of its sample", () => {
  const missing = [{ problem: "1/1", sample: 0, run: "a", candidate: "c", lacks: "verdict", evaluation: null, reason: "" }];
  const known = catalogOf([{ run: 0, sample: 0, candidate: "c", verdict: "infrastructure", counts: true }]);
  const [group] = groupSamples(known, [0]);
  assert.ok(group);
  for (const outcomes of [outcomesOf(known, group, 9, missing), outcomesOf(known, group, 9, [], false)])
    assert.deepEqual(outcomes.map((each) => [each.missing, each.correct]), [[true, false]]);
  assert.deepEqual(outcomesOf(known, { ...group, problems: new Map() }, 1, missing).map((each) => each.entry), [null]);
  const judged = catalogOf([
    { run: 0, device: 1, sample: 0, verdict: "infrastructure", counts: true },
    { run: 0, sample: 0, verdict: "correct", speedup: 2, counts: true },
  ]);
  assert.deepEqual(groupSamples(judged, [0, 1]).map(({ problems }) => problems.get("1/1")), [[1]]);
});

test("own work is no range where it is known whose work it is", () => {
  const counts = (more: Partial<Outcome>) => {
    const outcomes = [outcome(2), outcome(null, { missing: true, ...more })];
    const { count, most } = measure(own, scoreOf(outcomes, [1], null), outcomes);
    return [count, most];
  };
  assert.deepEqual(counts({ correct: false, authorship: "" }), [1, 2]);
  assert.deepEqual(counts({ authorship: "mixed", settled: true }), [1, 1]);
  assert.deepEqual(counts({ authorship: "mixed" }), [1, 2]); // another of its samples is missing
});
