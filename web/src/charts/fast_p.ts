// fast_p over p, with a p that is pinned: a rule in the picture, and a table of what each model has there.
import * as Plot from "@observablehq/plot";
import { withCsv } from "../csv.ts";
import { h } from "../dom.ts";
import type { FastP, Outcome } from "../figures.ts";
import { fastP, fastPSteps, ifAllPass, measured, wilson } from "../figures.ts";
import type { Chart } from "../plot.ts";
import { chart, seriesLegend, seriesStyle, tips } from "../plot.ts";
import type { ModelView, RunView } from "../run_view.ts";
import { viewNote } from "../run_view.ts";
import { formatNumber, formatShare } from "../text.ts";

const mostCurves = 10;
const mostIntervals = 3; // in the picture; the table below has all

interface Point {
  model: ModelView;
  p: number;
  value: number;
  low: number;
  high: number;
}

interface Pinned {
  model: ModelView;
  least: FastP;
  most: FastP | null; // if all that lack a verdict or a time pass
}

function pinnedAt(model: ModelView, p: number): Pinned {
  const stored = model.score.fast_p.find((each) => each.p === p);
  const all = model.score.if_all_pass?.fast_p.find((each) => each.p === p);
  if (stored) return { model, least: stored, most: all ?? null };
  const missing = model.outcomes.some((outcome) => outcome.missing);
  return { model, least: fastP(model.outcomes, p), most: missing ? fastP(ifAllPass(model.outcomes), p) : null };
}

const shareRange = ({ least, most }: Pinned): string => {
  const low = formatShare(least.value);
  const high = formatShare(most?.value ?? least.value);
  return low === high ? low : `${low} to ${high}`;
};

const countRange = ({ least, most }: Pinned): string =>
  `${least.count}${most && most.count !== least.count ? ` to ${most.count}` : ""} of ${least.total}`;

const intervalRange = ({ least, most }: Pinned): string => least.interval
  ? `${formatShare(least.interval[0])} to ${formatShare((most?.interval ?? least.interval)[1])}` : "no interval: no problem";

// The largest p that the axis shows: the curves' ends, but not those of a few very fast candidates.
export function axisEnd(outcomes: readonly Outcome[], asked: number | null): number {
  if (asked !== null && asked > 0) return asked;
  const speedups = outcomes.filter(measured).map(({ speedup }) => speedup ?? 0).sort((a, b) => a - b);
  const most = speedups[Math.floor(speedups.length * 0.97)] ?? 2;
  return Math.min(10, Math.max(2, Math.ceil(most * 2) / 2));
}

export interface FastPOptions {
  p: number;
  end: number | null; // of the axis; null: chosen
  change(changes: Record<string, string | null>): void;
}

export function fastPChart(view: RunView, options: FastPOptions): { element: HTMLElement; chart: Chart } {
  let { p } = options;
  const drawn = [...view.models].filter(({ outcomes }) => outcomes.length)
    .sort((a, b) => (fastP(b.outcomes, 1).value ?? 0) - (fastP(a.outcomes, 1).value ?? 0)).slice(0, mostCurves)
    .sort((a, b) => a.index - b.index);
  const end = axisEnd(drawn.flatMap(({ outcomes }) => outcomes), options.end);
  const points = drawn.flatMap((model) => fastPSteps(model.outcomes, end).map(({ p: at, value }): Point => {
    const n = model.outcomes.length;
    const [low, high] = wilson(Math.round(value * n), n);
    return { model, p: at, value, low, high };
  }));
  const table = h("div", { class: "pinned", tabindex: 0, role: "region", "aria-label": "fast_p at the pinned p" });
  const showTable = () => table.replaceChildren(h("table", { class: "chart-numbers" },
    h("thead", {}, h("tr", {}, ["Model", `fast_${formatP(p)}`, "problems", "95% interval"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, view.models.map((model) => pinnedAt(model, p)).map((pinned) => h("tr", {},
      h("th", { scope: "row" }, pinned.model.label), h("td", { class: "num" }, shareRange(pinned)),
      h("td", { class: "num" }, countRange(pinned)), h("td", { class: "num" }, intervalRange(pinned)))))));
  const slider = h("input", { type: "range", min: 0, max: end, step: 0.05, value: Math.min(p, end), "aria-label": "Pinned p, slider" });
  const number = h("input", { type: "number", min: 0, step: 0.05, value: formatP(p), "aria-label": "Pinned p" });
  let saving = 0;
  const pin = (value: number, from: HTMLInputElement | null) => {
    if (!Number.isFinite(value) || value < 0) return;
    p = Math.round(value * 1000) / 1000;
    if (from !== slider) slider.value = String(Math.min(p, end));
    if (from !== number) number.value = formatP(p);
    showTable();
    made.redraw();
    clearTimeout(saving);
    saving = window.setTimeout(() => options.change({ p: p === 1 ? null : formatP(p) }), 150);
  };
  slider.addEventListener("input", () => pin(Number(slider.value), slider));
  number.addEventListener("input", () => number.value !== "" && pin(Number(number.value), number));
  const ends = [null, 2, 5, 20, 100];
  const endChoice = h("select", { onchange: () => options.change({ pmax: endChoice.value || null }) },
    ends.map((each) => h("option", { value: each ?? "", selected: each === options.end }, each === null ? "as fits" : `${each}×`)));
  const made: Chart = chart({
    title: "fast_p: share of problems correct and more than p times as fast",
    name: `${view.file}-fast-p`,
    label: () => `fast_p over p from 0 to ${end}. At p = ${formatP(p)}: ${view.models.map((model) => pinnedAt(model, p)).map((each) => `${each.model.label} ${shareRange(each)}`).join("; ")}.`,
    note: `At p = 0: correct at any speed. ${drawn.length === 1 ? "Shaded: 95% confidence (Wilson). " : drawn.length <= mostIntervals ? "Bars at the pinned p: 95% confidence (Wilson). " : ""}` +
      (view.models.some(({ score }) => score.missing) ? "Drawn is the low end of each range: all that lack a verdict or a time fail. " : "") +
      (drawn.length < view.models.length ? `Drawn are the ${drawn.length} models with the largest fast_1; filter by model to see others. ` : "") + viewNote(view),
    legend: seriesLegend(drawn, true),
    controls: [h("label", {}, "p pinned at", number, "×", slider), h("label", {}, "axis to", endChoice)],
    numbers: () => ({
      head: ["Model", ...view.thresholds.map((each) => `fast_${each}`)],
      rows: view.models.map((model) => [model.label, ...model.score.fast_p.map((each) => {
        const pinned = pinnedAt(model, each.p);
        return `${shareRange(pinned)} [${intervalRange(pinned)}]`;
      })]),
    }),
    clickAt: (x, _, plot) => {
      const scale = plot.scale("x");
      const at = scale?.invert?.(x);
      if (typeof at === "number") pin(Math.round(Math.min(end, Math.max(0, at)) * 20) / 20, null);
    },
    draw: (width) => {
      const pins = drawn.map((model) => pinnedAt(model, p));
      return {
        width, height: Math.min(380, Math.max(240, width * 0.5)), marginLeft: 46, marginRight: 16, marginBottom: 38,
        x: { domain: [0, end], label: "p: speedup over the baseline", tickFormat: (value: number) => `${value}×`, grid: true },
        y: { domain: [0, 1], label: "fast_p", tickFormat: (value: number) => formatShare(value), grid: true },
        marks: [
          drawn.length === 1 ? Plot.areaY(points, { x: "p", y1: "low", y2: "high", curve: "step-after", fill: seriesStyle(drawn[0]?.index ?? 0).color, fillOpacity: 0.13 }) : null,
          Plot.ruleX([1], { stroke: "var(--plot-muted)", strokeDasharray: "4 3" }),
          ...drawn.map((model) => {
            const { color, dash } = seriesStyle(model.index);
            return Plot.line(points.filter((each) => each.model === model), { x: "p", y: "value", curve: "step-after", stroke: color, strokeWidth: 2.25, strokeDasharray: dash });
          }),
          p <= end ? Plot.ruleX([p], { stroke: "var(--plot-ink)", strokeWidth: 1.5 }) : null,
          ...(p <= end && pins.length <= mostIntervals ? pins : []).map(({ model, least, most }, i) => Plot.link([0], {
            x: p, y1: least.interval?.[0] ?? 0, y2: (most?.interval ?? least.interval)?.[1] ?? 1, dx: i * 3 - (pins.length - 1) * 1.5,
            stroke: seriesStyle(model.index).color, strokeWidth: 2, strokeOpacity: 0.55,
          })),
          ...(p <= end ? pins : []).map(({ model, least }) => {
            const { color, symbol } = seriesStyle(model.index);
            return Plot.dot([0], { x: p, y: least.value ?? 0, fill: color, symbol, r: 4.5, stroke: "var(--plot-surface)" });
          }),
          tips(points, { x: (point) => point.p, y: (point) => point.value, title: (point) => [
            point.model.label, `fast_${formatNumber(point.p)}: ${formatShare(point.value, 1)}`,
            `95%: ${formatShare(point.low)} to ${formatShare(point.high)}`, `${point.model.outcomes.length} problems`] }),
        ],
      };
    },
  });
  showTable();
  made.element.querySelector("figcaption")?.before(withCsv("fast_p at the pinned p", table));
  return { element: made.element, chart: made };
}

export const formatP = (p: number): string => String(Number(p.toFixed(3)));
