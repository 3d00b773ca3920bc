// What came of it: where a wrong one is wrong, the times of a right one, whose work it is, and what was noted.
import type { JsonObject } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import type { PageContext } from "../page.ts";
import { oneLine } from "../text.ts";
import { authorshipPart } from "./authorship.ts";
import { evidencePart } from "./evidence.ts";
import { lineLink } from "./head.ts";
import { mismatchPart } from "./mismatch.ts";
import { note, section } from "./parts.ts";
import { objectAt, objectsAt, textAt } from "./read.ts";
import { roundsPart } from "./rounds.ts";
import { timesPart } from "./times.ts";
import { noteMeans, noteWord } from "./words.ts";

export async function resultPart(context: PageContext, entry: JsonObject): Promise<HTMLElement> {
  const correct = textAt(entry, "verdict") === "correct";
  const link = (file: string, line: number, label: string) => lineLink(context, { file, line }, label);
  const wrong = objectAt(entry, "mismatch") !== null;
  const said = evidencePart(entry, link);
  const rounds = h("div", {});
  const element = h(
    "div",
    {},
    correct
      ? [timesPart(entry), rounds, authorshipPart(entry), notesPart(entry), mismatchPart(entry), said]
      : [
          wrong ? mismatchPart(entry) : null,
          said,
          timesPart(entry),
          rounds,
          notesPart(entry),
          wrong ? null : mismatchPart(entry),
        ],
  );
  void roundsPart(context, entry).then(
    (part) => replace(rounds, part),
    (error: unknown) =>
      replace(rounds, note(`Rounds cannot be shown: ${error instanceof Error ? error.message : String(error)}`)),
  );
  if (element.childElementCount <= 1)
    element.prepend(note("There is nothing else to tell: it ended before anything was measured."));
  return element;
}

function notesPart(entry: JsonObject): Child {
  const notes = objectsAt(entry, "notes").filter((each) => textAt(each, "code") !== "static");
  if (notes.length === 0) return null;
  return section(
    "Notes",
    h(
      "ul",
      { class: "notes" },
      notes.slice(0, 50).map((each) => {
        const text = textAt(each, "text");
        const word = noteWord(text);
        const means = noteMeans(word);
        return h(
          "li",
          {},
          means === "" ? null : h("b", {}, means),
          means === "" ? null : h("br"),
          h("span", { class: "muted" }, oneLine(text, 600)),
        );
      }),
    ),
  );
}
