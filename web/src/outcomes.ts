// Verdicts (docs/reference/evaluation.md) by what they mean to a reader: a letter, a word and a colour each. The colour is the
// class "outcome-KEY" (style.css), the letter carries the meaning where there is none.
import { h } from "./dom.ts";
import type { Catalog, RunLine } from "./documents.ts";

export interface Outcome {
  key: string;
  letter: string;
  word: string;
  meaning: string;
}

const outcome = (key: string, letter: string, word: string, meaning: string): Outcome => ({
  key,
  letter,
  word,
  meaning,
});

// In the order of legends and stacked bars.
export const outcomes: Outcome[] = [
  outcome("right", "R", "right", "correct on every input"),
  outcome("flagged", "F", "flagged", "tampered with its judge, or its time is in doubt"),
  outcome("wrong", "W", "wrong", "other numbers, another shape, or not finite"),
  outcome("build", "B", "build", "could not be built or loaded"),
  outcome("crash", "C", "crash", "crashed or raised while it ran"),
  outcome("slow", "S", "slow", "not done within the time limit"),
  outcome("memory", "M", "memory", "ran out of memory"),
  outcome("rejected", "T", "rejected text", "rejected by its text, before it ran"),
  outcome("empty", "E", "empty", "nothing to run"),
  outcome("infrastructure", "I", "infrastructure", "the engine failed, not the candidate"),
];

const byKey = new Map(outcomes.map((each) => [each.key, each]));
const keyOfVerdict = new Map<string, string>([
  ["correct", "right"],
  ["tampered", "flagged"],
  ["incorrect", "wrong"],
  ["wrong_form", "wrong"],
  ["non_finite", "wrong"],
  ["build_failed", "build"],
  ["load_failed", "build"],
  ["crashed", "crash"],
  ["timed_out", "slow"],
  ["out_of_memory", "memory"],
  ["static_rejected", "rejected"],
  ["not_run", "empty"],
  ["infrastructure", "infrastructure"],
]);

export function outcomeOfVerdict(verdict: string): Outcome {
  return byKey.get(keyOfVerdict.get(verdict) ?? "infrastructure")!;
}

export function outcomeOfRow(catalog: Catalog, row: number): Outcome {
  const verdict = catalog.values.verdict[catalog.entries.verdict[row]!] ?? "";
  const flagged = verdict === "correct" && (catalog.entries.flags[row]?.length ?? 0) > 0;
  return flagged ? byKey.get("flagged")! : outcomeOfVerdict(verdict);
}

// A run's line counts verdicts; which of the correct ones are flagged, its entries say.
export function outcomesOfRun(catalog: Catalog, line: RunLine): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [verdict, count] of Object.entries(line.verdicts)) {
    const { key } = outcomeOfVerdict(verdict);
    if (count > 0) counts.set(key, (counts.get(key) ?? 0) + count);
  }
  const right = counts.get("right") ?? 0;
  const flagged = Math.min(right, flaggedOf(catalog).get(line.run) ?? 0);
  if (flagged > 0) counts.set("flagged", (counts.get("flagged") ?? 0) + flagged);
  if (flagged > 0 && flagged === right) counts.delete("right");
  else if (flagged > 0) counts.set("right", right - flagged);
  return counts;
}

const flaggedRuns = new WeakMap<Catalog, Map<string, number>>();

// By run: those that count, are correct and flagged.
function flaggedOf(catalog: Catalog): Map<string, number> {
  let counts = flaggedRuns.get(catalog);
  if (counts) return counts;
  flaggedRuns.set(catalog, (counts = new Map()));
  const { entries, values } = catalog;
  for (let row = 0; row < entries.id.length; ++row) {
    if (!entries.counts[row] || values.verdict[entries.verdict[row]!] !== "correct") continue;
    const run = values.run[entries.run[row]!] ?? "";
    if (entries.flags[row]!.length > 0) counts.set(run, (counts.get(run) ?? 0) + 1);
  }
  return counts;
}

// "incorrect" as words: "out of memory".
export const verdictWords = (verdict: string): string => verdict.replaceAll("_", " ");

// The letter on its colour, and the word (by default the outcome's own).
export function outcomeChip(of: Outcome, word: string | null = of.word): HTMLElement {
  return h(
    "span",
    { class: "chip" },
    h("span", { class: `letter outcome-${of.key}`, title: of.meaning, "aria-hidden": word !== null }, of.letter),
    word === null ? h("span", { class: "hidden" }, of.word) : word,
  );
}

// With counts, only those that occur; `link` gives the address of an outcome's entries.
export function outcomeLegend(
  counts: Map<string, number> | null = null,
  link: ((key: string) => string) | null = null,
): HTMLElement {
  const shown = outcomes.filter((each) => counts === null || (counts.get(each.key) ?? 0) > 0);
  return h(
    "ul",
    { class: "legend", "aria-label": "Outcomes" },
    shown.map((each) => {
      const chip = outcomeChip(each, counts === null ? each.word : `${counts.get(each.key)} ${each.word}`);
      return h("li", { title: each.meaning }, link ? h("a", { href: link(each.key) }, chip) : chip);
    }),
  );
}

export function countOutcomes(catalog: Catalog, rows: Iterable<number>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const { key } = outcomeOfRow(catalog, row);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

// A bar of the outcomes' shares; its text alternative is the list of counts.
export function outcomeBar(counts: Map<string, number>): HTMLElement {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const there = outcomes.filter((each) => (counts.get(each.key) ?? 0) > 0);
  const words = there.map((each) => `${counts.get(each.key)} ${each.word}`).join(", ");
  return h(
    "span",
    { class: "bar", role: "img", "aria-label": words || "nothing yet", title: words },
    there.map((each) => {
      const part = h(
        "span",
        { class: `outcome-${each.key}` },
        counts.get(each.key)! / total > 0.12 ? each.letter : null,
      );
      part.style.flexGrow = String(counts.get(each.key));
      return part;
    }),
  );
}
