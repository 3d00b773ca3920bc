// The picture of rounds: a mark for each call, the candidate's and the baseline's.
import * as Plot from "@observablehq/plot";
import type { JsonObject } from "../documents.ts";
import { chart, tips, type LegendItem } from "../plot.ts";
import { formatNumber, formatTime, oneLine, plural } from "../text.ts";
import { member, numberAt, objectAt, textAt } from "./read.ts";
import { baselineName, distributionMeans } from "./words.ts";

type Side = "candidate" | "baseline";

export interface Call {
  round: number;
  side: Side;
  us: number;
  state: "counts" | "not scored" | "void";
  why: string;
  distribution: string;
}

export function callsOf(sample: JsonObject): Call[] {
  const why = textAt(sample, "void");
  const scored = member(sample, "scored") === true;
  const round = numberAt(sample, "index") ?? 0;
  const state = why !== "" ? "void" : scored ? "counts" : "not scored";
  return (["baseline", "candidate"] as const).flatMap((side): Call[] => {
    const us = numberAt(sample, `${side}_us`);
    return us === null || us <= 0
      ? []
      : [{ round, side, us, state, why, distribution: textAt(sample, "distribution") }];
  });
}

const kColours = { baseline: "var(--series-1)", candidate: "var(--series-0)" };
const kLogarithmic = 8; // from this ratio of the longest call to the shortest on

export function roundsChart(entry: JsonObject, samples: JsonObject[], calls: Call[]): HTMLElement {
  const times = calls.map((call) => call.us);
  const [least, most] = [Math.min(...times), Math.max(...times)];
  const unit = most >= 1e6 ? { us: 1e6, name: "s" } : most >= 1e3 ? { us: 1e3, name: "ms" } : { us: 1, name: "µs" };
  const voided = new Set(calls.filter((call) => call.state === "void").map((call) => call.round)).size;
  const rounds = plural(samples.length, "round");
  const device = oneLine(textAt(objectAt(entry, "device_info"), "name") || textAt(entry, "device"), 80);
  return chart({
    title: "Time of each round",
    name: `rounds-${textAt(entry, "id")}`,
    label: () => `Times of ${rounds}, ${formatTime(least)} to ${formatTime(most)}; ${voided} of them void.`,
    note: `${rounds} in the order of judging; ${device}. Hollow: compared, but not part of the speedup.`,
    legend: legendOf(entry, samples, calls),
    draw: (width) => ({
      width,
      height: 260,
      marginLeft: 56,
      x: {
        label: "round",
        domain: [-0.7, Math.max(...calls.map((call) => call.round)) + 0.7],
        ticks: Math.min(10, samples.length),
        tickFormat: "d",
      },
      y: { label: `time (${unit.name})`, grid: true, nice: false, ...scaleOf(least / unit.us, most / unit.us) },
      marks: marksOf(entry, samples, calls, unit.us),
    }),
    numbers: () => numbersOf(samples),
  }).element;
}

const stressedOf = (samples: JsonObject[]) => samples.filter((each) => textAt(each, "distribution") !== "natural");

function mediansOf(entry: JsonObject): { side: Side; us: number }[] {
  return (["baseline", "candidate"] as const).flatMap((side) => {
    const us = numberAt(entry, `${side}_us`);
    return us === null ? [] : [{ side, us }];
  });
}

function legendOf(entry: JsonObject, samples: JsonObject[], calls: Call[]): LegendItem[] {
  const muted = "var(--plot-muted)";
  const items: LegendItem[] = [
    { label: "candidate", color: kColours.candidate, symbol: "circle" },
    { label: baselineName(textAt(entry, "baseline")), color: kColours.baseline, symbol: "square" },
  ];
  if (mediansOf(entry).length > 0) items.push({ label: "what counts of each (median)", color: muted, dash: "4 3" });
  if (calls.some((call) => call.state === "void")) items.push({ label: "void", color: "transparent", glyph: "✕" });
  if (stressedOf(samples).length > 0)
    items.push({ label: "other inputs than the natural ones", color: muted, opacity: 0.25 });
  return items;
}

function scaleOf(least: number, most: number): Plot.ScaleOptions {
  if (most / least <= kLogarithmic) return { type: "linear", domain: [0, most * 1.05] };
  const [from, to] = [least / 1.3, most * 1.3];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to) && ticks.length < 30; ++power) {
    ticks.push(...[1, 2, 5].map((each) => each * 10 ** power).filter((tick) => tick >= from && tick <= to));
  }
  return { type: "log", domain: [from, to], ticks, tickFormat: (tick: number) => String(Number(tick.toPrecision(1))) };
}

function marksOf(entry: JsonObject, samples: JsonObject[], calls: Call[], unit: number): Plot.Markish[] {
  const is = (state: Call["state"]) => calls.filter((call) => call.state === state);
  const y = (call: Call) => call.us / unit;
  const colour = (call: Call) => kColours[call.side];
  const symbol = (call: Call) => (call.side === "candidate" ? "circle" : "square");
  const base = oneLine(baselineName(textAt(entry, "baseline")), 60);
  const edge = (side: number) => (sample: JsonObject) => (numberAt(sample, "index") ?? 0) + side;
  return [
    Plot.rect(stressedOf(samples), { x1: edge(-0.5), x2: edge(0.5), fill: "var(--plot-muted)", fillOpacity: 0.1 }),
    Plot.ruleY(mediansOf(entry), {
      y: (median: { us: number }) => median.us / unit,
      stroke: (median: { side: Side }) => kColours[median.side],
      strokeDasharray: "4 3",
    }),
    Plot.dot(is("counts"), { x: "round", y, fill: colour, symbol, r: 3.5 }),
    Plot.dot(is("not scored"), { x: "round", y, stroke: colour, symbol, r: 3.2 }),
    Plot.dot(is("void"), { x: "round", y, stroke: colour, symbol: "times", r: 4, strokeWidth: 1.6 }),
    tips(calls, {
      x: (call) => call.round,
      y,
      title: (call) => [
        `round ${call.round}: ${call.side === "candidate" ? "candidate" : base} ${formatTime(call.us)}`,
        distributionMeans(call.distribution),
        call.state === "void" ? `void: ${call.why}` : call.state,
      ],
    }),
  ];
}

function numbersOf(samples: JsonObject[]) {
  const counts = (sample: JsonObject) => {
    const why = textAt(sample, "void");
    return why !== "" ? `void: ${why}` : member(sample, "scored") === true ? "yes" : "not scored";
  };
  return {
    head: ["round", "inputs", "weights", "candidate", "baseline", "ratio", "error over allowed", "counts"],
    rows: samples.map((sample) => [
      numberAt(sample, "index") ?? "–",
      textAt(sample, "distribution"),
      numberAt(sample, "weights") ?? "–",
      formatTime(numberAt(sample, "candidate_us")),
      formatTime(numberAt(sample, "baseline_us")),
      formatNumber(numberAt(sample, "ratio"), 4),
      member(sample, "worst") === "inf" ? "∞" : formatNumber(numberAt(sample, "worst")),
      counts(sample),
    ]),
  };
}
