// The first screen: which candidate, the verdict in a sentence, what was expected and what came.
import type { JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { outcomeChip, outcomeOfRow, outcomeOfVerdict, verdictWords } from "../outcomes.ts";
import type { PageContext } from "../page.ts";
import { addressOf } from "../router.ts";
import { problemTitle, rowOfId } from "../rows.ts";
import { dateElement, formatTime, oneLine } from "../text.ts";
import { facts } from "./parts.ts";
import { numberAt, objectAt, textAt } from "./read.ts";
import { explain, noteWords, ratioWords, type Place } from "./verdict.ts";
import { baselineName, isDoubt, noteMeans } from "./words.ts";

export function headPart(context: PageContext, entry: JsonObject): Child {
  return [titleLine(context, entry), verdictBox(context, entry), settingLine(entry)];
}

// A link to a line of the code.
export function lineLink(context: PageContext, place: Place, label: string): HTMLElement {
  const file = place.file.replace(/^\/tmp\/(candidate\.\w+$)?/, "");
  const query: Record<string, string> = { tab: "code", ...(file === "" ? {} : { file }), line: String(place.line) };
  return h("a", { href: addressOf("entry", context.parts, query) }, oneLine(label, 120));
}

function titleLine(context: PageContext, entry: JsonObject): Child {
  const problem = textAt(entry, "problem");
  const title = problemTitle(context.catalog, problem);
  const run = textAt(entry, "run");
  const model = textAt(entry, "model");
  const sample = numberAt(entry, "sample");
  const name = textAt(objectAt(entry, "candidate"), "path").replace(/^.*\//, "");
  const parts: Child[] = [
    run === "" ? null : ["run ", h("a", { href: addressOf("run", [run]) }, oneLine(run, 80))],
    model === "" ? null : h("a", { href: addressOf("run", [], { model }) }, oneLine(model, 80)),
    sample === null ? null : `sample ${sample}`,
    oneLine(name, 80),
  ];
  return h(
    "header",
    { class: "entry-title" },
    h("h1", {}, h("a", { href: addressOf("problem", [problem]) }, oneLine(`${problem} ${title}`, 300))),
    h(
      "p",
      { class: "muted" },
      parts.filter((part) => part !== null).flatMap((part, index) => (index === 0 ? [part] : [" · ", part])),
    ),
    neighbours(context, textAt(entry, "id")),
  );
}

// The entries before and after it in its run, or in the store where it has none.
function neighbours(context: PageContext, id: string): Child {
  const row = rowOfId(context.catalog, id);
  if (row === undefined) return null;
  const { entries } = context.catalog;
  const find = (step: number) => {
    for (let each = row + step; each >= 0 && each < entries.id.length; each += step) {
      if (entries.run[each] === entries.run[row] && entries.counts[each]) return entries.id[each]!;
    }
    return null;
  };
  const link = (to: string | null, text: string, title: string) =>
    to === null
      ? h("span", { class: "muted", "aria-disabled": "true" }, text)
      : h("a", { href: addressOf("entry", [to]), title }, text);
  return h(
    "nav",
    { class: "neighbours", "aria-label": "Other entries" },
    link(find(-1), "‹ before", "the entry before in this run"),
    link(find(1), "after ›", "the entry after in this run"),
  );
}

function verdictBox(context: PageContext, entry: JsonObject): Child {
  const verdict = textAt(entry, "verdict");
  const row = rowOfId(context.catalog, textAt(entry, "id"));
  const outcome = row === undefined ? outcomeOfVerdict(verdict) : outcomeOfRow(context.catalog, row);
  const said = explain(entry);
  const shownWhere =
    said.place === null ? oneLine(said.where, 300) : lineLink(context, said.place, placeLabel(said.place));
  const got = oneLine(said.got, 700);
  const correct = verdict === "correct";
  return h(
    "div",
    { class: `verdict-box of-${outcome.key}` },
    h(
      "p",
      { class: "verdict-line" },
      outcomeChip(
        outcome,
        (correct && outcome.key === "flagged" ? "flagged: " : "") + oneLine(verdictWords(verdict), 40),
      ),
      " ",
      h("span", { class: "sentence" }, oneLine(said.sentence, 600)),
    ),
    correct ? twoTimes(entry) : null,
    facts([
      ["expected", oneLine(said.expected, 400)],
      [correct ? "but" : "came", got],
      ["where", shownWhere],
      ["look at", said.look.length === 0 ? "" : said.look.map((each) => h("p", {}, oneLine(each, 400)))],
    ]),
    doubts(context, entry, row),
  );
}

function placeLabel(place: Place): string {
  const file = place.file.replace(/^\/tmp\//, "");
  return /^(candidate\.\w+)?$/.test(file) ? `line ${place.line}` : `${file}, line ${place.line}`;
}

function twoTimes(entry: JsonObject): Child {
  const baseline = numberAt(entry, "baseline_us");
  const candidate = numberAt(entry, "candidate_us");
  if (baseline === null || candidate === null) return null;
  const why = ratioWords(entry);
  return [
    h(
      "p",
      { class: "two-times" },
      h("span", {}, `${oneLine(baselineName(textAt(entry, "baseline")), 60)} `, h("b", {}, formatTime(baseline))),
      h("span", { class: "muted" }, " → "),
      h("span", {}, "candidate ", h("b", {}, formatTime(candidate))),
    ),
    why !== "" && h("p", { class: "muted" }, why),
  ];
}

function doubts(context: PageContext, entry: JsonObject, row: number | undefined): Child[] {
  const words = [...new Set(noteWords(entry).filter(isDoubt))];
  const { entries, values } = context.catalog;
  const flags = row === undefined ? [] : (entries.flags[row] ?? []).map((flag) => values.flag[flag] ?? "");
  const others = flags.filter((flag) => flag !== "" && flag !== "tampered" && !words.includes(flag));
  const newer = row !== undefined && entries.counts[row] === false ? newest(context, row) : null;
  return [
    words.map((word) => h("p", { class: "doubt" }, h("span", { class: "flag" }, verdictWords(word)), noteMeans(word))),
    others.map((flag) =>
      h(
        "p",
        { class: "doubt" },
        h("span", { class: "flag" }, oneLine(verdictWords(flag), 60)),
        flag === "audit" ? "An audit found something: kernelbench audit RUN says what." : "",
      ),
    ),
    textAt(entry, "problem_source") === "client"
      ? h("p", { class: "doubt" }, "Its problem's text came from a client of a service: it counts for no score.")
      : null,
    newer === null
      ? null
      : h(
          "p",
          { class: "doubt" },
          "There is a newer evaluation of this candidate, which counts in its place: ",
          h("a", { href: addressOf("entry", [newer]) }, oneLine(newer, 80)),
          ".",
        ),
  ];
}

function newest(context: PageContext, row: number): string | null {
  const { entries } = context.catalog;
  const same = (each: number) =>
    (["run", "model", "problem", "size", "device", "protocol", "sample", "candidate"] as const).every(
      (key) => entries[key][each] === entries[key][row],
    );
  for (let each = entries.id.length - 1; each > row; --each)
    if (entries.counts[each] && same(each)) return entries.id[each]!;
  return null;
}

function settingLine(entry: JsonObject): Child {
  const info = objectAt(entry, "device_info");
  const changed = Array.isArray(entry["protocol_changed"]) && entry["protocol_changed"].length > 0;
  const parts: Child[] = [
    `${oneLine(textAt(info, "name"), 80) || "device not looked at"} (${oneLine(textAt(entry, "device"), 20)})`,
    `protocol ${oneLine(textAt(entry, "protocol"), 40)}${changed ? ", changed" : ""}`,
    `size ${oneLine(textAt(entry, "size"), 40)}`,
    textAt(info, "torch") === "" ? null : `PyTorch ${oneLine(textAt(info, "torch"), 40)}`,
    dateElement(textAt(entry, "created")),
    h("code", {}, oneLine(textAt(entry, "id"), 80)),
  ];
  return h(
    "p",
    { class: "muted setting-line" },
    parts.filter((part) => part !== null).flatMap((part, index) => (index === 0 ? [part] : [" · ", part])),
  );
}
