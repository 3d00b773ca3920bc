// Model or run × problem: what became of each, and how fast it is. A click opens the entry.
import * as Plot from "@observablehq/plot";
import { h, type Child } from "../dom.ts";
import type { Outcome } from "../figures.ts";
import { measured } from "../figures.ts";
import { outcomeOfRow, outcomeOfVerdict, outcomes as outcomeKinds, verdictWords } from "../outcomes.ts";
import type { Chart, ChartElement, LegendItem, Walk } from "../plot.ts";
import { chart, tips } from "../plot.ts";
import { addressOf } from "../router.ts";
import type { ModelView, RunView } from "../run_view.ts";
import { partOf, partsOf, viewNote } from "../run_view.ts";
import { verdictOf } from "../samples.ts";
import { formatSpeedupWithInterval, formatTime, plural } from "../text.ts";
import { fitted, labelMargin } from "./shares.ts";

// How a correct candidate compares with its baseline.
export interface Pace {
  key: string;
  label: string;
  glyph: string;
  color: string;
}
const kFaster: Pace = { key: "faster", label: "surely faster: interval above 1", glyph: "▲", color: "var(--plot-faster)" };
const kEven: Pace = { key: "even", label: "not decided: interval holds 1, or there is none", glyph: "=", color: "var(--plot-even)" };
const kSlower: Pace = { key: "slower", label: "surely slower: interval below 1", glyph: "▽", color: "var(--plot-slower)" };
export const paces = [kFaster, kEven, kSlower];

export function paceOf(outcome: Outcome): Pace | null {
  if (!measured(outcome)) return null;
  if (outcome.low !== null && outcome.low > 1) return kFaster;
  if (outcome.high !== null && outcome.high < 1) return kSlower;
  return kEven;
}

export type Row = Pick<ModelView, "label" | "outcomes">;

export interface MatrixView extends Pick<RunView, "catalog" | "lines" | "file"> {
  models: Row[]; // or runs; labels differ
}

interface Cell {
  model: Row;
  outcome: Outcome;
  level: string;
  column: number;
  glyph: string;
  color: string;
  strength: number;
  flags: string[]; // what doubts it
}

// Twice as fast, or as slow, has two thirds of the colour.
const strengthOf = (speedup: number): number => 0.15 + 0.45 * Math.min(1, Math.abs(Math.log2(speedup)) / 3);

const colorOf = (key: string): string => (key === "right" ? "var(--plot-wrong)" : `var(--o-${key})`);

function cellsOf(view: MatrixView, byPace: boolean): { cells: Cell[]; columns: Map<string, string[]> } {
  const columns = new Map<string, string[]>();
  for (const level of partsOf(view, "deck")) columns.set(level, []);
  const problems = [...new Set(view.models.flatMap(({ outcomes }) => outcomes.map(({ problem }) => problem)))]
    .sort(new Intl.Collator("en", { numeric: true }).compare);
  for (const problem of problems) columns.get(partOf(view, problem, "deck"))?.push(problem);
  const places = new Map([...columns.values()].flatMap((names) => names.map((name, i) => [name, i] as const)));
  const { entries, values } = view.catalog;
  const cells = view.models.flatMap((model) => model.outcomes.map((outcome): Cell => {
    const flags = (outcome.entry === null ? [] : entries.flags[outcome.entry] ?? []).map((flag) => values.flag[flag] ?? "");
    const place = { model, outcome, flags, level: partOf(view, outcome.problem, "deck"), column: places.get(outcome.problem) ?? 0 };
    if (!byPace && outcome.entry !== null) {
      const { key, letter } = outcomeOfRow(view.catalog, outcome.entry);
      return { ...place, glyph: letter, color: `var(--o-${key})`, strength: 0.45 };
    }
    const pace = paceOf(outcome);
    if (pace) return { ...place, glyph: pace.glyph, color: pace.color, strength: pace === kEven ? 0.18 : strengthOf(outcome.speedup ?? 1) };
    if (outcome.entry === null) return { ...place, glyph: "…", color: "var(--plot-wrong)", strength: 0.1 };
    const { key, letter } = outcomeOfVerdict(verdictOf(view.catalog, outcome.entry));
    return { ...place, glyph: letter, color: colorOf(key), strength: outcome.correct ? 0.1 : 0.45 };
  }));
  return { cells, columns };
}

const isFlagged = ({ flags, outcome }: Cell): boolean => flags.length > 0 && measured(outcome);

function tipLines(view: MatrixView, { model, outcome, flags }: Cell): string[] {
  const line = view.lines.get(outcome.problem);
  const head = [`${outcome.problem}${line ? ` ${line.title}` : ""}`, model.label];
  if (outcome.entry === null) return [...head, "no verdict yet"];
  const { baseline_us, candidate_us } = view.catalog.entries;
  const verdict = verdictOf(view.catalog, outcome.entry).replaceAll("_", " ");
  if (!outcome.correct) return [...head, verdict];
  return [...head, `${verdict}, ${formatSpeedupWithInterval(outcome.speedup, outcome.low, outcome.high)}`,
    `baseline ${formatTime(baseline_us[outcome.entry])}, candidate ${formatTime(candidate_us[outcome.entry])}`,
    ...flags.map((flag) => `flagged: ${flag.replaceAll("_", " ")}`)];
}

function cellAt(cells: readonly Cell[], x: number, y: number, plot: ChartElement): Cell | undefined {
  const [across, down, facet] = [plot.scale("x"), plot.scale("y"), plot.scale("fy")];
  if (!across || !down || !facet) return undefined;
  return cells.find((cell) => {
    const above = topOf(cells, cell, facet, down);
    return x >= across.apply(cell.column - 0.5) && x < across.apply(cell.column + 0.5) && y >= above && y < above + (down.bandwidth ?? 0);
  });
}

function topOf(cells: readonly Cell[], { level, model }: Cell, facet: Plot.Scale, down: Plot.Scale): number {
  const first = Math.min(...cells.map((cell) => facet.apply(cell.level) as number));
  return (facet.apply(level) as number) - first + (down.apply(model.label) as number);
}

// Left and right along a model's problems, from level to level; up and down along the models of a problem.
function walkOf(view: MatrixView, cells: readonly Cell[], levels: readonly string[]): Walk {
  const models = view.models.filter((model) => cells.some((cell) => cell.model === model));
  const row = (model: Row | undefined) => cells.filter((cell) => cell.model === model)
    .sort((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level) || a.column - b.column);
  let at: Cell | undefined;
  return {
    step(across, down) {
      const from = at;
      const own = row(from?.model ?? models[0]);
      if (!from) at = own[0];
      else if (across) at = own[own.indexOf(from) + across] ?? from;
      else for (let next = models.indexOf(from.model) + down; models[next] && at === from; next += down)
        at = row(models[next]).find(({ outcome }) => outcome.problem === from.outcome.problem) ?? from;
      return at ? `${tipLines(view, at).join(" · ")}${entryAddress(view, at.outcome) ? ". Enter opens it." : ""}` : "";
    },
    box(plot) {
      const [across, down, facet] = [plot.scale("x"), plot.scale("y"), plot.scale("fy")];
      if (!at || !across || !down || !facet) return null;
      const x = across.apply(at.column - 0.5) as number;
      const y = topOf(cells, at, facet, down);
      return { x, y, width: (across.apply(at.column + 0.5) as number) - x, height: down.bandwidth ?? 0 };
    },
    open() {
      const address = at && entryAddress(view, at.outcome);
      if (address) location.hash = address;
    },
  };
}

function entryAddress(view: MatrixView, { entry }: Outcome): string | null {
  const id = entry === null ? undefined : view.catalog.entries.id[entry];
  return id && !id.startsWith("job-") ? addressOf("entry", [id]) : null;
}

function verdictCell(view: MatrixView, outcome: Outcome): string | HTMLAnchorElement {
  const verdict = outcome.entry === null ? "none yet" : verdictWords(verdictOf(view.catalog, outcome.entry));
  const href = entryAddress(view, outcome);
  return href === null ? verdict : h("a", { href }, verdict);
}

export const matrix = (view: RunView): Chart =>
  outcomeMatrix(view, {
    title: "What became of each problem, model × problem", rows: "Model", byPace: true, file: `${view.file}-problems`,
    note: `The stronger the colour, the further from 1×; letters: what a candidate without a time became. ${viewNote(view)}`,
  });

const paceLegend = (cells: readonly Cell[]): LegendItem[] => {
  const verdicts = new Set(cells.filter(({ outcome }) => !measured(outcome)).map(({ glyph }) => glyph));
  return [
    ...paces.map(({ label, glyph, color }) => ({ label, glyph, color, opacity: 0.4 })),
    ...outcomeKinds.filter(({ letter }) => verdicts.has(letter))
      .map(({ letter, word, key }) => ({ label: key === "right" ? "right, not timed" : word, glyph: letter, color: colorOf(key), opacity: key === "right" ? 0.1 : 0.45 })),
    ...(cells.some(isFlagged) ? [{ label: "framed: flagged, its time is in doubt", color: "var(--o-flagged)", glyph: "□", opacity: 0.15 }] : []),
    ...(verdicts.has("…") ? [{ label: "no verdict yet", glyph: "…", color: "var(--plot-wrong)", opacity: 0.1 }] : []),
  ];
};

const outcomeLegend = (cells: readonly Cell[]): LegendItem[] => {
  const letters = new Set(cells.map(({ glyph }) => glyph));
  return outcomeKinds.filter(({ letter }) => letters.has(letter))
    .map(({ letter, word, key }) => ({ label: word, glyph: letter, color: `var(--o-${key})`, opacity: 0.45 }));
};

export interface MatrixOptions {
  title: string;
  rows: string; // what a row is: "Model"
  byPace: boolean; // coloured by how fast what is correct is, else by the outcome alone
  file: string;
  note: string;
  controls?: Child;
}

export function outcomeMatrix(view: MatrixView, options: MatrixOptions): Chart {
  const { title, byPace } = options;
  const { cells, columns } = cellsOf(view, byPace);
  const models = view.models.map(({ label }) => label);
  const levels = [...columns.keys()];
  const widest = Math.max(1, ...[...columns.values()].map((names) => names.length));
  return chart({
    title, legend: byPace ? paceLegend(cells) : outcomeLegend(cells), name: options.file, controls: options.controls,
    label: `${title}: ${plural(models.length, options.rows.toLowerCase())}, ${[...columns].map(([level, names]) => `${names.length} problems of ${level}`).join(", ")}. The same stands in the table of entries.`,
    note: `Click a cell for its entry, or go by the arrow keys and Enter; Numbers has a link to each. ${options.note}`,
    least: 140 + widest * 10,
    numbers: () => ({
      head: [options.rows, "Problem", "Verdict", "Speedup"],
      rows: cells.map(({ model, outcome }) => [model.label, outcome.problem, verdictCell(view, outcome),
        outcome.correct ? formatSpeedupWithInterval(outcome.speedup, outcome.low, outcome.high) : "–"]),
    }),
    walk: walkOf(view, cells, levels),
    clickAt: (x, y, plot) => {
      const cell = cellAt(cells, x, y, plot);
      const address = cell && entryAddress(view, cell.outcome);
      if (address) location.hash = address;
    },
    draw: (width) => {
      const marginLeft = labelMargin(models, width);
      const step = Math.min(22, (width - marginLeft - 6) / widest);
      const rowHeight = Math.max(15, Math.min(20, step));
      const every = step >= 15 ? 1 : step < 12 ? 20 : 10;
      const label = (column: number, level: string) => (columns.get(level)?.[column] ?? "").replace(/^.*[/:]/, "");
      const ticks = levels.flatMap((level) => (columns.get(level) ?? [])
        .map((_, column) => ({ level, column })).filter(({ column }) => (column + 1) % every === 0));
      return {
        width, marginLeft, marginRight: 6, marginTop: 18, marginBottom: 4,
        height: 24 + levels.length * (models.length * rowHeight + 24),
        x: { type: "linear", domain: [-0.5, Math.max(widest, (width - marginLeft - 6) / 22) - 0.5], axis: null },
        y: { domain: models, label: null, tickSize: 0, tickFormat: (name: string) => fitted(name, marginLeft) },
        fy: { domain: levels, axis: null, padding: 0.2 },
        marks: [
          Plot.rect(cells, {
            fy: "level", x1: (cell: Cell) => cell.column - 0.5, x2: (cell: Cell) => cell.column + 0.5, y: (cell: Cell) => cell.model.label,
            fill: "color", fillOpacity: "strength", inset: 0.5,
          }),
          Plot.rect(byPace ? cells.filter(isFlagged) : [], {
            fy: "level", x1: (cell: Cell) => cell.column - 0.5, x2: (cell: Cell) => cell.column + 0.5, y: (cell: Cell) => cell.model.label,
            fill: "none", stroke: "var(--o-flagged)", strokeWidth: 1.75, inset: 1.25,
          }),
          Plot.text(cells, { fy: "level", x: "column", y: (cell: Cell) => cell.model.label, text: "glyph", fontSize: Math.min(10, Math.max(6, step * 0.62)) }),
          Plot.text(ticks, { fy: "level", x: "column", text: ({ column, level }: { column: number; level: string }) => label(column, level),
            frameAnchor: "top", dy: -9, fontSize: every === 1 ? 8 : 9, fill: "var(--plot-muted)" }),
          Plot.text(levels.map((level) => ({ level: level, name: fitted(level, marginLeft + 8) })), {
            fy: "level", text: "name", frameAnchor: "top-left", textAnchor: "start", dx: 6 - marginLeft, dy: -11, fontSize: 11, fontWeight: 600 }),
          tips(cells, { x: (cell) => cell.column, y: (cell) => cell.model.label, fy: (cell) => cell.level, title: (cell) => tipLines(view, cell) }),
        ],
      };
    },
  });
}
