// The map of the Problems page: what became of each problem with each model, or in each run.
import { outcomeMatrix, type Row } from "./charts/matrix.ts";
import type { Catalog } from "./documents.ts";
import { h } from "./dom.ts";
import type { PageContext } from "./page.ts";
import { modelLabel, runLabel } from "./rows.ts";
import { partsOf } from "./run_view.ts";
import { naturalOrder, outcomesOf, type SampleGroup, type Setting } from "./samples.ts";
import { select } from "./settings.ts";
import { oneLine, plural } from "./text.ts";

const mostRows = 40;
const mostOpen = 50; // rows on all levels; a taller map is folded at first

type By = "model" | "run";

// Of each model or run the best of its samples of a problem; those with the most problems, at most `mostRows`.
export function mapRows(catalog: Catalog, by: By, rows: readonly number[], problems: ReadonlySet<string>): Row[] {
  const { entries, values } = catalog;
  const of = new Map<string, Map<string, number[]>>();
  for (const row of rows) {
    const problem = values.problem[entries.problem[row]!]!;
    if (!problems.has(problem)) continue;
    const name = values[by][entries[by][row]!]!;
    const samples = of.get(name) ?? new Map<string, number[]>();
    of.set(name, samples);
    samples.set(problem, [...(samples.get(problem) ?? []), row]);
  }
  const seen = new Map<string, number>();
  const label = (name: string) => {
    const text = oneLine(by === "model" ? modelLabel(name) : runLabel(name), 60);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    return times === 1 ? text : `${text} (${times})`;
  };
  return [...of]
    .sort(([a, left], [b, right]) => right.size - left.size || naturalOrder(a, b))
    .slice(0, mostRows)
    .sort(([a], [b]) => naturalOrder(a, b))
    .map(([name, samples]) => {
      const group: SampleGroup = { model: name, setting: {} as Setting, runs: [], problems: samples, unscored: new Map() };
      return { label: label(name), outcomes: outcomesOf(catalog, group, Infinity, [], false) };
    });
}

export function problemMap(
  context: PageContext,
  rows: readonly number[],
  problems: ReadonlySet<string>,
  setting: string,
): HTMLElement | null {
  const { catalog } = context;
  const by: By = context.query.get("map") === "run" ? "run" : "model";
  const models = mapRows(catalog, by, rows, problems);
  if (models.length === 0) return null;
  const all = new Set(rows.map((row) => catalog.entries[by][row])).size;
  const view = { catalog, models, lines: new Map(catalog.problems.map((line) => [line.problem, line])), file: "problems" };
  const chart = outcomeMatrix(view, {
    title: `What became of each problem, ${by} × problem`,
    rows: by === "model" ? "Model" : "Run",
    byPace: false,
    file: "problems-map",
    note:
      "A cell is the best sample of its problem. " +
      (all > models.length ? `Shown are ${plural(models.length, by)} of ${all}, those with the most problems. ` : "") +
      `${setting}.`,
    controls: select(context, "A row for each", "map", [["", "model"], ["run", "run"]], by === "run" ? "run" : ""),
  });
  const levels = partsOf(view, "deck").length;
  return h(
    "details",
    { class: "fold", open: levels * (models.length + 1) <= mostOpen },
    h("summary", {}, "Map of outcomes"),
    chart.element,
  );
}
