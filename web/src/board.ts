// Models ranked in one setting, and their entries: what the leaderboard shows.
import type { JsonObject } from "./documents.ts";
import { scoreOf, type Outcome, type Score } from "./figures.ts";
import type { PageContext } from "./page.ts";
import { perCorrectOf, type PerCorrect } from "./per_correct.ts";
import { placesOf, type Place } from "./places.ts";
import { filtersOf, isFiltered, selectRows } from "./rows.ts";
import {
  groupSamples,
  missingOf,
  newestSamples,
  outcomesOf,
  settingKey,
  settingLabel,
  type SampleGroup,
  type Setting,
} from "./samples.ts";
import { settingOrder } from "./settings.ts";

export interface Line {
  model: string;
  group: SampleGroup;
  rows: number[];
  score: Score;
  flagged: number;
  perCorrect: PerCorrect | null; // null under filters, which it does not know
  value: number | null;
  low: number | null;
  high: number | null;
  place: Place | null;
}

export const measures: [string, string][] = [
  ["0", "correct (fast_0)"],
  ["0.5", "fast_0.5"],
  ["0.8", "fast_0.8"],
  ["1", "faster than the baseline (fast_1)"],
  ["1.5", "fast_1.5"],
  ["2", "fast_2"],
  ["geometric", "geometric mean of the speedups of what is correct"],
];

// A speedup by another than those that are asked for counts as nothing.
const byAuthors = (outcomes: Outcome[], authors: string[]): Outcome[] =>
  authors.length === 0
    ? outcomes
    : outcomes.map((each) =>
        authors.includes(each.authorship) || each.missing
          ? each
          : { ...each, correct: false, speedup: null, low: null, high: null },
      );

function valueOf(score: Score, measure: string): { value: number | null; low: number | null; high: number | null } {
  if (measure === "geometric") {
    const interval = score.geometric_mean_interval;
    const open = (score.missing ?? 0) > 0;
    return { value: score.geometric_mean, low: interval?.[0] ?? null, high: open ? null : (interval?.[1] ?? null) };
  }
  const find = (of: Pick<Score, "fast_p">) => of.fast_p.find((each) => String(each.p) === measure);
  const least = find(score);
  const most = score.if_all_pass ? find(score.if_all_pass) : least;
  return { value: least?.value ?? null, low: least?.interval?.[0] ?? null, high: most?.interval?.[1] ?? null };
}

export const measureOf = (context: PageContext): string => {
  const measure = context.query.get("by") ?? "1";
  return measures.some(([key]) => key === measure) ? measure : "1";
};

export interface Board {
  settings: { key: string; label: string; count: number }[];
  setting: Setting | null;
  emptied: string | null; // the setting that filters left nothing of, where another is shown for it
  nowhere: number[]; // of settings without a device, which pass the filters
  all: number[]; // of the setting, without filters
  rows: number[]; // of the setting, with filters: those with a speedup
  counted: number; // of the setting, with filters
  lines: Line[];
  authors: string[];
}

export function boardOf(context: PageContext, stored: JsonObject[]): Board {
  const { catalog, query } = context;
  const filters = filtersOf(query);
  const all = newestSamples(catalog, selectRows(catalog, filtersOf(new URLSearchParams())));
  const authors = filters.authorship;
  const passing = new Set(selectRows(catalog, { ...filters, authorship: [], all: false }));
  const unfiltered = groupSamples(catalog, all);
  const groups =
    passing.size === all.length
      ? unfiltered
      : groupSamples(
          catalog,
          all.filter((row) => passing.has(row)),
        );
  const settings = new Map<string, { key: string; label: string; count: number; setting: Setting }>();
  const rowsOf = (group: SampleGroup) => [...group.problems.values()].flat();
  for (const group of groups) {
    const key = settingKey(group.setting);
    const known = settings.get(key) ?? { key, label: settingLabel(group.setting), count: 0, setting: group.setting };
    known.count += rowsOf(group).length;
    settings.set(key, known);
  }
  const placeOf = settingOrder(catalog, all);
  const onDevices = [...settings.values()].some((each) => each.setting.device_name !== "");
  const sorted = [...settings.values()]
    .filter((each) => each.setting.device_name !== "" || !onDevices)
    .sort((a, b) => placeOf(a.key) - placeOf(b.key) || b.count - a.count);
  const chosen = settings.get(query.get("setting") ?? "") ?? sorted[0];
  if (!chosen)
    return { settings: [], setting: null, emptied: null, nowhere: [], all, rows: [], counted: 0, lines: [], authors };
  const labels = new Map(unfiltered.map(({ setting }) => [settingKey(setting), settingLabel(setting)]));
  const asked = query.get("setting") ?? "";
  const wanted = labels.has(asked) ? asked : [...labels.keys()].sort((a, b) => placeOf(a) - placeOf(b))[0];
  const nowhere = groups.filter(({ setting }) => setting.device_name === "" && settingKey(setting) !== chosen.key);
  const measure = measureOf(context);
  const plain = filters.run.length === 0 && !filters.text && !filters.from && !filters.to;
  const lines = groups
    .filter((group) => settingKey(group.setting) === chosen.key)
    .map((group): Line => {
      const rows = rowsOf(group);
      const model = stored.find(
        (each) => each["model"] === group.model && settingKey(each as unknown as Setting) === chosen.key,
      );
      const missing = plain && model ? missingOf(model).filter((each) => missingPasses(context, each.problem)) : [];
      const outcomes = byAuthors(outcomesOf(catalog, group, 1, missing), authors);
      const score = scoreOf(outcomes, [0, 0.5, 0.8, 1, 1.5, 2], null);
      return {
        model: group.model,
        group,
        rows,
        score,
        place: null,
        perCorrect: isFiltered(filters, ["model"]) ? null : perCorrectOf(model),
        ...valueOf(score, measure),
        flagged: rows.filter((row) => catalog.entries.flags[row]!.length > 0).length,
      };
    });
  const places = placesOf(lines);
  lines.forEach((line, at) => (line.place = places[at] ?? null));
  const rows = lines
    .flatMap((line) => line.rows)
    .filter(
      (row) =>
        catalog.entries.speedup[row] !== null &&
        (authors.length === 0 || authors.includes(catalog.values.authorship[catalog.entries.authorship[row]!]!)),
    );
  const counted = lines.reduce((sum, line) => sum + line.rows.length, 0);
  return {
    settings: sorted,
    setting: chosen.setting,
    emptied: wanted === undefined || wanted === chosen.key ? null : labels.get(wanted)!,
    nowhere: onDevices ? nowhere.flatMap(rowsOf) : [],
    all: unfiltered.filter(({ setting }) => settingKey(setting) === chosen.key).flatMap(rowsOf),
    rows,
    counted,
    lines,
    authors,
  };
}

function missingPasses(context: PageContext, problem: string): boolean {
  const filters = filtersOf(context.query);
  const line = context.catalog.problems.find((each) => each.problem === problem);
  const passes = (list: string[], value: string) => list.length === 0 || list.includes(value);
  return (
    passes(filters.level, line?.level ?? "other") &&
    passes(filters.deck, line?.deck ?? "other") &&
    passes(filters.problem, problem)
  );
}
