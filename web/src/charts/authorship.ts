// Who did the work of the correct candidates.
import * as Plot from "@observablehq/plot";
import type { LegendItem } from "../plot.ts";
import { chart, noChart, tips } from "../plot.ts";
import type { RunView } from "../run_view.ts";
import { viewNote } from "../run_view.ts";
import { formatShare } from "../text.ts";
import { fitted, labelMargin } from "./shares.ts";

const classes = [
  { key: "custom", label: "custom: its own kernels alone", color: "var(--series-2)", glyph: "c" },
  { key: "mixed", label: "mixed: its own kernels and a library's", color: "var(--series-0)", glyph: "m" },
  { key: "library", label: "library: a library's kernels", color: "var(--series-1)", glyph: "l" },
  { key: "", label: "not known", color: "var(--series-5)", glyph: "?" },
];

interface Part {
  model: string;
  key: string;
  glyph: string;
  label: string;
  color: string;
  from: number;
  to: number;
  count: number;
  total: number;
  own: number | null;
}

export function authorshipChart(view: RunView): HTMLElement {
  const title = "Whose work the correct candidates are";
  const parts = view.models.flatMap((model) => {
    const correct = model.outcomes.filter((outcome) => outcome.correct);
    let from = 0;
    return classes.flatMap(({ key, label, color, glyph }): Part[] => {
      const known = classes.some((each) => each.key !== "" && each.key === key);
      const of = correct.filter(({ authorship }) => (known ? authorship === key : !classes.some((each) => each.key !== "" && each.key === authorship)));
      if (!of.length) return [];
      const shares = of.flatMap(({ own }) => (own === null ? [] : [own]));
      const part = { model: model.label, key, glyph, label, color, from, to: from + of.length / correct.length, count: of.length, total: correct.length,
        own: shares.length ? shares.reduce((sum, share) => sum + share, 0) / shares.length : null };
      from = part.to;
      return [part];
    });
  });
  if (!parts.length) return noChart(title, "No candidate in view is correct.");
  const models = [...new Set(parts.map(({ model }) => model))];
  const legend: LegendItem[] = classes.filter(({ key }) => parts.some((part) => part.key === key)).map(({ label, color, glyph }) => ({ label, color, glyph, opacity: 0.55 }));
  const words = (part: Part) => `${part.count} of ${part.total} (${formatShare(part.count / part.total)})`;
  return chart({
    title, legend, name: `${view.file}-authorship`,
    label: `${title}. ${parts.map((part) => `${part.model}, ${part.label}: ${words(part)}`).slice(0, 60).join("; ")}.`,
    note: `Share of the correct candidates, one a problem, by what ran in observed calls. ${viewNote(view)}`,
    numbers: () => ({ head: ["Model", "Authorship", "Correct candidates", "Mean share of own time"], rows: parts.map((part) => [part.model, part.label, words(part), formatShare(part.own)]) }),
    draw: (width) => {
      const marginLeft = labelMargin(models, width);
      return {
        width, height: models.length * 28 + 40, marginLeft, marginRight: 16, marginTop: 6, marginBottom: 34,
        x: { domain: [0, 1], label: "share of correct candidates", tickFormat: (share: number) => formatShare(share), ticks: 5 },
        y: { domain: models, label: null, tickSize: 0, tickFormat: (name: string) => fitted(name, marginLeft) },
        marks: [
          Plot.barX(parts, { x1: "from", x2: "to", y: "model", fill: "color", fillOpacity: 0.55, insetTop: 3, insetBottom: 3, insetRight: 1 }),
          Plot.text(parts.filter((part) => part.to - part.from > 0.06), { x: (part: Part) => (part.from + part.to) / 2, y: "model", text: (part: Part) => `${part.glyph} ${part.count}`, fontSize: 11 }),
          tips(parts, { x: (part) => (part.from + part.to) / 2, y: (part) => part.model, title: (part) => [part.model, part.label, words(part),
            part.own === null ? "share of own time not known" : `mean share of own time ${formatShare(part.own)}`] }),
        ],
      };
    },
  }).element;
}
