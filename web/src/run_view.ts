// What the figures of a Run page are made of: the entries that are in view, by model, in one setting.
import type { Catalog, JsonObject, ProblemLine } from "./documents.ts";
import type { Outcome, Score } from "./figures.ts";
import { scoreOf } from "./figures.ts";
import type { SampleGroup, Setting } from "./samples.ts";
import { groupSamples, missingOf, naturalOrder, newestSamples, outcomesOf, settingKey, settingLabel } from "./samples.ts";
import { modelLabel } from "./rows.ts";
import { settingOrder, settingsOf } from "./settings.ts";
import { oneLine, plural } from "./text.ts";

export type Part = "deck" | "family" | "dominated_by";

export interface ModelView {
  model: string;
  label: string;
  index: number; // of its style: the same for a model whatever is filtered
  outcomes: Outcome[]; // one a problem
  entries: number[]; // all samples of the problems that count
  unscored: number; // samples of problems that count for no score
  score: Score;
  stored: JsonObject | null; // of `score --json`, where nothing is filtered
}

export interface RunView {
  catalog: Catalog;
  setting: Setting;
  models: ModelView[];
  filtered: boolean;
  entries: number; // samples in this setting
  thresholds: number[];
  cap: number | null;
  firstSamples: number;
  lines: Map<string, ProblemLine>;
  published: Catalog["published"];
  file: string; // how names of saved files begin
}

export interface SettingChoice {
  key: string;
  label: string;
  entries: number;
}

const numbers = (value: unknown): number[] | null =>
  Array.isArray(value) && value.every((each) => typeof each === "number") ? (value as number[]) : null;

const kThresholds = [0, 0.5, 0.8, 1, 1.5, 2];

export const modelName = (model: string): string => oneLine(modelLabel(model), 60);

const storedModels = (score: JsonObject | null): JsonObject[] =>
  score && Array.isArray(score["models"]) ? (score["models"] as JsonObject[]) : [];

const storedSetting = (model: JsonObject): Setting => ({
  device: String(model["device"] ?? ""), device_name: String(model["device_name"] ?? ""),
  protocol: String(model["protocol"] ?? ""), size: String(model["size"] ?? ""), baseline: String(model["baseline"] ?? ""),
});

export interface Inputs {
  catalog: Catalog;
  scope: number[]; // all entries of the run, or of the store
  shown: ReadonlySet<number> | null; // those that pass the filters; null: nothing is filtered
  score: JsonObject | null; // as `score --json`, of the scope
  setting: string | null; // that was chosen
  file: string;
}

// The settings of what is in view, in the order of settingOrder(), the view of one of them, and the setting that the
// filters left nothing of where another is shown for it.
export function viewRun(inputs: Inputs): {
  settings: SettingChoice[]; view: RunView | null; emptied: string | null; nowhere: number[]; // entries of no device
} {
  const { catalog, shown, score } = inputs;
  const newest = newestSamples(catalog, inputs.scope);
  const placeOf = settingOrder(catalog, newest);
  const styles = [...new Set(newest.map((entry) => catalog.values.model[catalog.entries.model[entry] ?? -1] ?? ""))]
    .sort(naturalOrder);
  const groups = groupSamples(catalog, shown ? newest.filter((entry) => shown.has(entry)) : newest);
  const settings = new Map<string, SettingChoice & { setting: Setting }>();
  const choice = (setting: Setting) => {
    const key = settingKey(setting);
    const known = settings.get(key) ?? { key, label: settingLabel(setting), entries: 0, setting };
    settings.set(key, known);
    return known;
  };
  for (const group of groups) choice(group.setting).entries += countOf(group.problems) + countOf(group.unscored);
  if (!shown) storedModels(score).forEach((model) => choice(storedSetting(model)));
  const ordered = [...settings.values()].sort((a, b) => placeOf(a.key) - placeOf(b.key) || b.entries - a.entries);
  const chosen = ordered.find(({ key }) => key === inputs.setting) ?? ordered[0];
  if (!chosen) return { settings: [], view: null, emptied: null, nowhere: [] };
  const before = settingsOf(catalog, shown ? newest : []);
  const wanted = before.find(({ key }) => key === inputs.setting) ?? before[0];
  const thresholds = numbers(score?.["thresholds"]) ?? kThresholds;
  const cap = typeof score?.["cap"] === "number" ? score["cap"] : null;
  const firstSamples = typeof score?.["first_samples"] === "number" ? score["first_samples"] : 1;
  const stored = storedModels(score).filter((model) => settingKey(storedSetting(model)) === chosen.key);
  const here = groups.filter(({ setting }) => settingKey(setting) === chosen.key);
  for (const model of shown ? [] : stored) {
    const name = String(model["model"] ?? "");
    if (!here.some((group) => group.model === name))
      here.push({ model: name, setting: chosen.setting, runs: [], problems: new Map(), unscored: new Map() });
  }
  const models = here.map((group): ModelView => {
    const of = stored.find((model) => model["model"] === group.model) ?? null;
    const missing = of ? missingOf(of) : [];
    const outcomes = outcomesOf(catalog, group, firstSamples,
      missing, !shown);
    const index = styles.indexOf(group.model);
    return {
      model: group.model, label: modelName(group.model), index: index < 0 ? styles.length : index, outcomes,
      entries: [...group.problems.values()].flat(), unscored: countOf(group.unscored),
      score: shown || !of ? scoreOf(outcomes, thresholds, cap) : (of["all"] as unknown as Score),
      stored: shown ? null : of,
    };
  });
  models.sort((a, b) => naturalOrder(a.model, b.model));
  nameApart(models);
  return {
    settings: ordered.map(({ key, label, entries }) => ({ key, label, entries })),
    nowhere: chosen.setting.device_name === "" ? [] : groups.filter(({ setting }) => setting.device_name === "")
      .flatMap(({ problems }) => [...problems.values()].flat()),
    emptied: wanted && !settings.has(wanted.key) ? wanted.label : null,
    view: {
      catalog, setting: chosen.setting, models, filtered: shown !== null, entries: chosen.entries, thresholds, cap, firstSamples,
      lines: new Map(catalog.problems.map((line) => [line.problem, line])), published: catalog.published, file: inputs.file,
    },
  };
}

// Charts tell models by their labels: names that look alike, or were cut, get a number.
function nameApart(models: ModelView[]): void {
  const seen = new Map<string, number>();
  for (const model of models) {
    const times = (seen.get(model.label) ?? 0) + 1;
    seen.set(model.label, times);
    if (times > 1) model.label += ` (${times})`;
  }
}

const countOf = (problems: SampleGroup["problems"]): number =>
  [...problems.values()].reduce((sum, entries) => sum + entries.length, 0);

const partNames: Record<Part, string> = { deck: "levels", family: "families", dominated_by: "dominated_by" };

// What partOf() and partsOf() ask of a view.
export type Parted = Pick<RunView, "lines"> & { models: Pick<ModelView, "outcomes">[] };

export const partOf = (view: Pick<RunView, "lines">, problem: string, part: Part): string => view.lines.get(problem)?.[part] || "other";

export function partsOf(view: Parted, part: Part): string[] {
  const names = new Set(view.models.flatMap(({ outcomes }) => outcomes.map(({ problem }) => partOf(view, problem, part))));
  return [...names].sort(naturalOrder);
}

export const outcomesIn = (view: RunView, model: ModelView, part: Part, name: string): Outcome[] =>
  model.outcomes.filter(({ problem }) => partOf(view, problem, part) === name);

// The score of a part; null where the model attempted none of it.
export function scoreIn(view: RunView, model: ModelView, part: Part, name: string): Score | null {
  const stored = (model.stored?.[partNames[part]] as JsonObject | undefined)?.[name];
  if (stored) return stored as unknown as Score;
  const outcomes = outcomesIn(view, model, part, name);
  return outcomes.length ? scoreOf(outcomes, view.thresholds, view.cap) : null;
}

// "of 120 entries that match the filters · NVIDIA H200 (cuda) · …".
export function viewNote(view: RunView): string {
  const problems = new Set(view.models.flatMap(({ outcomes }) => outcomes.map(({ problem }) => problem))).size;
  const which = view.filtered ? " that match the filters" : "";
  return `${plural(view.entries, "entry", "entries")}${which}, ${plural(problems, "problem")} · ${settingLabel(view.setting)}.`;
}
