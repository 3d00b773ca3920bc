// Rows of the catalog (indices of its entries) by filters, which are kept in the address.
import type { Catalog, ProblemLine } from "./documents.ts";
import { outcomeOfRow } from "./outcomes.ts";

// Those with several values let pass what has any of them; an empty list lets everything pass.
const lists = [
  "run",
  "model",
  "device",
  "level",
  "deck",
  "problem",
  "size",
  "verdict",
  "outcome",
  "authorship",
  "baseline",
  "protocol",
  "backend",
  "flag",
] as const;
const words = ["from", "to", "text"] as const;
export type ListKey = (typeof lists)[number];
export type Filters = Record<ListKey, string[]> & Record<(typeof words)[number], string> & { all: boolean };
export const filterKeys: readonly string[] = [...lists, ...words, "all"];

// `from` and `to` are days of the viewer's zone, both inclusive; `text` is looked for in names; `all` also shows
// evaluations that a newer one of the same sample replaces.
export function filtersOf(query: URLSearchParams): Filters {
  const filters = { all: query.get("all") === "1" } as Filters;
  for (const key of lists) filters[key] = query.getAll(key);
  for (const key of words) filters[key] = query.get(key) ?? "";
  return filters;
}

export function isFiltered(filters: Filters, except: string[] = []): boolean {
  return (
    lists.some((key) => !except.includes(key) && filters[key].length > 0) ||
    words.some((key) => !except.includes(key) && filters[key] !== "")
  );
}

// For a link: only what is set.
export function queryOfFilters(filters: Partial<Filters>): URLSearchParams {
  const query = new URLSearchParams();
  for (const key of lists) for (const value of filters[key] ?? []) query.append(key, value);
  for (const key of words) if (filters[key]) query.set(key, filters[key]);
  if (filters.all) query.set("all", "1");
  return query;
}

export function deviceLabel(device: { kind: string; name: string } | undefined): string {
  if (!device || device.kind === "") return "";
  return device.name === "" ? device.kind : `${device.name} (${device.kind})`;
}

export const modelLabel = (model: string): string => (model === "" ? "(no model)" : model);
export const runLabel = (run: string): string => (run === "" ? "(no run)" : run);

// What is derived of a catalog once.
export interface CatalogIndex {
  problems: Map<string, ProblemLine>;
  rowOfId: Map<string, number>;
  lower: (string | undefined)[]; // by row: what `text` is looked for in
}

const indices = new WeakMap<Catalog, CatalogIndex>();

export function indexOf(catalog: Catalog): CatalogIndex {
  let index = indices.get(catalog);
  if (!index) {
    const problems = new Map(catalog.problems.map((line) => [line.problem, line]));
    index = {
      problems,
      rowOfId: new Map(catalog.entries.id.map((id, row) => [id, row])),
      lower: [],
    };
    indices.set(catalog, index);
  }
  return index;
}

export function problemTitle(catalog: Catalog, problem: string): string {
  return indexOf(catalog).problems.get(problem)?.title ?? "";
}

// The index of an evaluation in the catalog, or undefined.
export const rowOfId = (catalog: Catalog, id: string): number | undefined => indexOf(catalog).rowOfId.get(id);

function textOfRow(catalog: Catalog, index: CatalogIndex, row: number): string {
  const { entries, values } = catalog;
  const problem = values.problem[entries.problem[row]!]!;
  return (index.lower[row] ??= [
    entries.id[row],
    values.run[entries.run[row]!],
    values.model[entries.model[row]!],
    problem,
    index.problems.get(problem)?.title,
    entries.candidate[row],
  ]
    .join("\n")
    .toLowerCase());
}

function startOfDay(day: string, after: number): number | null {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day);
  if (!parts) return null;
  return new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + after).getTime() / 1000;
}

// A mask over values: which of them pass; null: all.
function mask(values: string[], wanted: string[]): Uint8Array | null {
  if (wanted.length === 0) return null;
  const set = new Set(wanted);
  return Uint8Array.from(values, (value) => (set.has(value) ? 1 : 0));
}

function both(a: Uint8Array | null, b: Uint8Array | null): Uint8Array | null {
  return a && b ? a.map((pass, at) => pass & b[at]!) : (a ?? b);
}

// In the catalog's order, newest last.
export function selectRows(catalog: Catalog, filters: Filters): number[] {
  const { entries, values } = catalog;
  const index = indexOf(catalog);
  const ofProblem = (key: "level" | "deck") =>
    mask(
      values.problem.map((problem) => index.problems.get(problem)?.[key] ?? "other"),
      filters[key],
    );
  const masks: [number[], Uint8Array | null][] = [
    [entries.run, mask(values.run, filters.run)],
    [entries.model, mask(values.model, filters.model)],
    [entries.device, mask(values.device.map(deviceLabel), filters.device)],
    [entries.problem, both(mask(values.problem, filters.problem), both(ofProblem("level"), ofProblem("deck")))],
    [entries.size, mask(values.size, filters.size)],
    [entries.verdict, mask(values.verdict, filters.verdict)],
    [entries.authorship, mask(values.authorship, filters.authorship)],
    [entries.baseline, mask(values.baseline, filters.baseline)],
    [entries.protocol, mask(values.protocol, filters.protocol)],
    [entries.backend, mask(values.backend, filters.backend)],
  ];
  const active = masks.filter((each): each is [number[], Uint8Array] => each[1] !== null);
  const flag = mask(values.flag, filters.flag);
  const outcome = filters.outcome.length > 0 ? new Set(filters.outcome) : null;
  const from = startOfDay(filters.from, 0) ?? -Infinity;
  const to = startOfDay(filters.to, 1) ?? Infinity;
  const terms = filters.text
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  const rows: number[] = [];
  for (let row = 0; row < entries.id.length; ++row) {
    if (!filters.all && !entries.counts[row]) continue;
    if (!active.every(([column, pass]) => pass[column[row]!] === 1)) continue;
    const created = entries.created[row]!;
    if (created < from || created >= to) continue;
    if (flag && !entries.flags[row]!.some((each) => flag[each] === 1)) continue;
    if (outcome && !outcome.has(outcomeOfRow(catalog, row).key)) continue;
    if (terms.length > 0) {
      const text = textOfRow(catalog, index, row);
      if (!terms.every((term) => text.includes(term))) continue;
    }
    rows.push(row);
  }
  return rows;
}

// The values of a filter that occur in the catalog, with how many entries each has among `rows`.
export function valuesOf(catalog: Catalog, key: ListKey, rows: Iterable<number>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    for (const value of valuesOfRow(catalog, key, row)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

function valuesOfRow(catalog: Catalog, key: ListKey, row: number): string[] {
  const { entries, values } = catalog;
  if (key === "flag") return entries.flags[row]!.map((each) => values.flag[each]!);
  if (key === "outcome") return [outcomeOfRow(catalog, row).key];
  if (key === "device") return [deviceLabel(values.device[entries.device[row]!])];
  if (key === "level" || key === "deck") {
    return [indexOf(catalog).problems.get(values.problem[entries.problem[row]!]!)?.[key] ?? "other"];
  }
  return [values[key][entries[key][row]!]!];
}

// How a filter's value is called.
export function valueLabel(key: ListKey, value: string): string {
  if (key === "model") return modelLabel(value);
  if (key === "run") return runLabel(value);
  if (value === "") return key === "authorship" ? "not known" : "(none)";
  if (key === "verdict" || key === "flag") return value.replaceAll("_", " ");
  return value;
}
