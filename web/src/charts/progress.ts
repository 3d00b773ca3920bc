// The best so far over turns, answers, time, tokens and money, with the last improvement marked.
import * as Plot from "@observablehq/plot";
import type { Child } from "../dom.ts";
import { h } from "../dom.ts";
import type { JsonObject } from "../documents.ts";
import { chart, noChart, seriesLegend, seriesStyle, tips } from "../plot.ts";
import { modelName } from "../run_view.ts";
import { formatCount, formatLarge, formatSeconds, formatSpeedup, formatUsd, plural } from "../text.ts";

interface Step {
  label: string;
  index: number;
  turn: number;
  x: number;
  best: number; // geometric mean over problems, an unsolved one counting as 1
  solved: number;
  problems: number;
  last: boolean; // the first turn that is within 1% of the largest
}

const axes = [
  { key: "turn", label: "turns", format: formatCount },
  { key: "answers", label: "answers", format: formatCount },
  { key: "seconds", label: "time of models and tools", format: formatSeconds },
  { key: "tokens", label: "tokens, of prompts and answers", format: formatLarge },
  { key: "cost_usd", label: "US$", format: formatUsd },
] as const;

export interface ProgressOptions {
  over: string;
  file: string;
  models: ReadonlySet<string> | null; // that are in view; null: all
  styles: ReadonlyMap<string, number>;
  setting: string; // in which its candidates were judged
  change(changes: Record<string, string | null>): void;
}

const title = "Best so far";
const number = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

function stepsOf(models: JsonObject[], key: string, options: ProgressOptions): Step[] {
  return models.flatMap((model) => {
    const name = String(model["model"] ?? "");
    const gain = number(model["last_gain"]);
    return ((model["steps"] ?? []) as JsonObject[]).flatMap((step): Step[] => {
      const x = number(step[key]);
      if (x === null) return [];
      return [{
        label: modelName(name), index: options.styles.get(name) ?? 0, turn: number(step["turn"]) ?? 0, x,
        best: number(step["best"]) ?? 1, solved: number(step["solved"]) ?? 0, problems: number(step["problems"]) ?? 0,
        last: gain !== null && step["turn"] === gain,
      }];
    });
  });
}

// From 0 on, about so many.
function wholeTicks(most: number, count: number): number[] {
  const step = Math.max(1, Math.ceil(most / Math.max(1, count)));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

function sayLast(models: JsonObject[]): Child[] {
  return models.map((model) => {
    const gain = number(model["last_gain"]);
    const slope = number(model["slope"]);
    const name = modelName(String(model["model"] ?? ""));
    const turns = ((model["steps"] ?? []) as JsonObject[]).map((step) => number(step["turn"]) ?? 0);
    if (gain !== null && turns.length > 1 && gain >= Math.max(...turns))
      return h("li", {}, `${name}: still improved by 1% and more in its last turn (${gain}), so that it is not known where it would have stopped.`);
    const grew = slope === null ? "" : ` In the last quarter of the turns the best grew by ${(slope * 100).toFixed(1)}% a turn.`;
    return h("li", {}, gain === null ? `${name}: no turn improved on the baseline (1×).` : `${name}: no improvement by 1% after turn ${gain}.${grew}`);
  });
}

export function progressChart(trajectory: JsonObject | null, options: ProgressOptions): HTMLElement {
  const models = ((trajectory?.["models"] ?? []) as JsonObject[])
    .filter((model) => !options.models || options.models.has(String(model["model"] ?? "")));
  if (!models.length) {
    return noChart(title, trajectory ? "No model in view answered in turns." :
      "There is no trajectory of these candidates: only a run that was generated has one (", h("code", {}, "kernelbench generate"), "), and it is shown on the page of that run.");
  }
  const known = axes.filter(({ key }) => stepsOf(models, key, options).length > 0);
  const axis = known.find(({ key }) => key === options.over) ?? known[0];
  const steps = axis ? stepsOf(models, axis.key, options) : [];
  if (!axis || !steps.some(({ solved }) => solved > 0))
    return noChart(title, "No problem was solved in any turn yet, so that there is no speedup that could grow.");
  const choice = h("select", { onchange: () => options.change({ over: choice.value }) },
    known.map(({ key, label }) => h("option", { value: key, selected: key === axis.key }, label)));
  const series = models.map((model) => ({ label: modelName(String(model["model"] ?? "")), index: options.styles.get(String(model["model"] ?? "")) ?? 0 }));
  const [low, high] = [Math.min(1, ...steps.map(({ best }) => best)), Math.max(1.1, ...steps.map(({ best }) => best))];
  const most = Math.max(...steps.map(({ x }) => x));
  const missing = axes.filter((each) => !known.includes(each)).map(({ label }) => label);
  const answers = models.reduce((sum, model) => sum + Math.max(0, ...((model["steps"] ?? []) as JsonObject[]).map((step) => number(step["answers"]) ?? 0)), 0);
  const heading = `${title}: geometric mean speedup over ${axis.label}`;
  const element = chart({
    title: heading, name: `${options.file}-best-so-far-${axis.key}`, legend: series.length > 1 ? seriesLegend(series, true) : [],
    controls: h("label", {}, "over", choice),
    label: `${heading}. ${models.map((model, i) => `${series[i]?.label}: last gain in turn ${model["last_gain"] ?? "–"}`).join("; ")}. At the end: ${series.map(({ label }) => {
      const end = steps.filter((step) => step.label === label).pop();
      return end ? `${label} ${formatSpeedup(end.best)}, ${end.solved} of ${end.problems} solved` : "";
    }).join("; ")}.`,
    note: `Over the run's problems, each with its best so far; an unsolved one counts as 1×. The large mark is the last improvement by 1%. There is no interval: all of it is what this run did. ` +
      (missing.length ? `Not known of all answers: ${missing.join(", ")}. ` : "") +
      `Filters other than that of the model do not hold here. ${plural(answers, "answer")} · ${options.setting}.`,
    numbers: () => ({
      head: ["Model", "Turn", axis.label, "Best", "Solved", "Problems"],
      rows: steps.map((step) => [step.label, step.turn, axis.format(step.x), formatSpeedup(step.best), step.solved, step.problems]),
    }),
    draw: (width) => ({
      width, height: 300, marginLeft: 52, marginRight: 20, marginBottom: 38,
      x: { domain: [0, most * 1.03], label: axis.label, tickFormat: axis.format, ticks: ["turn", "answers"].includes(axis.key) ? wholeTicks(most, width / 60) : Math.max(2, Math.floor(width / 110)) },
      y: { type: "log", domain: [low / 1.03, high * 1.05], label: "best so far (log scale)", tickFormat: formatSpeedup, grid: true, ticks: 5 },
      marks: [
        Plot.ruleY([1], { stroke: "var(--plot-ink)", strokeDasharray: "4 3" }),
        ...series.flatMap(({ label, index }) => {
          const { color, dash, symbol } = seriesStyle(index);
          const of = steps.filter((step) => step.label === label);
          return [
            Plot.line(of, { x: "x", y: "best", curve: "step-after", stroke: color, strokeWidth: 2.25, strokeDasharray: dash }),
            Plot.dot(of, { x: "x", y: "best", r: 2.5, fill: color, symbol }),
            Plot.dot(of.filter(({ last }) => last), { x: "x", y: "best", r: 7, fill: color, symbol, stroke: "var(--plot-ink)", strokeWidth: 1.5 }),
          ];
        }),
        Plot.text(steps.filter(({ last }) => last), { x: "x", y: "best", dy: -14, text: (step: Step) => `last gain: turn ${step.turn}`, fontSize: 11,
          textAnchor: "middle", stroke: "var(--plot-surface)", fill: "var(--plot-ink)", strokeWidth: 3 }),
        tips(steps, { x: (step) => step.x, y: (step) => step.best, title: (step) => [step.label, `turn ${step.turn}: ${formatSpeedup(step.best)}`,
          `${axis.format(step.x)} ${axis.key === "turn" || axis.key === "seconds" || axis.key === "cost_usd" ? "" : axis.label}`, `${step.solved} of ${plural(step.problems, "problem")} solved`] }),
      ],
    }),
  }).element;
  element.append(h("ul", { class: "last-gains" }, sayLast(models)));
  return element;
}
