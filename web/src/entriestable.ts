// The table of entries, used by several pages.
import type { Catalog } from "./documents.ts";
import { h, type Child } from "./dom.ts";
import { outcomeChip, outcomeOfRow, verdictWords } from "./outcomes.ts";
import type { PageContext } from "./page.ts";
import { deviceLabel, indexOf, modelLabel, problemTitle } from "./rows.ts";
import { addressOf } from "./router.ts";
import { table, type Column, type Table } from "./table.ts";
import { dateElement, formatInterval, formatShare, formatSpeedup, formatTime, none, oneLine } from "./text.ts";

export interface EntriesTableOptions {
  caption: string;
  empty: Child;
  without?: string[]; // keys of columns
  name?: string;
  sort?: string;
}

// Of what the engine failed at: it has a page, and no document.
export const isJob = (id: string): boolean => id.startsWith("job-");

export const entryLink = (id: string, label: Child): HTMLElement => h("a", { href: addressOf("entry", [id]) }, label);

export function entriesTable(context: PageContext, rows: number[], options: EntriesTableOptions): Table<number> {
  const columns = columnsOf(() => context.catalog).filter((column) => !options.without?.includes(column.key));
  return table(context, {
    caption: options.caption,
    columns,
    rows,
    empty: options.empty,
    name: options.name,
    sort: options.sort ?? "-created",
    rowClass: (row) => (context.catalog.entries.counts[row] ? null : "replaced"),
  });
}

function columnsOf(catalog: () => Catalog): Column<number>[] {
  const entries = () => catalog().entries;
  const values = () => catalog().values;
  const problem = (row: number) => values().problem[entries().problem[row]!]!;
  const verdict = (row: number) => values().verdict[entries().verdict[row]!]!;
  const model = (row: number) => values().model[entries().model[row]!]!;
  const deviceOf = (row: number) => values().device[entries().device[row]!];
  const flags = (row: number) => entries().flags[row]!.map((flag) => values().flag[flag]!);
  return [
    {
      key: "verdict",
      title: "Verdict",
      sort: verdict,
      csv: { ID: (row) => entries().id[row]!, Run: (row) => values().run[entries().run[row]!]!, Verdict: verdict },
      cell: (row) =>
        entryLink(entries().id[row]!, outcomeChip(outcomeOfRow(catalog(), row), verdictWords(verdict(row)))),
    },
    {
      key: "speedup",
      title: "Speedup",
      number: true,
      descending: true,
      help: "baseline's time over the candidate's, with its 95% interval",
      sort: (row) => entries().speedup[row]!,
      csv: speedupValues(catalog, (row) => row),
      cell: (row) => speedupCell(catalog(), row),
    },
    {
      key: "problem",
      title: "Problem",
      clip: true,
      sort: problem,
      cell: (row) => problemLink(catalog(), problem(row)),
    },
    {
      key: "size",
      title: "Size",
      secondary: true,
      sort: (row) => values().size[entries().size[row]!]!,
      cell: (row) => oneLine(values().size[entries().size[row]!]!),
    },
    { key: "model", title: "Model", clip: true, sort: model, cell: (row) => oneLine(modelLabel(model(row)), 40) },
    {
      key: "candidate",
      title: "Candidate",
      tertiary: true,
      clip: true,
      sort: (row) => entries().candidate[row]!,
      csv: { Sample: (row) => entries().sample[row]!, Candidate: (row) => entries().candidate[row]! },
      cell: (row) =>
        h(
          "span",
          { title: oneLine(entries().candidate[row]!, 400) },
          entries().sample[row] !== null
            ? `sample ${entries().sample[row]}`
            : oneLine(shortPath(entries().candidate[row]!), 36),
        ),
    },
    {
      key: "candidate_us",
      title: "Time",
      number: true,
      secondary: true,
      help: "of the candidate, against its baseline's",
      sort: (row) => entries().candidate_us[row]!,
      csv: {
        "Time (µs)": (row) => entries().candidate_us[row]!,
        Baseline: (row) => values().baseline[entries().baseline[row]!]!,
        "Baseline (µs)": (row) => entries().baseline_us[row]!,
      },
      cell: (row) =>
        entries().candidate_us[row] === null
          ? none
          : h(
              "span",
              {
                title: `baseline (${oneLine(values().baseline[entries().baseline[row]!]!)}): ${formatTime(entries().baseline_us[row])}`,
              },
              formatTime(entries().candidate_us[row]),
            ),
    },
    {
      key: "fraction",
      title: "Of limit",
      number: true,
      secondary: true,
      optional: true,
      descending: true,
      help: "share of the speed of light: of the least time that memory and arithmetic allow",
      sort: (row) => entries().fraction[row]!,
      cell: (row) => formatShare(entries().fraction[row]),
    },
    {
      key: "own",
      title: "Own work",
      number: true,
      tertiary: true,
      optional: true,
      descending: true,
      help: "share of the candidate's time that is in its own kernels",
      sort: (row) => entries().own[row]!,
      cell: (row) => formatShare(entries().own[row]),
    },
    {
      key: "flags",
      title: "Flags",
      secondary: true,
      optional: true,
      sort: (row) => flags(row).length || null,
      csv: { Flags: (row) => flags(row).join(" ") },
      descending: true,
      cell: (row) => flags(row).map((flag) => h("span", { class: "flag" }, flag.replaceAll("_", " "))),
    },
    {
      key: "device",
      title: "Device",
      secondary: true,
      varied: true,
      clip: true,
      sort: (row) => deviceLabel(deviceOf(row)),
      cell: (row) =>
        h(
          "span",
          { title: deviceLabel(deviceOf(row)) },
          oneLine(deviceOf(row)?.name || deviceOf(row)?.kind || none, 28),
        ),
    },
    {
      key: "protocol",
      title: "Protocol",
      tertiary: true,
      varied: true,
      sort: (row) => values().protocol[entries().protocol[row]!]!,
      cell: (row) => oneLine(values().protocol[entries().protocol[row]!]!, 28),
    },
    {
      key: "created",
      title: "When",
      descending: true,
      sort: (row) => entries().created[row]!,
      csv: { When: (row) => isoDate(entries().created[row]!) },
      cell: (row) => dateElement(entries().created[row]),
    },
  ];
}

export const isoDate = (seconds: number): string => new Date(seconds * 1000).toISOString();

// Of a file: a speedup and its interval, of the entry at `of`.
export const speedupValues = <Row>(
  catalog: () => Catalog,
  of: (row: Row) => number | null,
  title = "Speedup",
): Record<string, (row: Row) => number | null> => {
  const value = (key: "speedup" | "low" | "high") => (row: Row) => {
    const at = of(row);
    return at === null ? null : catalog().entries[key][at]!;
  };
  return { [title]: value("speedup"), Low: value("low"), High: value("high") };
};

// Its number and its title.
export function problemLink(catalog: Catalog, problem: string): HTMLElement {
  const title = oneLine(problemTitle(catalog, problem), 200);
  return h(
    "a",
    { href: addressOf("problem", [problem]), title },
    oneLine(problem, 40),
    " ",
    h("span", { class: "muted" }, title),
  );
}

export const shortPath = (path: string): string => path.split("/").slice(-2).join("/");

export function speedupCell(catalog: Catalog, row: number): Child {
  const { entries } = catalog;
  if (entries.speedup[row] === null) return h("span", { class: "muted" }, none);
  return h(
    "span",
    { class: "speedup" },
    h("b", {}, formatSpeedup(entries.speedup[row])),
    " ",
    h("span", { class: "muted" }, formatInterval(entries.low[row], entries.high[row])),
  );
}

// What "Download JSON" gives of rows: an object each, with names in place of numbers.
export function rowsAsJson(catalog: Catalog, rows: number[]): unknown[] {
  const { entries, values } = catalog;
  const index = indexOf(catalog);
  return rows.map((row) => {
    const problem = values.problem[entries.problem[row]!]!;
    return {
      id: entries.id[row],
      created: new Date(entries.created[row]! * 1000).toISOString(),
      run: values.run[entries.run[row]!],
      model: values.model[entries.model[row]!],
      sample: entries.sample[row],
      candidate: entries.candidate[row],
      problem,
      level: index.problems.get(problem)?.level ?? "other",
      size: values.size[entries.size[row]!],
      device: values.device[entries.device[row]!]?.kind,
      device_name: values.device[entries.device[row]!]?.name,
      protocol: values.protocol[entries.protocol[row]!],
      baseline: values.baseline[entries.baseline[row]!],
      verdict: values.verdict[entries.verdict[row]!],
      speedup: entries.speedup[row],
      speedup_interval: entries.low[row] === null ? null : [entries.low[row], entries.high[row]],
      baseline_us: entries.baseline_us[row],
      candidate_us: entries.candidate_us[row],
      fraction: entries.fraction[row],
      authorship: values.authorship[entries.authorship[row]!],
      own: entries.own[row],
      backend: values.backend[entries.backend[row]!],
      flags: entries.flags[row]!.map((flag) => values.flag[flag]),
      counts: entries.counts[row],
    };
  });
}
