// The tables of the leaderboard: models, and single entries, by place.
import { measureOf, type Line } from "./board.ts";
import { h, type Child } from "./dom.ts";
import { entryLink, isoDate, problemLink, speedupCell, speedupValues } from "./entriestable.ts";
import type { Score } from "./figures.ts";
import { countOutcomes, outcomeBar } from "./outcomes.ts";
import type { PageContext } from "./page.ts";
import { perCorrectColumns } from "./per_correct.ts";
import { placeLabel, placesOf, type Place } from "./places.ts";
import { modelLabel } from "./rows.ts";
import { addressOf } from "./router.ts";
import { settingKey } from "./samples.ts";
import { table, type Column, type Table } from "./table.ts";
import { dateElement, formatCount, formatInterval, formatShare, formatSpeedup, none, oneLine } from "./text.ts";

const share = (score: Score, p: number) => {
  const at = score.fast_p.find((each) => each.p === p);
  return (
    at &&
    h(
      "span",
      {
        title: `${at.count} of ${at.total}, 95% interval ${formatShare(at.interval?.[0])} to ${formatShare(at.interval?.[1])}`,
      },
      formatShare(at.value),
    )
  );
};
const shareValue = (score: Score, p: number) => score.fast_p.find((each) => each.p === p)?.value ?? null;

function valueCell(line: Line, measure: string): Child {
  if (line.value === null) return h("span", { class: "muted" }, none);
  const [value, interval] =
    measure === "geometric"
      ? [formatSpeedup(line.value), formatInterval(line.low, line.high)]
      : [formatShare(line.value, 1), `${formatShare(line.low, 1)} to ${formatShare(line.high, 1)}`];
  return h("span", { class: "speedup" }, h("b", {}, value), " ", h("span", { class: "muted" }, interval));
}

export function modelTable(context: PageContext, rows: Line[]): Table<Line> {
  const link = (line: Line) => addressOf("run", [], { model: line.model, setting: settingKey(line.group.setting) });
  const columns: Column<Line>[] = [
    {
      key: "compare",
      title: "Pick",
      help: "two of them to compare",
      csv: null,
      cell: (line) =>
        h("input", {
          type: "checkbox",
          name: "compare",
          value: line.model,
          "aria-label": `Compare ${oneLine(modelLabel(line.model))}`,
        }),
    },
    {
      key: "place",
      title: "Place",
      number: true,
      help: "from the best to the worst place that its interval allows",
      sort: (line) => (line.place === null ? null : line.place.best * 1e6 + line.place.worst * 1e3 - (line.value ?? 0)),
      csv: { "Best place": (line) => line.place?.best ?? null, "Worst place": (line) => line.place?.worst ?? null },
      cell: (line) => placeLabel(line.place),
    },
    {
      key: "model",
      title: "Model",
      clip: true,
      sort: (line) => line.model,
      cell: (line) => h("a", { href: link(line) }, oneLine(modelLabel(line.model), 50)),
    },
    {
      key: "value",
      title: "Score",
      number: true,
      descending: true,
      help: "what is ranked by, with its interval",
      sort: (line) => line.value,
      csv: { Score: (line) => line.value, Low: (line) => line.low, High: (line) => line.high },
      cell: (line) => valueCell(line, measureOf(context)),
    },
    {
      key: "interval",
      title: "Interval",
      csv: null,
      secondary: true,
      tertiary: true,
      cell: (line) => intervalPicture(line, shown, measureOf(context)),
    },
    {
      key: "correct",
      title: "Correct",
      number: true,
      secondary: true,
      descending: true,
      sort: (line) => shareValue(line.score, 0),
      cell: (line) => share(line.score, 0),
    },
    {
      key: "fast_1",
      title: "fast_1",
      number: true,
      secondary: true,
      descending: true,
      sort: (line) => shareValue(line.score, 1),
      cell: (line) => share(line.score, 1),
    },
    {
      key: "geometric",
      title: "Geo. mean",
      number: true,
      secondary: true,
      descending: true,
      help: "of the speedups of what is correct, with its 95% interval",
      sort: (line) => line.score.geometric_mean,
      csv: {
        "Geo. mean": (line) => line.score.geometric_mean,
        "Geo. mean, low": (line) => line.score.geometric_mean_interval?.[0] ?? null,
        "Geo. mean, high": (line) => line.score.geometric_mean_interval?.[1] ?? null,
      },
      cell: (line) =>
        line.score.geometric_mean === null
          ? none
          : h(
              "span",
              { class: "speedup" },
              formatSpeedup(line.score.geometric_mean),
              " ",
              h(
                "span",
                { class: "muted" },
                formatInterval(line.score.geometric_mean_interval?.[0], line.score.geometric_mean_interval?.[1]),
              ),
            ),
    },
    ...perCorrectColumns((line: Line) => line.perCorrect, rows),
    {
      key: "problems",
      title: "Problems",
      number: true,
      secondary: true,
      descending: true,
      help: "missing: without a verdict or a time, so that the score is a range",
      sort: (line) => line.score.problems,
      csv: { Problems: (line) => line.score.problems, Missing: (line) => line.score.missing ?? 0 },
      cell: (line) => [
        formatCount(line.score.problems),
        (line.score.missing ?? 0) > 0 && h("span", { class: "muted" }, ` (${line.score.missing} missing)`),
      ],
    },
    {
      key: "outcomes",
      title: "Outcomes",
      help: "of all samples",
      secondary: true,
      cell: (line) => outcomeBar(countOutcomes(context.catalog, line.rows)),
    },
    {
      key: "flagged",
      title: "Flagged",
      number: true,
      secondary: true,
      descending: true,
      help: "samples that tampered, or whose time is in doubt",
      sort: (line) => line.flagged,
      cell: (line) =>
        line.flagged === 0
          ? "0"
          : h(
              "a",
              { href: addressOf("entries", [], { model: line.model, outcome: "flagged" }) },
              h("span", { class: "flag" }, String(line.flagged)),
            ),
    },
  ];
  let shown = rows;
  const made = table(context, {
    caption: "Models by place",
    columns,
    rows,
    empty: "No model passes these filters: take one off above.",
    sort: "place",
  });
  return {
    element: made.element,
    update: (next: Line[]) => {
      shown = next;
      made.update(next);
    },
  };
}

// Where the interval lies: shares from 0 to 1, speedups between the least and the largest of the board.
function intervalPicture(line: Line, all: Line[], measure: string): Child {
  if (line.value === null || line.low === null) return null;
  const log = measure === "geometric";
  const at = (value: number) => (log ? Math.log(value) : value);
  const least = log ? Math.min(...all.map((each) => at(each.low ?? each.value ?? 1))) : 0;
  const most = log ? Math.max(...all.map((each) => at(each.high ?? each.value ?? 1))) : 1;
  const place = (value: number) => `${Math.max(0, Math.min(100, ((at(value) - least) / (most - least || 1)) * 100))}%`;
  const range = h("span", { class: "range" });
  range.style.left = place(line.low);
  range.style.right = `calc(100% - ${place(line.high ?? Infinity)})`;
  const dot = h("span", { class: "dot" });
  dot.style.left = place(line.value);
  return h("span", { class: "where", "aria-hidden": true }, range, dot);
}

export function entriesTableByPlace(context: PageContext, first: number[]): Table<number> {
  const catalog = () => context.catalog;
  const of = (key: "model" | "problem" | "authorship", row: number) =>
    catalog().values[key][catalog().entries[key][row]!]!;
  let places = new Map<number, Place | null>();
  const place = (rows: number[]) => {
    const { speedup, low, high } = catalog().entries;
    const made = placesOf(rows.map((row) => ({ value: speedup[row]!, low: low[row]!, high: high[row]! })));
    places = new Map(rows.map((row, at) => [row, made[at] ?? null]));
    return rows;
  };
  const columns: Column<number>[] = [
    {
      key: "place",
      title: "Place",
      number: true,
      sort: (row) => (places.get(row)?.best ?? 1e9) * 1e6 - (catalog().entries.speedup[row] ?? 0),
      csv: {
        "Best place": (row) => places.get(row)?.best ?? null,
        "Worst place": (row) => places.get(row)?.worst ?? null,
        ID: (row) => catalog().entries.id[row]!,
      },
      cell: (row) => placeLabel(places.get(row) ?? null),
    },
    {
      key: "speedup",
      title: "Speedup",
      number: true,
      descending: true,
      sort: (row) => catalog().entries.speedup[row]!,
      csv: speedupValues(catalog, (row) => row),
      cell: (row) => entryLink(catalog().entries.id[row]!, speedupCell(catalog(), row)),
    },
    {
      key: "problem",
      title: "Problem",
      clip: true,
      sort: (row) => of("problem", row),
      cell: (row) => problemLink(catalog(), of("problem", row)),
    },
    {
      key: "model",
      title: "Model",
      clip: true,
      sort: (row) => of("model", row),
      cell: (row) => oneLine(modelLabel(of("model", row)), 50),
    },
    {
      key: "fraction",
      title: "Of limit",
      number: true,
      secondary: true,
      optional: true,
      descending: true,
      sort: (row) => catalog().entries.fraction[row]!,
      cell: (row) => formatShare(catalog().entries.fraction[row]),
    },
    {
      key: "authorship",
      title: "Authorship",
      secondary: true,
      sort: (row) => of("authorship", row),
      cell: (row) => of("authorship", row) || h("span", { class: "muted" }, "not known"),
    },
    {
      key: "flags",
      title: "Flags",
      descending: true,
      sort: (row) => catalog().entries.flags[row]!.length,
      csv: "text",
      cell: (row) =>
        catalog().entries.flags[row]!.map((flag) =>
          h("span", { class: "flag" }, catalog().values.flag[flag]!.replaceAll("_", " ")),
        ),
    },
    {
      key: "created",
      title: "When",
      secondary: true,
      descending: true,
      sort: (row) => catalog().entries.created[row]!,
      csv: { When: (row) => isoDate(catalog().entries.created[row]!) },
      cell: (row) => dateElement(catalog().entries.created[row]),
    },
  ];
  const made = table(context, {
    caption: "Entries by place",
    columns,
    rows: place(first),
    empty: "No entry with a speedup passes these filters: take one off above.",
    sort: "place",
  });
  return { element: made.element, update: (rows: number[]) => made.update(place(rows)) };
}
