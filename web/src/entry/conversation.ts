// How a candidate was made: what a model was asked and said, or what an agent did, and what it descends from.
import type { ConversationAnswer, JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import type { PageContext } from "../page.ts";
import { dateElement, formatCount, formatSeconds, formatUsd, oneLine, plural } from "../text.ts";
import { ancestorsPart } from "./ancestors.ts";
import { linesView } from "./lines.ts";
import { sourceRows } from "./code_rows.ts";
import { loadConversation } from "./loads.ts";
import { facts, more, note, output, section } from "./parts.ts";
import { lookup, textAt } from "./read.ts";
import { languageOf } from "./tokens.ts";
import { transcriptPart } from "./transcript.ts";

export async function conversationPart(context: PageContext, entry: JsonObject): Promise<HTMLElement> {
  const loaded = await loadConversation(context, textAt(entry, "id"));
  if ("missing" in loaded) return h("div", {}, note(loaded.missing));
  const { answers, transcript, parents } = loaded.document;
  const element = h("div", {});
  if (parents.length > 0) element.append(await ancestorsPart(context, textAt(entry, "id"), parents));
  if (transcript !== null) element.append(transcriptPart(transcript));
  if (answers !== null && answers.length > 0) {
    element.append(
      section(
        answers.length === 1 ? "What the model was asked" : `What the model was asked, ${answers.length} times`,
        answers.map((answer, index) => answerPart(answer, index, answers.length)),
      ),
    );
  }
  if (element.childElementCount === 0) element.append(note("Nothing is stored of how it was made: it was handed in."));
  return element;
}

function answerPart(answer: ConversationAnswer, index: number, count: number): HTMLElement {
  const last = index === count - 1;
  const messages = Array.isArray(answer.messages) ? answer.messages : [];
  return h(
    "article",
    { class: "answer" },
    count === 1 ? null : h("h3", {}, `Attempt ${index + 1}${last ? ", which counts" : ""}`),
    facts([
      ["model", oneLine(answer.model ?? "", 120)],
      ["asked", dateElement(answer.created)],
      ["tokens", tokensText(answer.input_tokens, answer.cached_tokens, answer.output_tokens)],
      ["cost", answer.usd === null || answer.usd === undefined ? "not known" : formatUsd(answer.usd)],
      ["took", formatSeconds(answer.seconds)],
      ["ended by", oneLine(answer.finish ?? "", 60)],
      ["no candidate", answer.complaint ? h("b", {}, oneLine(answer.complaint, 500)) : ""],
    ]),
    answer.system ? folded("System prompt", answer.system) : null,
    messages.map((message) =>
      folded(message.role === "user" ? "Prompt" : `Told as ${oneLine(message.role, 20)}`, message.text),
    ),
    answer.reasoning ? folded("Reasoning", answer.reasoning) : null,
    h("h3", {}, "Answer"),
    answer.response ? proseAndCode(answer.response) : note("It said nothing."),
  );
}

export function tokensText(
  input: number | null | undefined,
  cached: number | null | undefined,
  out: number | null | undefined,
): string {
  if ((input ?? null) === null && (out ?? null) === null) return "not known";
  return `${formatCount(input)} in${cached ? ` (${formatCount(cached)} cached)` : ""}, ${formatCount(out)} out`;
}

function folded(title: string, text: string): HTMLElement {
  return more(`${title} (${plural(text.split("\n").length, "line")})`, () => output(text, { head: 400 }));
}

const kMostBlocks = 60;

// An answer, whose fenced code is coloured; everything else stays as it was written.
export function proseAndCode(text: string): HTMLElement {
  const parts: Child[] = [];
  const fence = /^```([\w+-]*)[^\n]*\n([^]*?)(?:^```[ \t]*$|$(?![^]))/gm;
  let at = 0;
  for (const found of text.matchAll(fence)) {
    if (parts.length > kMostBlocks || found[2]!.length > 400_000) break;
    parts.push(prose(text.slice(at, found.index)));
    const name = found[1]!.toLowerCase();
    const language = languageOf(`x.${lookup({ python: "py", cuda: "cu", "c++": "cpp" }, name) ?? name}`, false, "");
    parts.push(linesView(sourceRows(found[2]!, language, new Map()), "Code in the answer").element);
    at = found.index + found[0].length;
  }
  parts.push(prose(text.slice(at)));
  return h("div", { class: "prose" }, parts);
}

function prose(text: string): Child {
  const trimmed = text.replace(/^\n+|\s+$/g, "");
  return trimmed === "" ? null : output(trimmed, { head: 200 });
}
