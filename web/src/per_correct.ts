// What a correct kernel cost: money and tokens of a model's answers over the correct kernels among them. Only where they
// are known of every answer.
import type { JsonObject } from "./documents.ts";
import { h } from "./dom.ts";
import type { Column } from "./table.ts";
import { formatLarge, formatUsd, none, plural } from "./text.ts";

export interface PerCorrect {
  count: number; // of correct kernels
  usd: number | null;
  tokens: number | null;
}

// Of a model in `score --json`.
export function perCorrectOf(model: JsonObject | null | undefined): PerCorrect | null {
  const spent = model?.["spent"] as JsonObject | null | undefined;
  const each = spent?.["each_correct"] as JsonObject | null | undefined;
  if (!each) return null;
  const number = (key: string) => (typeof each[key] === "number" ? (each[key] as number) : null);
  return { count: number("count") ?? 0, usd: number("usd"), tokens: number("tokens") };
}

// Where money is known of any of the rows, tokens stand on wide screens alone.
export function perCorrectColumns<Row>(of: (row: Row) => PerCorrect | null, rows: readonly Row[]): Column<Row>[] {
  const money = rows.some((row) => (of(row)?.usd ?? null) !== null);
  const column = (key: "usd" | "tokens", title: string, help: string, format: (value: number) => string): Column<Row> => ({
    key: `${key}_correct`,
    title,
    number: true,
    secondary: true,
    tertiary: key === "tokens" && money,
    optional: true,
    help,
    sort: (row) => of(row)?.[key] ?? null,
    cell: (row) => {
      const each = of(row);
      const value = each?.[key] ?? null;
      return value === null ? none : h("span", { title: plural(each!.count, "correct kernel") }, format(value));
    },
  });
  return [
    column("usd", "US$ / correct", "what all answers cost, over the correct kernels", formatUsd),
    column("tokens", "Tokens / correct", "read and written for all answers, over the correct kernels", formatLarge),
  ];
}
