// The parts of a Run page below its filters, each with what of the address it shows.
import { authorshipChart } from "../charts/authorship.ts";
import { costChart, samplesChart } from "../charts/cost.ts";
import { fastPChart } from "../charts/fast_p.ts";
import { matrix } from "../charts/matrix.ts";
import { progressChart } from "../charts/progress.ts";
import { heatmaps, shareBars, shareTable } from "../charts/shares.ts";
import { histogram, meansChart } from "../charts/speedups.ts";
import { failureTable, funnelTable, remarks } from "../charts/tables.ts";
import type { JsonObject } from "../documents.ts";
import type { Child } from "../dom.ts";
import { h } from "../dom.ts";
import type { PageContext } from "../page.ts";
import type { Part, RunView } from "../run_view.ts";
import { partsOf } from "../run_view.ts";
import { settingLabel } from "../samples.ts";
import type { Slot, Slots } from "../slots.ts";

export interface Documents {
  score: JsonObject | null; // as `score --json`
  trajectory: JsonObject | null;
  settings: JsonObject | null;
}

export const section = (title: string, ...body: Child[]): HTMLElement => h("section", {}, h("h2", {}, title), ...body);

const parts = [["deck", "level"], ["family", "operator family"], ["dominated_by", "what dominates a problem"]] as const;

function levels(context: PageContext, view: RunView): HTMLElement {
  const part: Part = parts.find(([key]) => key === context.query.get("part"))?.[0] ?? "deck";
  const choice = h("select", { onchange: () => context.setQuery({ part: choice.value === "deck" ? null : choice.value }) },
    parts.map(([value, label]) => h("option", { value, selected: value === part }, label)));
  return section("By level", h("div", { class: "chart-controls" }, h("label", {}, "Heatmaps by", choice)),
    h("div", { class: partsOf(view, part).length > 6 ? "" : "charts-three" }, heatmaps(view, part)),
    partsOf(view, "deck").length > 1 ? shareBars(view, "deck").element : null);
}

// Those of `score --json` in the view's setting.
const scoresOf = (view: RunView, documents: Documents): JsonObject[] => {
  const models = documents.score?.["models"];
  return (Array.isArray(models) ? (models as JsonObject[]) : [])
    .filter((model) => (["device", "device_name", "protocol", "size", "baseline"] as const).every((key) => model[key] === view.setting[key]));
};

export interface Parts {
  context: PageContext;
  view: RunView;
  documents: Documents;
  body: Slots;
}

const changer = ({ context }: Parts) => (changes: Record<string, string | null>): void => {
  if (!context.signal.aborted) context.setQuery(changes);
};
const queryOf = ({ context }: Parts, ...keys: string[]): string => keys.map((key) => context.query.get(key) ?? "").join("\n");

// null where the address says nothing, or nothing that makes sense.
function numberIn(context: PageContext, key: string, least: number, most: number): number | null {
  const text = context.query.get(key);
  const value = text ? Number(text) : NaN;
  return value >= least && value <= most ? value : null;
}

export function upperParts(all: Parts): Slot[] {
  const { context, view, body } = all;
  const change = changer(all);
  const pinned = (changes: Record<string, string | null>) => ("pmax" in changes ? change(changes) : body.keep("fast", () => change(changes)));
  return [
    ["models", queryOf(all, "rows"), () => section("By model", shareTable(view, context.query.get("rows") ?? "", change))],
    ["shares", "", () => shareBars(view, null).element],
    ["fast", queryOf(all, "p", "pmax"), () => fastPChart(view, {
      p: numberIn(context, "p", 0, 1e6) ?? 1, end: numberIn(context, "pmax", 0.1, 1000), change: pinned,
    }).element],
  ];
}

export function lowerParts(all: Parts): Slot[] {
  const { context, view, documents } = all;
  const change = changer(all);
  const asked = (key: string) => context.query.get(key) ?? "";
  return [
    ["levels", asked("part"), () => levels(context, view)],
    ["problems", "", () => section("By problem", matrix(view).element)],
    ["speedups", queryOf(all, "mean", "meankind"), () => section("Speedups", h("div", { class: "charts-two" },
      histogram(view), meansChart(view, { part: asked("mean"), orOne: asked("meankind") === "orone", change })))],
    ["cost", asked("cost"), () => section("Cost and authorship", h("div", { class: "charts-two" },
      costChart(view, scoresOf(view, documents), { axis: asked("cost"), change }), authorshipChart(view), samplesChart(view, 0), samplesChart(view, 1)))],
    ["progress", asked("over"), () => section("Over turns, time and money", progressChart(documents.trajectory, {
      over: asked("over"), file: view.file, models: view.filtered ? new Set(view.models.map(({ model }) => model)) : null,
      styles: new Map(view.models.map(({ model, index }) => [model, index])), setting: settingLabel(view.setting), change }))],
    ["samples", "", () => section("Samples", funnelTable(view), failureTable(view), remarks(view, documents.score))],
  ];
}
