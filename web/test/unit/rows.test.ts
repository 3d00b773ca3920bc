import assert from "node:assert/strict";
import { test } from "node:test";
import type { Catalog } from "../../src/documents.ts";
import { withEntries, withRuns } from "../../src/live.ts";
import type { RunLine } from "../../src/documents.ts";
import { countOutcomes, outcomesOfRun } from "../../src/outcomes.ts";
import { filtersOf, queryOfFilters, selectRows, valuesOf } from "../../src/rows.ts";
import { viewRun } from "../../src/run_view.ts";
import { newestSamples } from "../../src/samples.ts";
import { hitsOf } from "../../src/search.ts";

// Five evaluations; the second replaces the first, the fourth is flagged, the fifth was rejected by its text.
function catalog(): Catalog {
  const day = (number: number) => new Date(2026, 0, number, 12).getTime() / 1000;
  return {
    schema: 1,
    made: "2026-01-09T00:00:00Z",
    version: "0",
    scope: "store",
    left_out: [],
    values: {
      run: ["first", ""],
      model: ["alder", "", "__proto__"],
      problem: ["1/19", "2/1", "/x/mine.py"],
      size: ["small"],
      device: [
        { kind: "cuda", name: "NVIDIA H200" },
        { kind: "cuda", name: "" },
      ],
      protocol: ["strict"],
      baseline: ["eager"],
      verdict: ["correct", "incorrect", "static_rejected"],
      authorship: ["custom", ""],
      backend: ["cuda"],
      flag: ["faster_than_memory"],
    },
    entries: {
      id: ["a", "b", "c", "d", "e"],
      created: [day(1), day(2), day(3), day(4), day(5)],
      run: [0, 0, 0, 1, 0],
      model: [0, 0, 2, 1, 0],
      sample: [0, 0, 0, null, 1],
      candidate: ["k.py", "k.py", "Relu.cu", "/x/fast.py", "k2.py"],
      problem: [0, 0, 1, 2, 0],
      size: [0, 0, 0, 0, 0],
      device: [0, 0, 0, 0, 1],
      protocol: [0, 0, 0, 0, 0],
      baseline: [0, 0, 0, 0, 0],
      verdict: [1, 0, 0, 0, 2],
      speedup: [null, 2, 3, 4, null],
      low: [null, 1, 2, 3, null],
      high: [null, 3, 4, 5, null],
      baseline_us: [null, 2, 3, 4, null],
      candidate_us: [null, 1, 1, 1, null],
      fraction: [null, 0.5, null, null, null],
      authorship: [1, 0, 0, 0, 1],
      own: [null, 1, 1, 1, null],
      backend: [0, 0, 0, 0, 0],
      flags: [[], [], [], [0], []],
      counts: [false, true, true, true, true],
    },
    runs: [],
    problems: [
      {
        problem: "1/19",
        title: "ReLU",
        deck: "level1",
        level: "1",
        family: "pointwise",
        dominated_by: "memory",
        scored: true,
        unscored_reason: "",
      },
      {
        problem: "2/1",
        title: "Convolution",
        deck: "level2",
        level: "2",
        family: "convolution",
        dominated_by: "tensor cores",
        scored: true,
        unscored_reason: "",
      },
    ],
    published: [],
  };
}

const ids = (query: string): string => {
  const all = catalog();
  return selectRows(all, filtersOf(new URLSearchParams(query)))
    .map((row) => all.entries.id[row])
    .join("");
};

test("filters let pass what has any of their values", () => {
  const cases: [string, string][] = [
    ["", "bcde"],
    ["all=1", "abcde"],
    ["model=alder", "be"],
    ["model=", "d"],
    ["model=alder&model=__proto__", "bce"],
    ["model=nobody", ""],
    ["level=1", "be"],
    ["level=other", "d"],
    ["deck=level2&model=alder", ""],
    ["outcome=flagged", "d"],
    ["outcome=right", "bc"],
    ["verdict=correct", "bcd"],
    ["flag=faster_than_memory", "d"],
    ["device=NVIDIA+H200+(cuda)", "bcd"],
    ["device=cuda", "e"],
    ["authorship=", "e"],
    ["from=2026-01-03", "cde"],
    ["to=2026-01-03", "bc"],
    ["from=2026-01-03&to=2026-01-03", "c"],
    ["from=yesterday", "bcde"],
    ["text=relu", "bce"], // of the title, and of a candidate's name
    ["text=RELU+alder", "be"],
    ["text=__proto__", "c"],
  ];
  for (const [query, found] of cases) assert.equal(ids(query), found, query);
});

test("filters are the same after a way through the address", () => {
  const query = "run=first&model=&model=a+b&from=2026-01-03&text=x%26y&all=1";
  const filters = filtersOf(new URLSearchParams(query));
  assert.deepEqual(filtersOf(queryOfFilters(filters)), filters);
});

test("values are counted among rows", () => {
  const all = catalog();
  assert.deepEqual(Object.fromEntries(valuesOf(all, "outcome", [0, 1, 2, 3, 4])), {
    wrong: 1,
    right: 2,
    flagged: 1,
    rejected: 1,
  });
  assert.deepEqual(
    [...valuesOf(all, "level", [1, 2, 3])],
    [
      ["1", 1],
      ["2", 1],
      ["other", 1],
    ],
  );
});

test("a new entry takes the place of an older one, in another catalog", () => {
  const old = catalog();
  const more = Object.fromEntries(
    Object.entries(old.entries).map(([key, column]) => [key, [column[1]]]),
  ) as unknown as Catalog["entries"];
  more.id = ["f"];
  const next = withEntries(old, more, old.values, { 1: false });
  assert.deepEqual(next.entries.id, ["a", "b", "c", "d", "e", "f"]);
  assert.deepEqual(next.entries.counts, [false, false, true, true, true, true]);
  assert.deepEqual(old.entries.counts, [false, true, true, true, true]);
});

test("a run's line is replaced, or added", () => {
  const line = {
    run: "first",
    created: "",
    last: "",
    strategy: null,
    models: [],
    jobs: { queued: 1, running: 0, done: 0, failed: 0 },
    judging: [],
    verdicts: {},
    evaluations_per_s: null,
    usd: null,
    input_tokens: null,
    output_tokens: null,
  };
  const once = withRuns(catalog(), [line]);
  const twice = withRuns(once, [{ ...line, jobs: { ...line.jobs, queued: 0, done: 1 } }]);
  assert.equal(once.runs.length, 1);
  assert.deepEqual(
    twice.runs.map((each) => each.jobs.done),
    [1],
  );
});

test("a run's line counts a flagged one as its entries do", () => {
  const all = catalog();
  const line = { run: "", verdicts: { correct: 1 } } as unknown as RunLine;
  const rows = selectRows(all, filtersOf(new URLSearchParams({ run: "" })));
  assert.deepEqual(outcomesOfRun(all, line), countOutcomes(all, rows));
  assert.deepEqual([...outcomesOfRun(all, line)], [["flagged", 1]]);
});

// Two devices: the first has three evaluations, of which one is of level 2; the second has two of level 2.
function onTwoDevices(): Catalog {
  const all = catalog();
  all.values.device[1] = { kind: "cuda", name: "NVIDIA L40S" };
  all.entries.device = [0, 0, 0, 1, 1];
  all.entries.problem = [0, 0, 1, 1, 1];
  all.entries.counts = [true, true, true, true, true];
  return all;
}

test("a filter leaves the setting that is shown, while it has anything", () => {
  const all = onTwoDevices();
  const scope = all.entries.id.map((_, row) => row);
  const shownOf = (rows: number[], setting: string | null = null) => {
    const { view, emptied } = viewRun({ catalog: all, scope, shown: new Set(rows), score: null, setting, file: "f" });
    return [view?.setting.device_name, emptied];
  };
  assert.equal(newestSamples(all, scope).length, 5);
  assert.deepEqual(shownOf([2, 3, 4]), ["NVIDIA H200", null]);
  assert.deepEqual(shownOf([3, 4]), ["NVIDIA L40S", "NVIDIA H200 (cuda) · strict · small · against eager"]);
});

test("entries that are found are told apart", () => {
  const all = catalog();
  const labels = hitsOf(all, "1/19").filter(({ kind }) => kind === "entry").map(({ label }) => label);
  assert.equal(labels.length, 3);
  assert.equal(new Set(labels).size, 3);
  assert.match(labels[0]!, /^1\/19 alder · static rejected · sample 1 · first/);
});
