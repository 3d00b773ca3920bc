// How many problems compiled, are correct, are faster: bars by model and by level, heatmaps, and the table of them.
import * as Plot from "@observablehq/plot";
import { withCsv } from "../csv.ts";
import type { Child } from "../dom.ts";
import { h } from "../dom.ts";
import type { Score } from "../figures.ts";
import type { Chart, LegendItem } from "../plot.ts";
import { chart, tips } from "../plot.ts";
import { perCorrectOf } from "../per_correct.ts";
import { addressOf } from "../router.ts";
import type { ModelView, Part, RunView } from "../run_view.ts";
import { outcomesIn, partsOf, scoreIn, viewNote } from "../run_view.ts";
import { formatInterval, formatLarge, formatNumber, formatShare, formatSpeedup, formatUsd, plural } from "../text.ts";
import type { Measure, Measured } from "./measures.ts";
import { compiled, correct, countText, faster, intervalText, measure, measures, shareText, shortShareText } from "./measures.ts";

interface Bar extends Measured {
  model: string;
  measure: Measure;
  part: string;
}

const barColors = ["var(--series-5)", "var(--series-2)", "var(--series-0)", "var(--series-3)", "var(--series-1)"];
const wilsonNote = "Bars: share of problems; lines: 95% confidence (Wilson).";

function barsOf(view: RunView, part: Part | null): Bar[] {
  return view.models.flatMap((model) => (part ? partsOf(view, part) : ["all"]).flatMap((name) => {
    const score = part ? scoreIn(view, model, part, name) : model.score;
    const outcomes = part ? outcomesIn(view, model, part, name) : model.outcomes;
    if (!score?.problems) return [];
    return measures.map((each) => ({ model: model.label, measure: each, part: name, ...measure(each, score, outcomes) }));
  }));
}

const tipLines = (bar: Bar): string[] => [
  `${bar.model}${bar.part === "all" ? "" : ` · ${bar.part}`}`,
  `${bar.measure.title}: ${shareText(bar)}, ${countText(bar)}`,
  `95%: ${intervalText(bar)}`,
  bar.measure.meaning,
];

const rangeNote = (bars: readonly Bar[]): string =>
  bars.some(({ count, most }) => most > count) ? " Pale: what it may become, as verdicts or times are missing." : "";

export const labelMargin = (labels: readonly string[], width: number): number =>
  Math.min(Math.max(40, ...labels.map((label) => label.length * 6.4 + 14)), Math.max(90, width * 0.32));

export const fitted = (label: string, margin: number): string => {
  const most = Math.max(6, Math.floor((margin - 12) / 6.4));
  return label.length > most ? label.slice(0, most - 1) + "…" : label;
};

const mostModels = 16; // in bars; the tables have all

export function shareBars(view: RunView, part: Part | null): Chart {
  const fast = (model: ModelView) => measure(faster, model.score, model.outcomes).count / Math.max(1, model.score.problems);
  const first = new Set([...view.models].sort((a, b) => fast(b) - fast(a)).slice(0, mostModels).map(({ label }) => label));
  const bars = barsOf(view, part).filter(({ model }) => first.has(model));
  const models = view.models.map(({ label }) => label).filter((label) => first.has(label));
  const others = view.models.length > models.length ? ` Drawn are the ${models.length} models with the largest share that is faster.` : "";
  const parts = part ? partsOf(view, part) : ["all"];
  const title = part ? "Compiled, correct and faster, by level" : "Compiled, correct and faster, by model";
  const legend: LegendItem[] = measures.map(({ title: label }, i) => ({ label, color: barColors[i] ?? "" }));
  const ticks = part ? 2 : 5;
  const tick = (value: number) => formatShare(value);
  return chart({
    title, legend, name: `${view.file}-shares${part ? "-by-level" : ""}`,
    label: `${title}. ${bars.map((bar) => `${bar.model}${part ? ` ${bar.part}` : ""}, ${bar.measure.title}: ${shareText(bar)}`).slice(0, 40).join("; ")}.`,
    note: `${wilsonNote}${rangeNote(bars)}${others} ${viewNote(view)}`,
    least: part ? 120 + parts.length * 150 : 0,
    numbers: () => ({
      head: ["Model", "Part", "Measure", "Share", "Problems", "95% interval"],
      rows: bars.map((bar) => [bar.model, bar.part, bar.measure.title, shareText(bar), countText(bar), intervalText(bar)]),
    }),
    draw: (width) => {
      const marginLeft = labelMargin(models, width);
      const place = { x1: 0, y: (bar: Bar) => bar.measure.title, fy: "model", fx: part ? "part" : undefined };
      const marginRight = part ? 20 : 14 + 6.4 * Math.max(...bars.map((bar) => shareText(bar).length), 4);
      const color = (bar: Bar) => barColors[measures.indexOf(bar.measure)] ?? "";
      return {
        width, height: models.length * (measures.length * 15 + 14) + 44 + (part ? 18 : 0), marginLeft, marginBottom: 34, marginRight,
        x: { domain: [0, 1], axis: null, grid: true, ticks },
        y: { axis: null, domain: measures.map((each) => each.title), padding: 0.15 },
        fy: { domain: models, label: null, padding: 0.12, tickFormat: (label: string) => fitted(label, marginLeft), axis: "left" },
        fx: { domain: part ? parts : undefined, axis: part ? "top" : null, label: null, padding: 0.2 },
        marks: [
          Plot.axisX({ anchor: "bottom", facetAnchor: "bottom", label: "share of problems", tickFormat: tick, ticks }),
          Plot.barX(bars, { ...place, x2: (bar: Bar) => bar.count / bar.total, fill: color }),
          Plot.barX(bars, { ...place, x1: (bar: Bar) => bar.count / bar.total, x2: (bar: Bar) => bar.most / bar.total, fill: color, fillOpacity: 0.25 }),
          Plot.link(bars, {
            fy: "model", fx: part ? "part" : undefined, y: (bar: Bar) => bar.measure.title,
            x1: (bar: Bar) => bar.interval[0], x2: (bar: Bar) => bar.interval[1], stroke: "var(--plot-ink)", strokeWidth: 1, strokeOpacity: 0.7,
          }),
          part ? null : Plot.text(bars, {
            fy: "model", y: (bar: Bar) => bar.measure.title, x: (bar: Bar) => bar.interval[1], dx: 6, textAnchor: "start",
            text: (bar: Bar) => shareText(bar), fontSize: 11, fill: "var(--plot-muted)",
          }),
          Plot.ruleX([0], { stroke: "var(--plot-muted)" }),
          tips(bars, {
            x: (bar) => bar.count / bar.total, y: (bar) => bar.measure.title, fy: (bar) => bar.model,
            ...(part ? { fx: (bar: Bar) => bar.part } : {}), title: tipLines,
          }, "both"),
        ],
      };
    },
  });
}

const partTitles: Record<Part, string> = { deck: "level", family: "operator family", dominated_by: "what dominates" };

function heatmap(view: RunView, part: Part, which: Measure): Chart {
  const cells = barsOf(view, part).filter((bar) => bar.measure === which);
  const models = view.models.map(({ label }) => label);
  const parts = partsOf(view, part);
  const title = `${which.title}, model × ${partTitles[part]}`;
  return chart({
    title, name: `${view.file}-heat-${which.key}-${part}`,
    label: `${title}. ${cells.slice(0, 60).map((cell) => `${cell.model} ${cell.part}: ${shareText(cell)}`).join("; ")}.`,
    note: `Share of problems, and how many of how many: ${which.meaning}. ${viewNote(view)}`,
    least: Math.min(1400, 110 + parts.length * 58),
    numbers: () => ({
      head: ["Model", partTitles[part], "Share", "Problems", "95% interval"],
      rows: cells.map((cell) => [cell.model, cell.part, shareText(cell), countText(cell), intervalText(cell)]),
    }),
    draw: (width) => {
      const marginLeft = labelMargin(models, width);
      const long = parts.some((name) => name.length * 6.2 > (width - marginLeft) / parts.length);
      const place = { x: "part", y: "model" };
      return {
        width, height: models.length * 38 + (long ? 96 : 30), marginLeft, marginTop: long ? 92 : 26, marginRight: long ? 40 : 4, marginBottom: 4,
        x: { domain: parts, axis: "top", label: null, tickRotate: long ? -35 : 0, tickSize: 0 },
        y: { domain: models, label: null, tickSize: 0, tickFormat: (label: string) => fitted(label, marginLeft) },
        marks: [
          Plot.cell(cells, { ...place, fill: "var(--plot-faster)", fillOpacity: (cell: Bar) => 0.03 + 0.52 * (cell.count / cell.total), inset: 1, rx: 2 }),
          Plot.text(cells, { ...place, text: (cell: Bar) => shortShareText(cell), dy: -6, fontSize: 12, fontWeight: 600 }),
          Plot.text(cells, { ...place, text: (cell: Bar) => `${cell.count === cell.most ? cell.count : `${cell.count}–${cell.most}`}/${cell.total}`, dy: 8, fontSize: 10.5 }),
          tips(cells, { x: (cell) => cell.part, y: (cell) => cell.model, title: tipLines }),
        ],
      };
    },
  });
}

export const heatmaps = (view: RunView, part: Part): HTMLElement[] =>
  [compiled, correct, faster].map((which) => heatmap(view, part, which).element);

const means = (score: Score): Child[] => {
  const some = score.if_all_pass;
  const open = some && some.geometric_mean === null ? " to ?" : "";
  const interval = score.geometric_mean_interval;
  return [
    h("td", { class: "num" }, score.geometric_mean === null ? "–" : formatSpeedup(score.geometric_mean) + open,
      h("small", {}, interval ? formatInterval(interval[0], some ? null : interval[1]) : score.measured < 2 ? "no interval: fewer than 2 timed" : "")),
    h("td", { class: "num" }, score.geometric_mean_incorrect_as_1 === null ? "–" : formatSpeedup(score.geometric_mean_incorrect_as_1) + (some && some.geometric_mean_incorrect_as_1 === null ? " to ?" : "")),
    h("td", { class: "num" }, score.median === null ? "–" : formatSpeedup(score.median)),
  ];
};

// `of` rows belong to the model, the first of which names it.
function row(model: ModelView, name: string, score: Score, outcomes: ModelView["outcomes"], of: number | null, cost: boolean): HTMLElement {
  return h("tr", { class: of === null ? "" : "first" },
    of === null ? null : h("th", { scope: "rowgroup", rowspan: of }, h("a", { href: addressOf("run", [], { model: model.model }) }, model.label)), h("td", {}, name), h("td", { class: "num" }, score.problems),
    measures.map((each) => {
      const share = measure(each, score, outcomes);
      const counts = (n: { count: number; most: number }) => `${n.count}${n.most > n.count ? ` to ${n.most}` : ""}`;
      const right = each.key === "own" ? measure(correct, score, outcomes) : null;
      return h("td", { class: "num", title: `95%: ${intervalText(share)}` }, counts(share),
        h("small", {}, `${shareText(share)} [${formatNumber(share.interval[0] * 100, 2)}, ${formatNumber(share.interval[1] * 100, 2)}]`),
        right && h("small", {}, `of ${counts(right)} correct`));
    }),
    means(score),
    cost && h("td", { class: "num" }, of === null ? null : costOfCorrect(model)));
}

// Of all levels together. Under filters it is not known.
function costOfCorrect(model: ModelView): Child {
  const each = perCorrectOf(model.stored);
  const tokens = each?.tokens == null ? null : `${formatLarge(each.tokens)} tokens`;
  return each?.usd == null ? tokens ?? "–" : [formatUsd(each.usd), h("small", {}, tokens)];
}

const mostRows = 30;

// As KernelBench v3 prints its results: n and % by model and level. `rows` is "levels", "models" or, where that is open,
// "".
export function shareTable(view: RunView, rows: string, change: (changes: Record<string, string | null>) => void): HTMLElement {
  const all = partsOf(view, "deck");
  const few = view.models.length * (all.length + 1) <= mostRows;
  const parts = rows === "levels" || (rows === "" && few) ? all : [];
  const box = h("input", { type: "checkbox", checked: parts.length > 0, onchange: () => change({ rows: box.checked === few ? null : box.checked ? "levels" : "models" }) });
  const cost = view.models.some(({ stored }) => {
    const each = perCorrectOf(stored);
    return each !== null && (each.usd !== null || each.tokens !== null);
  });
  const bodies = view.models.map((model) => {
    const ofParts = (parts.length < 2 ? [] : parts).flatMap((name) => {
      const score = scoreIn(view, model, "deck", name);
      return score ? [row(model, name, score, outcomesIn(view, model, "deck", name), null, cost)] : [];
    });
    return h("tbody", {}, row(model, "all", model.score, model.outcomes, ofParts.length + 1, cost), ofParts);
  });
  const heads = ["Model", "Level", "n", ...measures.map(({ title }) => title), "Geometric mean", "… incorrect as 1", "Median", ...(cost ? ["Cost per correct"] : [])];
  const about = `Problems by model and level: n, share and 95% confidence in brackets, in percent. Speedups are over the correct ones that were timed. ${view.cap === null ? "" : `Means take a speedup above ${view.cap}× for ${view.cap}×. `}A problem counts with ${view.firstSamples > 1 ? `the best of its first ${plural(view.firstSamples, "sample")}` : "its first sample: that of the earliest run, where several have one"}. ${viewNote(view)}`;
  return h("div", {}, h("p", { class: "about" }, about),
    all.length > 1 ? h("div", { class: "chart-controls" }, h("label", {}, box, "a row for each level")) : null,
    withCsv("Results by model and level", h("div", { class: "chart-scroll", tabindex: 0, role: "region", "aria-label": "Results by model and level" },
      h("table", { class: "chart-numbers share-table" },
        h("thead", {}, h("tr", {}, heads.map((name, i) => h("th", { scope: "col", class: i > 1 ? "num" : "", title: measures[i - 3]?.meaning }, name)))),
        bodies))));
}
