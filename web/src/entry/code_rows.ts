// Rows of a view of code: a text by itself, or what differs between two.
import { plural } from "../text.ts";
import { diffLines, type Edit } from "./diff.ts";
import type { LineRow } from "./lines.ts";
import { highlight, type Language } from "./tokens.ts";

export interface LineNote {
  text: string;
  severity: string;
}

const kContext = 3; // unchanged lines that are shown beside changed ones

const linesOf = (text: string) => text.replace(/\n$/, "").split("\n");

export function sourceRows(text: string, language: Language, notes: Map<number, LineNote[]>): LineRow[] {
  return highlight(text.replace(/\n$/, ""), language).map((tokens, index) => ({
    numbers: [String(index + 1)],
    mark: "",
    tokens,
    look: "",
    notes: notes.get(index + 1) ?? [],
  }));
}

// `whole`: unchanged lines too.
export function diffRows(
  was: string,
  now: string,
  language: Language,
  notes: Map<number, LineNote[]>,
  whole: boolean,
): { rows: LineRow[]; said: string } {
  const [old, fresh] = [linesOf(was), linesOf(now)];
  const edits = changesTogether(diffLines(was === "" ? [] : old, now === "" ? [] : fresh));
  const count = (kind: Edit["kind"]) => edits.reduce((sum, edit) => sum + (edit.kind === kind ? edit.count : 0), 0);
  const [added, removed] = [count("added"), count("removed")];
  if (added + removed === 0) return { rows: sourceRows(now, language, notes), said: "Both are the same text." };
  const [oldTokens, newTokens] = [highlight(old.join("\n"), language), highlight(fresh.join("\n"), language)];
  const rows: LineRow[] = [];
  const put = (edit: Edit, from: number, to: number) => {
    for (let each = from; each < to; ++each) {
      const [before, after] = [edit.old + each, edit.now + each];
      const gone = edit.kind === "removed";
      rows.push({
        numbers: [edit.kind === "added" ? "" : String(before + 1), gone ? "" : String(after + 1)],
        mark: gone ? "−" : edit.kind === "added" ? "+" : " ",
        tokens: (gone ? oldTokens[before] : newTokens[after]) ?? [],
        look: edit.kind,
        notes: gone ? [] : (notes.get(after + 1) ?? []),
      });
    }
  };
  for (const [index, edit] of edits.entries()) {
    const head = index === 0 ? 0 : kContext;
    const tail = index === edits.length - 1 ? 0 : kContext;
    if (edit.kind !== "same" || whole || edit.count <= head + tail + 1) {
      put(edit, 0, edit.count);
      continue;
    }
    put(edit, 0, head);
    rows.push(gap(edit.count - head - tail));
    put(edit, edit.count - tail, edit.count);
  }
  return { rows, said: `${plural(added, "line")} added, ${plural(removed, "line")} removed.` };
}

function gap(count: number): LineRow {
  return {
    numbers: ["", ""],
    mark: " ",
    tokens: [{ kind: "comment", text: `⋯ ${plural(count, "unchanged line")}` }],
    look: "gap",
    notes: [],
  };
}

// Of neighbouring changes what is removed comes before what is added.
function changesTogether(edits: Edit[]): Edit[] {
  const ordered: Edit[] = [];
  let removed: Edit[] = [];
  let added: Edit[] = [];
  const flush = () => {
    ordered.push(...removed, ...added);
    removed = [];
    added = [];
  };
  for (const edit of edits) {
    if (edit.kind === "same") {
      flush();
      ordered.push(edit);
    } else {
      (edit.kind === "removed" ? removed : added).push(edit);
    }
  }
  flush();
  return ordered;
}
