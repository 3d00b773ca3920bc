// What a candidate descends from, as a tree that is read as far as it is needed.
import { h, type Child } from "../dom.ts";
import { outcomeChip, outcomeOfRow, verdictWords } from "../outcomes.ts";
import type { PageContext } from "../page.ts";
import { addressOf } from "../router.ts";
import { rowOfId } from "../rows.ts";
import { formatSpeedupWithInterval, oneLine, plural } from "../text.ts";
import { loadConversation } from "./loads.ts";
import { note, section } from "./parts.ts";

const kMost = 60; // whose own parents are looked up

interface Ancestor {
  id: string;
  parents: string[] | null; // null: not looked up
}

export async function ancestorsPart(context: PageContext, id: string, parents: string[]): Promise<HTMLElement> {
  const found = new Map<string, Ancestor>([[id, { id, parents }]]);
  let level = parents;
  while (level.length > 0 && found.size < kMost && !context.signal.aborted) {
    const fresh = [...new Set(level)].filter((each) => !found.has(each)).slice(0, kMost - found.size);
    const loaded = await Promise.all(fresh.map((each) => loadConversation(context, each)));
    for (const [index, each] of fresh.entries()) {
      const conversation = loaded[index]!;
      found.set(each, { id: each, parents: "missing" in conversation ? [] : conversation.document.parents });
    }
    level = fresh.flatMap((each) => found.get(each)!.parents ?? []);
  }
  const shown = new Set<string>([id]);
  const tree = h(
    "ul",
    { class: "tree" },
    parents.map((parent) => branch(context, found, shown, parent, id)),
  );
  const said = `${plural(found.size - 1, "candidate")} that the model was shown, or that this one descends from`;
  return section("Where it comes from", note(`${said}. What each changed is under its link.`), tree);
}

// `child` is what it was a parent of.
function branch(
  context: PageContext,
  found: Map<string, Ancestor>,
  shown: Set<string>,
  id: string,
  child: string,
): HTMLElement {
  const again = shown.has(id);
  shown.add(id);
  const ancestor = found.get(id);
  const own = ancestor?.parents ?? [];
  return h(
    "li",
    {},
    label(context, id, child),
    again && own.length > 0 ? h("span", { class: "muted" }, " (as above)") : null,
    ancestor === undefined ? h("span", { class: "muted" }, " (its own ancestors: on its page)") : null,
    again || own.length === 0
      ? null
      : h(
          "ul",
          {},
          own.map((parent) => branch(context, found, shown, parent, id)),
        ),
  );
}

function label(context: PageContext, id: string, child: string): Child[] {
  const diff = h("a", { href: addressOf("entry", [child], { tab: "code", diff: id }) }, "what changed");
  const row = rowOfId(context.catalog, id);
  if (row === undefined) return [h("a", { href: addressOf("entry", [id]) }, oneLine(id, 60)), " ", diff];
  const { entries, values } = context.catalog;
  const verdict = values.verdict[entries.verdict[row]!] ?? "";
  const sample = entries.sample[row] ?? null;
  const name = sample === null ? oneLine(entries.candidate[row] ?? id, 60) : `candidate ${sample}`;
  const speedup = entries.speedup[row] ?? null;
  return [
    outcomeChip(outcomeOfRow(context.catalog, row), null),
    " ",
    h("a", { href: addressOf("entry", [id]) }, name),
    ` ${speedup === null ? oneLine(verdictWords(verdict), 40) : formatSpeedupWithInterval(speedup, entries.low[row], entries.high[row])} · `,
    diff,
  ];
}
