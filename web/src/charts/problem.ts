// Charts of one problem.
import * as Plot from "@observablehq/plot";
import type { Catalog } from "../documents.ts";
import type { PageContext } from "../page.ts";
import { chart, noChart, tips, type ChartElement } from "../plot.ts";
import { modelLabel } from "../rows.ts";
import { addressOf } from "../router.ts";
import { naturalOrder } from "../samples.ts";
import { fileName } from "../save.ts";
import type { SettingChoice } from "../settings.ts";
import {
  formatDate,
  formatInterval,
  formatSpeedup,
  formatSpeedupWithInterval,
  formatTime,
  oneLine,
  plural,
} from "../text.ts";

interface Point {
  row: number;
  model: string;
  us: number;
  low: number; // of its time, by the interval of its speedup
  high: number;
  speedup: number;
  flagged: boolean;
  when: Date;
  lines: string[];
}

// The least time that memory and arithmetic allow, as the entries' fractions tell it; null if none does.
export function limitOf(catalog: Catalog, rows: readonly number[]): number | null {
  const { fraction, candidate_us } = catalog.entries;
  const limits = rows
    .filter((row) => fraction[row] !== null && candidate_us[row] !== null)
    .map((row) => fraction[row]! * candidate_us[row]!)
    .sort((a, b) => a - b);
  return limits[limits.length >> 1] ?? null;
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function pointsOf(catalog: Catalog, rows: readonly number[]): Point[] {
  const { entries, values } = catalog;
  return rows.map((row) => {
    const us = entries.candidate_us[row]!;
    const speedup = entries.speedup[row]!;
    const model = oneLine(modelLabel(values.model[entries.model[row]!]!), 40);
    const flags = entries.flags[row]!.map((flag) => values.flag[flag]!.replaceAll("_", " "));
    return {
      row,
      model,
      us,
      speedup,
      flagged: flags.length > 0,
      when: new Date(entries.created[row]! * 1000),
      low: us * (speedup / (entries.high[row] ?? speedup)),
      high: us * (speedup / (entries.low[row] ?? speedup)),
      lines: [
        model,
        `${formatTime(us)}, ${formatSpeedupWithInterval(speedup, entries.low[row], entries.high[row])}`,
        formatDate(new Date(entries.created[row]! * 1000)),
        ...(flags.length > 0 ? [`flagged: ${flags.join(", ")}`] : []),
      ],
    };
  });
}

// At least an hour, so that a single one has a place on the axis.
function spanOf(sorted: Point[]): [Date, Date] {
  const [from, to] = [sorted[0]!.when.getTime(), sorted.at(-1)!.when.getTime()];
  const more = Math.max(0, 3.6e6 - (to - from)) / 2;
  return [new Date(from - more), new Date(to + more)];
}

const tickOf =
  ([from, to]: [Date, Date]) =>
  (when: Date): string =>
    to.getTime() - from.getTime() < 1.7e8
      ? formatDate(when).slice(5).replace(" ", "\n")
      : formatDate(when).slice(0, 10);

const unitOf = (us: number): [number, string] => (us < 1e3 ? [1, "µs"] : us < 1e6 ? [1e3, "ms"] : [1e6, "s"]);

// Opens the entry whose mark is at most 12 pixels away.
function open(
  context: PageContext,
  points: Point[],
  at: { x: (point: Point) => unknown; y: (point: Point) => unknown },
) {
  return (x: number, y: number, plot: ChartElement): void => {
    const place = (name: "x" | "y", value: unknown) => {
      const scale = plot.scale(name);
      return Number(scale?.apply(value)) + (scale?.bandwidth ?? 0) / 2;
    };
    const away = (point: Point) => Math.hypot(place("x", at.x(point)) - x, place("y", at.y(point)) - y);
    const nearest = points.reduce<Point | null>(
      (so_far, point) => (so_far === null || away(point) < away(so_far) ? point : so_far),
      null,
    );
    const id = nearest && away(nearest) <= 12 ? context.catalog.entries.id[nearest.row] : undefined;
    if (id !== undefined) location.hash = addressOf("entry", [id]);
  };
}

export function placesChart(
  context: PageContext,
  rows: readonly number[],
  choice: SettingChoice,
  problem: string,
): HTMLElement {
  const points = pointsOf(context.catalog, rows);
  const { entries } = context.catalog;
  const baselines = rows.map((row) => entries.baseline_us[row]).filter((us): us is number => us !== null);
  const title = "Every candidate between the baseline and the limit";
  if (baselines.length === 0) return noChart(title, "No baseline was timed.");
  const [unit, name] = unitOf(median(points.map((point) => point.us)));
  const baseline = median(baselines) / unit;
  const limit = limitOf(context.catalog, rows);
  const models = [...new Set(points.map((point) => point.model))].sort(naturalOrder);
  const refs = [
    { at: baseline, label: `baseline ${formatTime(baseline * unit)}`, color: "var(--plot-ink)", dash: "" },
    ...(limit !== null
      ? [{ at: limit / unit, label: `limit ${formatTime(limit)}`, color: "var(--plot-muted)", dash: "4 3" }]
      : []),
  ];
  return chart({
    title,
    name: fileName(`${problem}-places`),
    label: () =>
      `Times of ${plural(points.length, "candidate")} by model, from ${formatTime(Math.min(...points.map((each) => each.us)))} to ${formatTime(Math.max(...points.map((each) => each.us)))}; ${refs.map((each) => each.label).join(", ")}`,
    note: `${plural(points.length, "correct and timed candidate")}; ${oneLine(choice.label)}. Bars are the 95% intervals of the speedups. The baseline is the median of those timed beside them.`,
    legend: [
      { label: "correct", color: "var(--o-right)", symbol: "circle" },
      ...(points.some((point) => point.flagged)
        ? [{ label: "flagged", color: "var(--o-flagged)", symbol: "diamond" }]
        : []),
      { label: "baseline", color: "var(--plot-ink)", dash: "" },
      ...(limit !== null ? [{ label: "limit: the speed of light", color: "var(--plot-muted)", dash: "4 3" }] : []),
    ],
    clickAt: open(context, points, { x: (point) => point.us / unit, y: (point) => point.model }),
    numbers: () => ({
      head: ["Model", "Time", "Speedup", "Interval", "Flagged"],
      rows: points.map((point) => [
        point.model,
        formatTime(point.us),
        formatSpeedup(point.speedup),
        formatInterval(entries.low[point.row], entries.high[point.row]),
        point.flagged ? "yes" : "",
      ]),
    }),
    draw: (width) => ({
      width,
      height: 60 + 26 * models.length,
      marginLeft: Math.min(170, width * 0.33),
      marginRight: 20,
      marginTop: 26,
      x: {
        type: "log",
        inset: 8,
        label: `time of a call, ${name} (logarithmic)`,
        grid: true,
        tickFormat: (value: number) => String(Number(value.toPrecision(3))),
        ticks: Math.max(3, Math.floor(width / 90)),
      },
      y: { domain: models, label: null, tickFormat: (model: string) => oneLine(model, width < 420 ? 14 : 24) },
      marks: [
        ...refs.map((ref) =>
          Plot.ruleX([ref.at], { stroke: ref.color, strokeWidth: 1.75, strokeDasharray: ref.dash || undefined }),
        ),
        Plot.ruleY(points, {
          y: "model",
          x1: (point: Point) => point.low / unit,
          x2: (point: Point) => point.high / unit,
          stroke: "var(--plot-muted)",
          strokeOpacity: 0.6,
        }),
        Plot.dot(
          points.filter((point) => !point.flagged),
          { x: (point: Point) => point.us / unit, y: "model", r: 4, fill: "var(--o-right)", fillOpacity: 0.8 },
        ),
        Plot.dot(
          points.filter((point) => point.flagged),
          { x: (point: Point) => point.us / unit, y: "model", r: 5, symbol: "diamond", fill: "var(--o-flagged)" },
        ),
        tips(points, { x: (point) => point.us / unit, y: (point) => point.model, title: (point) => point.lines }),
      ],
    }),
  }).element;
}

export function bestOverTime(
  context: PageContext,
  rows: readonly number[],
  choice: SettingChoice,
  problem: string,
): HTMLElement {
  const points = pointsOf(context.catalog, rows).sort((a, b) => a.when.getTime() - b.when.getTime());
  const best: Point[] = [];
  for (const point of points) {
    if (!point.flagged && point.speedup > (best.at(-1)?.speedup ?? 0)) best.push(point);
  }
  const last = points.at(-1)!;
  const top = best.at(-1);
  const steps = top ? [...best, { ...top, when: last.when }] : [];
  return chart({
    title: "The best speedup over time",
    name: fileName(`${problem}-over-time`),
    label: () =>
      top
        ? `Speedups of ${plural(points.length, "candidate")} by date; the best so far rose ${plural(best.length, "time")}, to ${formatSpeedup(top.speedup)}`
        : `Speedups of ${plural(points.length, "candidate")} by date, all flagged`,
    note: `${plural(points.length, "correct and timed candidate")}; ${oneLine(choice.label)}. The line is the best so far of those that are not flagged.`,
    legend: [
      { label: "best so far", color: "var(--series-0)", dash: "" },
      { label: "correct", color: "var(--o-right)", symbol: "circle" },
      ...(points.some((point) => point.flagged)
        ? [{ label: "flagged", color: "var(--o-flagged)", symbol: "diamond" }]
        : []),
    ],
    clickAt: open(context, points, { x: (point) => point.when, y: (point) => point.speedup }),
    numbers: () => ({
      head: ["When", "Model", "Best so far", "Interval"],
      rows: best.map((point) => [
        formatDate(point.when),
        point.model,
        formatSpeedup(point.speedup),
        formatInterval(entriesLow(context, point), entriesHigh(context, point)),
      ]),
    }),
    draw: (width) => ({
      width,
      height: 310,
      marginLeft: 48,
      marginBottom: 46,
      x: {
        type: "time",
        domain: spanOf(points),
        inset: 8,
        labelOffset: 44,
        label: "when it was judged",
        ticks: Math.max(2, Math.floor(width / 120)),
        tickFormat: tickOf(spanOf(points)),
      },
      y: {
        type: "log",
        inset: 8,
        label: "speedup over the baseline, × (logarithmic)",
        grid: true,
        tickFormat: (value: number) => String(Number(value.toPrecision(3))),
        ticks: 6,
      },
      marks: [
        Plot.ruleY([1], { stroke: "var(--plot-ink)", strokeDasharray: "2 2" }),
        Plot.ruleX(points, {
          x: "when",
          y1: (point: Point) => (point.us * point.speedup) / point.high,
          y2: (point: Point) => (point.us * point.speedup) / point.low,
          stroke: "var(--plot-muted)",
          strokeOpacity: 0.5,
        }),
        Plot.line(steps, { x: "when", y: "speedup", curve: "step-after", stroke: "var(--series-0)", strokeWidth: 2 }),
        Plot.dot(
          points.filter((point) => !point.flagged),
          { x: "when", y: "speedup", r: 3.5, fill: "var(--o-right)", fillOpacity: 0.8 },
        ),
        Plot.dot(
          points.filter((point) => point.flagged),
          { x: "when", y: "speedup", r: 4.5, symbol: "diamond", fill: "var(--o-flagged)" },
        ),
        tips(points, { x: (point) => point.when, y: (point) => point.speedup, title: (point) => point.lines }),
      ],
    }),
  }).element;
}

const entriesLow = (context: PageContext, point: Point) => context.catalog.entries.low[point.row];
const entriesHigh = (context: PageContext, point: Point) => context.catalog.entries.high[point.row];
