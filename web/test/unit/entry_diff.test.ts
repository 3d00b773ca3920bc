// Differences of lines, by what they must be whatever the algorithm: applied to the one text they give the other.
import assert from "node:assert/strict";
import { test } from "node:test";
import { diffRows } from "../../src/entry/code_rows.ts";
import { diffLines, type Edit } from "../../src/entry/diff.ts";

function applied(edits: Edit[], old: string[], now: string[]): { old: string[]; now: string[] } {
  const result = { old: [] as string[], now: [] as string[] };
  for (const edit of edits) {
    const [before, after] = [old.slice(edit.old, edit.old + edit.count), now.slice(edit.now, edit.now + edit.count)];
    if (edit.kind === "same") assert.deepEqual(before, after);
    if (edit.kind !== "added") result.old.push(...before);
    if (edit.kind !== "removed") result.now.push(...after);
  }
  return result;
}

const changes = (edits: Edit[]) => edits.reduce((sum, edit) => sum + (edit.kind === "same" ? 0 : edit.count), 0);

test("edits lead from one text to the other", () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let turn = 0; turn < 400; ++turn) {
    const old = Array.from({ length: random(12) }, () => "abc"[random(3)]!);
    const now = Array.from({ length: random(12) }, () => "abc"[random(3)]!);
    const edits = diffLines(old, now);
    assert.deepEqual(applied(edits, old, now), { old, now }, `${old} ${now}`);
    assert.equal(changes(edits), old.length + now.length - 2 * longestCommon(old, now), `${old} ${now}`);
  }
});

function longestCommon(a: string[], b: string[]): number {
  const best = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; ++i) {
    for (let j = 1; j <= b.length; ++j) {
      best[i]![j] = a[i - 1] === b[j - 1] ? best[i - 1]![j - 1]! + 1 : Math.max(best[i - 1]![j]!, best[i]![j - 1]!);
    }
  }
  return best[a.length]![b.length]!;
}

test("texts that differ everywhere are replaced whole", () => {
  const [old, now] = ["a", "b"].map((name) => Array.from({ length: 20_000 }, (_, index) => `${name}${index}`));
  const edits = diffLines(old!, now!);
  assert.deepEqual(
    edits.map(({ kind, count }) => [kind, count]),
    [
      ["removed", 20_000],
      ["added", 20_000],
    ],
  );
});

test("rows show what changed, removed lines first, and leave out what did not", () => {
  const text = (middle: string[]) =>
    [...Array.from({ length: 20 }, (_, index) => `line ${index}`), ...middle, "end"].join("\n");
  const { rows, said } = diffRows(text(["old 1", "old 2"]), text(["new"]), "text", new Map(), false);
  const shown = rows.map((row) => row.mark + row.tokens.map((token) => token.text).join(""));
  assert.deepEqual(shown, [
    " ⋯ 17 unchanged lines",
    " line 17",
    " line 18",
    " line 19",
    "−old 1",
    "−old 2",
    "+new",
    " end",
  ]);
  assert.deepEqual(
    rows.slice(-4).map((row) => row.numbers),
    [
      ["21", ""],
      ["22", ""],
      ["", "21"],
      ["23", "22"],
    ],
  );
  assert.equal(said, "1 line added, 2 lines removed.");
});
