// The catalog's entries sorted for scoring: by model and setting, then by problem, of each sample the newest.
// docs/reference/scores.md says what counts.
import type { Catalog, JsonObject } from "./documents.ts";
import type { Outcome } from "./figures.ts";
import type { Filters } from "./rows.ts";
import { deviceLabel, selectRows } from "./rows.ts";

// What scores must not mix.
export interface Setting {
  device: string; // its kind
  device_name: string;
  protocol: string;
  size: string;
  baseline: string;
}

export interface SampleGroup {
  model: string;
  setting: Setting;
  runs: string[]; // in order of appearance
  problems: Map<string, number[]>; // name -> samples in order, as indices of entries; in natural order
  unscored: Map<string, number[]>; // those that count for no score
}

// One of the `missing` of `score --json`.
export interface Missing {
  problem: string;
  sample: number | null;
  run: string;
  candidate: string;
  lacks: string; // "verdict" or "time"
  evaluation: string | null;
  reason: string;
}

const collator = new Intl.Collator("en", { numeric: true });
// "1/9" before "1/10"; what has no level last.
export const naturalOrder = (a: string, b: string): number =>
  Number(a === "other") - Number(b === "other") || collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);

export const settingKey = (setting: Setting): string =>
  [setting.device, setting.device_name, setting.protocol, setting.size, setting.baseline].join("|");

const orDash = (text: string): string => text || "–";

export function settingLabel(setting: Setting): string {
  const device = setting.device_name ? `${setting.device_name} (${setting.device})` : orDash(setting.device);
  return `${device} · ${orDash(setting.protocol)} · ${orDash(setting.size)} · against ${orDash(setting.baseline)}`;
}

export function settingOf(catalog: Catalog, entry: number): Setting {
  const { entries, values } = catalog;
  const at = (column: number[], names: string[]) => names[column[entry] ?? -1] ?? "";
  const device = values.device[entries.device[entry] ?? -1];
  return {
    device: device?.kind ?? "",
    device_name: device?.name ?? "",
    protocol: at(entries.protocol, values.protocol),
    size: at(entries.size, values.size),
    baseline: at(entries.baseline, values.baseline),
  };
}

// How far a candidate came: 0 generated, 1 past the check of its text, 2 built, 3 ran, 4 correct.
const stages: Record<string, number> = {
  infrastructure: 0, not_run: 0, static_rejected: 0, build_failed: 1, load_failed: 2, crashed: 2, out_of_memory: 2,
  timed_out: 2, tampered: 3, wrong_form: 3, non_finite: 3, incorrect: 3, correct: 4,
};
export const stageOf = (verdict: string): number => stages[verdict] ?? 0;

const infrastructure = "infrastructure"; // the verdict of a job that the engine failed at

export const verdictOf = (catalog: Catalog, entry: number): string =>
  catalog.values.verdict[catalog.entries.verdict[entry] ?? -1] ?? "";

// Of each sample the newest. Of all entries: those that the catalog lets count. Of the entries of a run also those of
// samples that another run has judged later: the newest that is here.
export function newestSamples(catalog: Catalog, entries: readonly number[]): number[] {
  const columns = catalog.entries;
  if (entries.length === columns.id.length) return entries.filter((entry) => columns.counts[entry]);
  const newest = new Map<string, number>();
  for (const entry of entries) {
    const sample = columns.sample[entry] ?? null;
    const key = [
      columns.run[entry], columns.model[entry], columns.device[entry], columns.protocol[entry], columns.size[entry],
      columns.baseline[entry], columns.problem[entry], sample ?? `:${columns.candidate[entry]}`,
    ].join("|");
    const before = newest.get(key);
    if (before === undefined || columns.counts[entry] || !columns.counts[before]) newest.set(key, entry);
  }
  return [...newest.values()].sort((a, b) => a - b);
}

interface Filling {
  model: string;
  setting: Setting;
  runs: string[];
  entries: number[];
}

function addTo(filling: Filling, catalog: Catalog, entry: number): void {
  const run = catalog.values.run[catalog.entries.run[entry] ?? -1] ?? "";
  if (run && !filling.runs.includes(run)) filling.runs.push(run);
  filling.entries.push(entry);
}

// A text that was rejected was near no device: it counts on every device on which its run judged others by the same
// rules.
function fillingsOf(catalog: Catalog, entries: readonly number[]): Filling[] {
  const fillings = new Map<string, Filling>();
  const columns = catalog.entries;
  const keys = new Map<string, Filling>();
  const of = (entry: number): Filling => {
    const quick = [columns.model[entry], columns.device[entry], columns.protocol[entry], columns.size[entry],
      columns.baseline[entry]].join();
    const known = keys.get(quick);
    if (known) return known;
    const model = catalog.values.model[columns.model[entry] ?? -1] ?? "";
    const setting = settingOf(catalog, entry);
    const key = `${model}|${settingKey(setting)}`;
    const filling = fillings.get(key) ?? { model, setting, runs: [], entries: [] };
    fillings.set(key, filling);
    keys.set(quick, filling);
    return filling;
  };
  const nowhere: number[] = [];
  for (const entry of entries) {
    if (catalog.values.device[columns.device[entry] ?? -1]?.name) addTo(of(entry), catalog, entry);
    else nowhere.push(entry);
  }
  const onDevices = [...fillings.values()];
  for (const entry of nowhere) {
    const model = catalog.values.model[columns.model[entry] ?? -1] ?? "";
    const run = catalog.values.run[columns.run[entry] ?? -1] ?? "";
    const rules = settingOf(catalog, entry);
    const places = onDevices.filter(({ model: name, setting, runs }) =>
      name === model && (!run || runs.includes(run)) &&
      settingKey({ ...rules, device_name: setting.device_name }) === settingKey(setting));
    for (const place of places) addTo(place, catalog, entry);
    if (!places.length) addTo(of(entry), catalog, entry);
  }
  return [...fillings.values()];
}

function inOrder(catalog: Catalog, filling: Filling): number[] {
  const { sample, candidate, run } = catalog.entries;
  const places = new Map([...filling.runs, ""].map((name, at) => [name, at])); // what is in no run comes last
  const place = (entry: number) => places.get(catalog.values.run[run[entry] ?? -1] ?? "") ?? 0;
  return [...filling.entries].sort((a, b) => {
    const [one, other] = [sample[a] ?? Infinity, sample[b] ?? Infinity];
    if (one !== other) return one < other ? -1 : 1;
    const [path, next] = [candidate[a] ?? "", candidate[b] ?? ""];
    if (one === Infinity && path !== next) return path < next ? -1 : 1;
    return place(a) - place(b) || a - b;
  });
}

// Of a sample that has a verdict, a job that the engine failed at is none.
function withoutLost(catalog: Catalog, entries: number[]): number[] {
  const { run, sample, candidate } = catalog.entries;
  const keyOf = (entry: number) => `${run[entry]}|${sample[entry] ?? `:${candidate[entry]}`}`;
  const isLost = (entry: number) => verdictOf(catalog, entry) === infrastructure;
  if (!entries.some(isLost)) return entries;
  const judged = new Set(entries.filter((entry) => !isLost(entry)).map(keyOf));
  return entries.filter((entry) => !isLost(entry) || !judged.has(keyOf(entry)));
}

// `samples` are those that count (newestSamples()).
export function groupSamples(catalog: Catalog, samples: readonly number[]): SampleGroup[] {
  const scored = new Map(catalog.problems.map((line) => [line.problem, line.scored]));
  const groups = fillingsOf(catalog, samples).map((filling): SampleGroup => {
    const problems = new Map<string, number[]>();
    for (const entry of inOrder(catalog, filling)) {
      const problem = catalog.values.problem[catalog.entries.problem[entry] ?? -1] ?? "";
      const of = problems.get(problem);
      if (of) of.push(entry);
      else problems.set(problem, [entry]);
    }
    const names = [...problems.keys()].sort(naturalOrder);
    const those = (counts: boolean) =>
      new Map(names.filter((name) => (scored.get(name) ?? true) === counts).map((name) => [name, withoutLost(catalog, problems.get(name) ?? [])]));
    return { model: filling.model, setting: filling.setting, runs: filling.runs, problems: those(true), unscored: those(false) };
  });
  return groups.sort((a, b) =>
    naturalOrder(a.model, b.model) || (settingLabel(a.setting) < settingLabel(b.setting) ? -1 : 1));
}

export function outcomeOf(catalog: Catalog, entry: number, lacking: ReadonlySet<string>): Outcome {
  const columns = catalog.entries;
  const verdict = verdictOf(catalog, entry);
  return {
    problem: catalog.values.problem[columns.problem[entry] ?? -1] ?? "",
    entry,
    correct: verdict === "correct",
    compiled: stageOf(verdict) >= 2,
    speedup: columns.speedup[entry] ?? null,
    low: columns.low[entry] ?? null,
    high: columns.high[entry] ?? null,
    missing: verdict === infrastructure || lacking.has(columns.id[entry] ?? ""),
    authorship: catalog.values.authorship[columns.authorship[entry] ?? -1] ?? "",
    own: columns.own[entry] ?? null,
  };
}

const lost = (missing: Missing): Outcome => ({
  problem: missing.problem, entry: null, correct: false, compiled: false, speedup: null, low: null, high: null,
  missing: true, authorship: "", own: null,
});

function better(a: Outcome, b: Outcome): boolean {
  if (a.correct !== b.correct) return a.correct;
  if (a.compiled !== b.compiled) return a.compiled;
  return (a.correct ? a.speedup ?? 0 : 0) > (b.correct ? b.speedup ?? 0 : 0);
}

// Each problem counts with the best of its first `firstSamples`, which any missing one of them may better. `missing` are
// those of this group without a verdict or a time; `complete`: all of them, so that jobs that the engine failed at count
// as it says, and not as the catalog has them.
export function outcomesOf(
  catalog: Catalog,
  group: SampleGroup,
  firstSamples: number,
  missing: readonly Missing[] = [],
  complete = true,
): Outcome[] {
  const lacking = new Set(missing.filter((each) => each.lacks === "time").map((each) => each.evaluation ?? ""));
  const samples = new Map<string, { sample: number; outcome: Outcome }[]>();
  const add = (problem: string, sample: number, outcome: Outcome) => {
    const of = samples.get(problem);
    if (of) of.push({ sample, outcome });
    else samples.set(problem, [{ sample, outcome }]);
  };
  for (const [problem, entries] of group.problems)
    for (const entry of entries)
      if (!complete || verdictOf(catalog, entry) !== infrastructure)
        add(problem, catalog.entries.sample[entry] ?? Infinity, outcomeOf(catalog, entry, lacking));
  for (const each of missing)
    if (complete && each.lacks === "verdict") add(each.problem, each.sample ?? Infinity, lost(each));
  return [...samples.keys()].sort(naturalOrder).map((problem) => {
    const first = [...(samples.get(problem) ?? [])].sort((a, b) => (a.sample === b.sample ? 0 : a.sample - b.sample))
      .slice(0, firstSamples).map(({ outcome }) => outcome);
    const best = first.reduce((so_far, outcome) => (better(outcome, so_far) ? outcome : so_far));
    const settled = first.length === 1 && best.correct && best.authorship !== "";
    return { ...best, missing: first.some((outcome) => outcome.missing), settled };
  });
}

export const missingOf = (model: JsonObject): Missing[] =>
  Array.isArray(model["missing"]) ? (model["missing"] as unknown as Missing[]) : [];

// Entries of the scope that pass the filters: all of them, and those that count. A text that was rejected was near no
// device; it passes with devices of its kind.
export function selectSamples(catalog: Catalog, scope: readonly number[], filters: Filters): { all: number[]; counting: number[] } {
  const here = new Set(scope);
  const kinds = new Set(filters.device.map((label) => /\(([^()]*)\)$/.exec(label)?.[1] ?? label));
  const devices = new Set(filters.device);
  const ofDevice = (entry: number) => {
    const device = catalog.values.device[catalog.entries.device[entry] ?? -1];
    return device?.name ? devices.has(deviceLabel(device)) : kinds.has(device?.kind ?? "");
  };
  const all = selectRows(catalog, { ...filters, device: [], all: true })
    .filter((entry) => here.has(entry) && (!devices.size || ofDevice(entry)));
  const newest = new Set(newestSamples(catalog, scope));
  return { all, counting: all.filter((entry) => newest.has(entry)) };
}
