// How fast candidates are: the histogram of speedups, and geometric means beside what others published.
import * as Plot from "@observablehq/plot";
import type { Interval, Score } from "../figures.ts";
import { measured } from "../figures.ts";
import type { LegendItem } from "../plot.ts";
import { chart, noChart, seriesStyle, tips } from "../plot.ts";
import type { ModelView, RunView } from "../run_view.ts";
import { partsOf, scoreIn, viewNote } from "../run_view.ts";
import { formatInterval, formatSpeedup, oneLine, plural } from "../text.ts";
import type { PublishedRow } from "../documents.ts";
import { h } from "../dom.ts";
import type { Pace } from "./matrix.ts";
import { paceOf, paces } from "./matrix.ts";
import { fitted, labelMargin } from "./shares.ts";

const mostRows = 6;
const binsPerOctave = 2;
const mostOctaves = 10; // the outermost bins also hold what lies beyond
const drawn = (value: number): number => Math.min(1e6, Math.max(1e-6, value));

interface Bin {
  row: string;
  pace: Pace;
  from: number;
  to: number;
  count: number;
}

const edge = (bin: number): number => 2 ** (bin / binsPerOctave);

function binsOf(rows: { row: string; models: ModelView[] }[]): Bin[] {
  return rows.flatMap(({ row, models }) => {
    const counts = new Map<string, Bin>();
    for (const outcome of models.flatMap(({ outcomes }) => outcomes)) {
      const pace = paceOf(outcome);
      if (!pace || outcome.speedup === null) continue;
      const end = mostOctaves * binsPerOctave;
      const bin = Math.min(end - 1, Math.max(-end, Math.floor(Math.log2(outcome.speedup) * binsPerOctave + 1e-9)));
      const key = `${bin} ${pace.key}`;
      const of = counts.get(key) ?? { row, pace, from: edge(bin), to: edge(bin + 1), count: 0 };
      ++of.count;
      counts.set(key, of);
    }
    return [...counts.values()].sort((a, b) => a.from - b.from || paces.indexOf(b.pace) - paces.indexOf(a.pace));
  });
}

export const timesTick = (value: number): string => `${Number(value.toPrecision(3))}×`;

// Powers of two, or of four or more where there would be many.
export function octaves(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log2(low)), Math.ceil(Math.log2(high))];
  const step = Math.max(1, Math.ceil((last - first) / 9));
  return Array.from({ length: Math.max(1, last - first + 1) }, (_, i) => first + i).filter((power) => power % step === 0).map((power) => 2 ** power);
}

// Round numbers, at most so many.
export function roundTicks(low: number, high: number, most: number): number[] {
  if (high / low > 24) return octaves(low, high).filter((tick) => tick >= low && tick <= high);
  const round = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50]
    .filter((tick) => tick >= low && tick <= high);
  const kept: number[] = [];
  const least = Math.log(high / low) / most;
  for (const tick of [1, ...round.filter((each) => each !== 1)])
    if (kept.every((each) => Math.abs(Math.log(each / tick)) >= least) && tick >= low && tick <= high) kept.push(tick);
  return kept.sort((a, b) => a - b);
}

export function histogram(view: RunView): HTMLElement {
  const title = "Speedups of correct candidates";
  const timed = view.models.filter(({ outcomes }) => outcomes.some(measured));
  if (!timed.length) return noChart(title, "No candidate in view is correct and was timed, so that there is no speedup to show.");
  const rows = timed.length <= mostRows ? timed.map((model) => ({ row: model.label, models: [model] })) : [{ row: `all ${timed.length} models`, models: timed }];
  const bins = binsOf(rows);
  const count = bins.reduce((sum, bin) => sum + bin.count, 0);
  const low = Math.min(1, ...bins.map(({ from }) => from));
  const high = Math.max(2, ...bins.map(({ to }) => to));
  const beyond = [low, high].some((end) => Math.abs(Math.log2(end)) >= mostOctaves);
  const legend: LegendItem[] = paces.map(({ label, glyph, color }) => ({ label, glyph, color, opacity: 0.55 }));
  return chart({
    title, legend, name: `${view.file}-speedups`,
    label: `${title}: ${paces.map((pace) => `${bins.filter((bin) => bin.pace === pace).reduce((sum, bin) => sum + bin.count, 0)} ${pace.label}`).join("; ")}.`,
    note: `${plural(count, "speedup")}, each the baseline's time over the candidate's, in bins of half an octave (log scale)${beyond ? "; the outermost bins also hold what lies beyond" : ""}. ${viewNote(view)}`,
    numbers: () => ({
      head: ["Models", "From", "To", "Pace", "Problems"],
      rows: bins.map((bin) => [bin.row, timesTick(bin.from), timesTick(bin.to), bin.pace.label, bin.count]),
    }),
    draw: (width) => {
      const marginLeft = rows.length > 1 ? labelMargin(rows.map(({ row }) => row), width) + 30 : 40;
      return {
        width, height: rows.length === 1 ? 240 : 40 + rows.length * 84, marginLeft, marginBottom: 36,
        x: { type: "log", base: 2, domain: [low, high], label: "speedup over the baseline (log scale)", ticks: octaves(low, high), tickFormat: timesTick },
        y: { label: rows.length > 1 ? null : "problems", grid: true, ticks: 3, tickFormat: (value: number) => (Number.isInteger(value) ? String(value) : "") },
        fy: { domain: rows.map(({ row }) => row), axis: null, padding: 0.12 },
        marks: [
          rows.length > 1 ? Plot.axisFy({ anchor: "left", dx: -28, tickSize: 0, label: null, tickFormat: (name: string) => fitted(name, marginLeft - 30) }) : null,
          Plot.rectY(bins, Plot.stackY({ fy: "row", x1: "from", x2: "to", y: "count", fill: (bin: Bin) => bin.pace.color, fillOpacity: 0.75, insetLeft: 0.5, insetRight: 0.5, order: (bin: Bin) => -paces.indexOf(bin.pace) })),
          Plot.text(bins, Plot.stackY({ fy: "row", x: (bin: Bin) => Math.sqrt(bin.from * bin.to), y: "count", order: (bin: Bin) => -paces.indexOf(bin.pace),
            text: (bin: Bin) => (bin.count * rows.length > count / 16 ? bin.pace.glyph : ""), fill: "var(--plot-surface)", fontSize: 9 })),
          Plot.ruleX([1], { stroke: "var(--plot-ink)", strokeDasharray: "4 3" }),
          Plot.ruleY([0], { stroke: "var(--plot-muted)" }),
          tips(bins, { x: (bin) => Math.sqrt(bin.from * bin.to), y: (bin) => bin.count, fy: (bin) => bin.row, title: (bin) => [
            `${timesTick(bin.from)} to ${timesTick(bin.to)}`, plural(bin.count, "problem"), bin.pace.label, bin.row] }, "x"),
        ],
      };
    },
  }).element;
}

interface MeanDot {
  label: string;
  index: number;
  value: number;
  interval: Interval | null;
  problems: number;
}

const meanOf = (score: Score, orOne: boolean): number | null => (orOne ? score.geometric_mean_incorrect_as_1 : score.geometric_mean);

export interface MeansOptions {
  part: string; // "" of all problems
  orOne: boolean;
  change(changes: Record<string, string | null>): void;
}

const isLevel3 = (part: string): boolean => part === "level3" || part === "3";

// Published rows are of level 3: they are drawn beside that level alone.
export function meansChart(view: RunView, { part, orOne, change }: MeansOptions): HTMLElement {
  const parts = partsOf(view, "deck");
  const shown = parts.includes(part) ? part : parts.length === 1 ? parts[0] ?? "" : "";
  const dots = view.models.flatMap((model): MeanDot[] => {
    const score = shown ? scoreIn(view, model, "deck", shown) : model.score;
    const value = score ? meanOf(score, orOne) : null;
    if (!score || value === null) return [];
    const interval = orOne ? null : score.geometric_mean_interval;
    return [{ label: model.label, index: model.index, value, interval, problems: orOne ? score.problems : score.measured }];
  });
  const title = `Geometric mean speedup${shown ? ` on ${shown}` : ""}, ${orOne ? "an incorrect one counting as 1×" : "over the correct ones"}`;
  const partChoice = h("select", { onchange: () => change({ mean: partChoice.value || null }) },
    h("option", { value: "" }, "all levels"), parts.map((name) => h("option", { value: name, selected: name === shown }, name)));
  const kindChoice = h("select", { onchange: () => change({ meankind: kindChoice.value || null }) },
    h("option", { value: "" }, "correct ones"), h("option", { value: "orone", selected: orOne }, "all, incorrect as 1×"));
  const controls = [h("label", {}, "level", partChoice), h("label", {}, "over", kindChoice)];
  if (!dots.length) {
    const none = noChart(title, "No candidate in view is correct and was timed.");
    none.append(h("div", { class: "chart-controls" }, controls));
    return none;
  }
  const published = (isLevel3(shown) ? [...view.published] : []).sort((a, b) => a.geometric_mean - b.geometric_mean);
  const values = [...dots.map(({ value }) => drawn(value)), ...published.map((row) => row.geometric_mean)];
  const [least, most] = [Math.min(1, ...values), Math.max(1, ...values)];
  const near = (end: number) => Math.min(most * 3, Math.max(least / 3, end));
  const ends = dots.flatMap(({ interval }) => interval?.map(near) ?? []);
  const low = Math.min(least, ...ends) / 1.15;
  const high = Math.max(most, ...ends) * 1.15;
  const intervalWords = (dot: MeanDot) => dot.interval ? `95%: ${formatInterval(...dot.interval)}` : orOne ? "no interval: not defined where an incorrect one counts as 1×" : "no interval: fewer than 2 timed";
  const element = chart({
    title, controls, name: `${view.file}-means${shown ? `-${shown}` : ""}`,
    label: `${title}. ${dots.map((dot) => `${dot.label}: ${formatSpeedup(dot.value)}, ${intervalWords(dot)}`).join("; ")}.`,
    note: `${orOne ? "" : "Lines: 95% confidence (Student's t of the logarithms), cut at the frame. "}` +
      (published.length ? "Dashed and numbered: what others published for level 3, listed below; each has its own device, version of PyTorch and timing, and nothing here measured it. "
        : view.published.length && parts.some(isLevel3) ? "Choose level3 to see what others published. " : "") + viewNote(view),
    numbers: () => ({
      head: ["Model", "Geometric mean", "95% interval", "Problems"],
      rows: [...dots.map((dot) => [dot.label, formatSpeedup(dot.value), intervalWords(dot), dot.problems]),
        ...published.map((row) => [`published: ${row.name} (${row.published || "no date"}, ${row.device})`, formatSpeedup(row.geometric_mean), "no interval: none was published", row.problems])],
    }),
    draw: (width) => {
      const marginLeft = labelMargin(dots.map(({ label }) => label), width);
      return {
        width, marginLeft, marginRight: 70, marginTop: published.length ? 54 : 12, marginBottom: 36,
        height: dots.length * 28 + 36 + (published.length ? 54 : 12),
        x: { type: "log", domain: [low, high], label: "geometric mean of speedups (log scale)", ticks: roundTicks(low, high, Math.min(9, (width - marginLeft - 70) / 46)), tickFormat: timesTick, grid: true },
        y: { domain: dots.map(({ label }) => label), label: null, tickSize: 0, tickFormat: (name: string) => fitted(name, marginLeft) },
        marks: [
          Plot.ruleX([1], { stroke: "var(--plot-ink)", strokeDasharray: "4 3" }),
          Plot.ruleX(published, { x: "geometric_mean", stroke: "var(--plot-muted)", strokeDasharray: "2 3" }),
          ...published.map((row, i) => Plot.text([row], { x: "geometric_mean", frameAnchor: "top", dy: -8 - 11 * (i % 4), text: () => `${i + 1}`, fontSize: 10, fill: "var(--plot-muted)" })),
          Plot.link(dots.filter(({ interval }) => interval), {
            y: "label", x1: (dot: MeanDot) => Math.max(low, dot.interval?.[0] ?? low), x2: (dot: MeanDot) => Math.min(high, dot.interval?.[1] ?? high),
            stroke: (dot: MeanDot) => seriesStyle(dot.index).color, strokeWidth: 2, strokeOpacity: 0.6,
          }),
          ...dots.map((dot) => Plot.dot([dot], { y: "label", x: () => drawn(dot.value), r: 5, fill: seriesStyle(dot.index).color, symbol: seriesStyle(dot.index).symbol })),
          Plot.text(dots, { y: "label", frameAnchor: "right", textAnchor: "start", dx: 8, text: (dot: MeanDot) => formatSpeedup(dot.value), fill: "var(--plot-muted)", fontSize: 11 }),
          tips(dots, { x: (dot) => drawn(dot.value), y: (dot) => dot.label, title: (dot) => [dot.label, formatSpeedup(dot.value), intervalWords(dot), plural(dot.problems, "problem")] }, "y"),
          tips(published, { x: (row) => row.geometric_mean, y: () => dots[0]?.label, title: (row) => [`published: ${oneLine(row.name, 60)}`, formatSpeedup(row.geometric_mean), `${row.published || "no date"}, ${oneLine(row.device, 60)}, ${plural(row.problems, "problem")}${row.cap ? `, cap ${row.cap}×` : ""}`] }, "x"),
        ],
      };
    },
  }).element;
  if (published.length) element.append(publishedList(published));
  return element;
}

function publishedList(rows: PublishedRow[]): HTMLElement {
  return h("details", { class: "fold", open: true }, h("summary", {}, "What others published for level 3"), h("ol", { class: "published" }, rows.map((row) => h("li", {},
    `${oneLine(row.name, 80)}: ${formatSpeedup(row.geometric_mean)}, ${plural(row.problems, "problem")}${row.cap ? `, speedups above ${row.cap}× as that` : ""}, ${oneLine(row.device, 80)}. `,
    h("span", { class: "muted" }, `${row.published ? `Published ${oneLine(row.published, 20)}` : "Published without a date"}, read ${oneLine(row.date, 20)}: ${oneLine(row.source, 300)}`)))));
}
