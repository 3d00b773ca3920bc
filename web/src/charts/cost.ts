// What models cost against what they achieve, and what samples of a problem add.
import * as Plot from "@observablehq/plot";
import { h } from "../dom.ts";
import type { JsonObject } from "../documents.ts";
import { chart, noChart, seriesLegend, seriesStyle, tips } from "../plot.ts";
import type { ModelView, RunView } from "../run_view.ts";
import { viewNote } from "../run_view.ts";
import { formatLarge, formatShare, formatUsd, plural } from "../text.ts";
import type { Measured } from "./measures.ts";
import { correct, countText, faster, intervalText, measure, shareText } from "./measures.ts";

interface Axis {
  key: string;
  label: string;
  of(spent: JsonObject): number | null;
  format(value: number): string;
}

const numberIn = (object: unknown, key: string): number | null => {
  const value = (object as JsonObject | null)?.[key];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
};
const total = (spent: JsonObject): number | null =>
  numberIn(spent, "answers_without_usage") ? null : (numberIn(spent, "input_tokens") ?? 0) + (numberIn(spent, "output_tokens") ?? 0);

const axes: Axis[] = [
  { key: "usd-each", label: "US$ for each evaluation", of: (spent) => numberIn(spent["each_evaluation"], "usd"), format: formatUsd },
  { key: "usd-correct", label: "US$ for each correct one", of: (spent) => numberIn(spent["each_correct"], "usd"), format: formatUsd },
  { key: "usd", label: "US$ in all", of: (spent) => (numberIn(spent, "answers_without_cost") ? null : numberIn(spent, "usd")), format: formatUsd },
  { key: "tokens-each", label: "tokens for each evaluation", of: (spent) => numberIn(spent["each_evaluation"], "tokens"), format: formatLarge },
  { key: "tokens", label: "tokens in all", of: total, format: formatLarge },
];

export interface CostOptions {
  axis: string;
  change(changes: Record<string, string | null>): void;
}

export function costChart(view: RunView, scores: JsonObject[], { axis, change }: CostOptions): HTMLElement {
  const title = "Cost against correctness";
  const spentOf = (model: ModelView): JsonObject | null =>
    (scores.find((score) => score["model"] === model.model)?.["spent"] as JsonObject | null | undefined) ?? null;
  const some = axes.filter((each) => view.models.some((model) => {
    const spent = spentOf(model);
    return spent && (each.of(spent) ?? 0) > 0;
  }));
  if (!view.models.some(spentOf)) return noChart(title, "No model was asked for these candidates, so that nothing was spent. ", h("code", {}, "kernelbench generate"), " keeps tokens and money of every answer.");
  const chosen = some.find(({ key }) => key === axis) ?? some[0];
  if (!chosen) return noChart(title, "Neither tokens nor money are known of all answers: the models' servers did not tell. ", h("code", {}, "models.toml"), " holds prices.");
  const dots = view.models.flatMap((model) => {
    const spent = spentOf(model);
    const x = spent ? chosen.of(spent) : null;
    if (x === null || !model.score.problems) return [];
    return [{ model, x, correct: measure(correct, model.score, model.outcomes), faster: measure(faster, model.score, model.outcomes) }];
  });
  type Dot = (typeof dots)[number];
  const choice = h("select", { onchange: () => change({ cost: choice.value }) },
    some.map(({ key, label }) => h("option", { value: key, selected: key === chosen.key }, label)));
  const positive = dots.map(({ x }) => x).filter((x) => x > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const log = positive.length === dots.length && most / least > 20;
  const value = (of: Measured) => of.count / of.total;
  const unknown = view.models.length - dots.length;
  return chart({
    title, name: `${view.file}-cost`,
    label: `${title}. ${dots.map((dot) => `${dot.model.label}: ${chosen.format(dot.x)} ${chosen.label}, correct ${shareText(dot.correct)}`).join("; ")}.`,
    note: `Marks: share of problems that are correct, lines: 95% confidence (Wilson). Rings: share that is faster, too. ${unknown ? `The cost of ${plural(unknown, "model")} is not known. ` : ""}${view.filtered ? "The filters hold for correctness; the cost is that of all problems. " : ""}${viewNote(view)}`,
    controls: h("label", {}, "cost as", choice),
    legend: seriesLegend(dots.map(({ model }) => model), false),
    numbers: () => ({
      head: ["Model", chosen.label, "Correct", "95% interval", "Faster", "95% interval"],
      rows: dots.map((dot) => [dot.model.label, chosen.format(dot.x), `${shareText(dot.correct)}, ${countText(dot.correct)}`, intervalText(dot.correct), `${shareText(dot.faster)}, ${countText(dot.faster)}`, intervalText(dot.faster)]),
    }),
    draw: (width) => ({
      width, height: 300, marginLeft: 46, marginRight: 90, marginBottom: 38,
      x: { type: log ? "log" : "linear", domain: log ? [least / 1.5, most * 1.5] : [0, most * 1.1], label: `${chosen.label}${log ? " (log scale)" : ""}`,
        tickFormat: (x: number) => chosen.format(x), ticks: Math.max(2, Math.floor(width / 130)), grid: true },
      y: { domain: [0, 1], label: "share of problems", tickFormat: (share: number) => formatShare(share), grid: true },
      marks: [
        Plot.link(dots, { x: "x", y1: (dot: Dot) => dot.correct.interval[0], y2: (dot: Dot) => dot.correct.interval[1], stroke: (dot: Dot) => seriesStyle(dot.model.index).color, strokeOpacity: 0.55, strokeWidth: 1.5 }),
        Plot.link(dots, { x: "x", y1: (dot: Dot) => value(dot.correct), y2: (dot: Dot) => value(dot.faster), stroke: (dot: Dot) => seriesStyle(dot.model.index).color, strokeDasharray: "1 3", dx: 7 }),
        Plot.dot(dots, { x: "x", y: (dot: Dot) => value(dot.faster), r: 4, stroke: (dot: Dot) => seriesStyle(dot.model.index).color, strokeWidth: 1.5, dx: 7, fill: "var(--plot-surface)" }),
        ...dots.map((dot) => Plot.dot([dot], { x: "x", y: () => value(dot.correct), r: 5.5, fill: seriesStyle(dot.model.index).color, symbol: seriesStyle(dot.model.index).symbol })),
        Plot.text(dots, { x: "x", y: (dot: Dot) => value(dot.correct), text: (dot: Dot) => dot.model.label, textAnchor: "start", dx: 10, dy: -8, fontSize: 11 }),
        tips(dots, { x: (dot) => dot.x, y: (dot) => value(dot.correct), title: (dot) => [dot.model.label, `${chosen.format(dot.x)} ${chosen.label}`,
          `correct ${shareText(dot.correct)}, 95%: ${intervalText(dot.correct)}`, `faster ${shareText(dot.faster)}, 95%: ${intervalText(dot.faster)}`] }),
      ],
    }),
  }).element;
}

interface AtK {
  k: number;
  p: number;
  model: ModelView;
  value: number;
  low: number;
  high: number;
}

// pass@k and fast_1 of the best of k; null where no problem has several samples.
export function samplesChart(view: RunView, p: 0 | 1): HTMLElement | null {
  const points = view.models.flatMap((model) => ((model.stored?.["of_k_samples"] ?? []) as JsonObject[]).flatMap((at): AtK[] => {
    const fast = ((at["fast_p"] ?? []) as JsonObject[]).find((each) => each["p"] === p);
    const interval = fast?.["interval"] as [number, number] | null | undefined;
    if (!fast || typeof fast["value"] !== "number" || !interval) return [];
    return [{ k: Number(at["k"]), p, model, value: fast["value"], low: interval[0], high: interval[1] }];
  }));
  const ks = [...new Set(points.map(({ k }) => k))].sort((a, b) => a - b);
  if (ks.length < 2) return null;
  const title = p === 0 ? "pass@k: one of k samples is correct" : "fast_1 of the best of k samples";
  const models = view.models.filter((model) => points.some((point) => point.model === model));
  return chart({
    title, name: `${view.file}-${p === 0 ? "pass-at-k" : "fast-1-at-k"}`, legend: seriesLegend(models, true),
    label: `${title}. ${points.map((point) => `${point.model.label}, k = ${point.k}: ${formatShare(point.value)}`).slice(0, 60).join("; ")}.`,
    note: `Unbiased mean over problems; lines: 95% confidence (bootstrap over problems). ${viewNote(view)}`,
    numbers: () => ({ head: ["Model", "k", "Chance", "95% interval"], rows: points.map((point) => [point.model.label, point.k, formatShare(point.value, 1), `${formatShare(point.low)} to ${formatShare(point.high)}`]) }),
    draw: (width) => ({
      width, height: 260, marginLeft: 46, marginBottom: 38, marginRight: 16,
      x: { type: "log", base: 2, domain: [0.9, (ks[ks.length - 1] ?? 1) * 1.1], ticks: ks, tickFormat: String, label: "k: samples of each problem (log scale)" },
      y: { domain: [0, 1], label: "share of problems", tickFormat: (share: number) => formatShare(share), grid: true },
      marks: [
        ...models.flatMap((model) => {
          const { color, dash, symbol } = seriesStyle(model.index);
          const of = points.filter((point) => point.model === model);
          return [
            Plot.line(of, { x: "k", y: "value", stroke: color, strokeWidth: 2, strokeDasharray: dash }),
            Plot.link(of, { x: "k", y1: "low", y2: "high", stroke: color, strokeOpacity: 0.55 }),
            Plot.dot(of, { x: "k", y: "value", fill: color, symbol, r: 4 }),
          ];
        }),
        tips(points, { x: (point) => point.k, y: (point) => point.value, title: (point) => [point.model.label, `k = ${point.k}: ${formatShare(point.value, 1)}`, `95%: ${formatShare(point.low)} to ${formatShare(point.high)}`] }),
      ],
    }),
  }).element;
}
