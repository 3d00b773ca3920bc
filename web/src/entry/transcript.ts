// What an agent did, turn by turn (docs/reference/transcripts.md).
import type { Json, JsonObject, Transcript } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { outcomeChip, outcomeOfVerdict, verdictWords } from "../outcomes.ts";
import {
  formatCount,
  formatInterval,
  formatSeconds,
  formatSpeedup,
  formatUsd,
  longText,
  oneLine,
  plural,
  visible,
} from "../text.ts";
import { kernelsTable } from "./authorship.ts";
import { tokensText } from "./conversation.ts";
import { facts, more, note, output, section } from "./parts.ts";
import { inline, isObject, listAt, lookup, member, numberAt, objectAt, objectsAt, pairAt, textAt } from "./read.ts";

const kTurns = 100; // that are shown at once

export function transcriptPart(transcript: Transcript): HTMLElement {
  const episode = isObject(transcript.episode) ? transcript.episode : {};
  const turns = Array.isArray(transcript.turns) ? transcript.turns.filter(isObject) : [];
  const list = h("div", { class: "turns" });
  let shown = 0;
  const button = h("button", { type: "button" });
  const show = () => {
    const next = turns.slice(shown, shown + kTurns);
    list.append(...next.map((turn) => turnElement(turn, episode)));
    shown += next.length;
    button.textContent = `Show ${Math.min(kTurns, turns.length - shown)} more of ${plural(turns.length, "turn")}`;
    button.hidden = shown >= turns.length;
  };
  button.addEventListener("click", show);
  show();
  const goTo = (turn: number | null) => {
    const place = turns.findIndex((each) => numberAt(each, "turn") === turn);
    while (shown <= place) show();
    list.children[place]?.scrollIntoView({ block: "start" });
  };
  const end = isObject(transcript.end) ? transcript.end : null;
  return section("What the agent did", endPart(end, episode), overview(turns, goTo), opening(episode), list, button);
}

function opening(episode: JsonObject): Child[] {
  const tools = listAt(episode, "tools").map(
    (tool) => textAt(tool, "name") || textAt(objectAt(tool, "function"), "name"),
  );
  return [
    textAt(episode, "system") === ""
      ? null
      : more("System prompt", () => output(textAt(episode, "system"), { head: 400 })),
    objectsAt(episode, "messages").map((message) =>
      more(textAt(message, "role") === "user" ? "Task" : `Told as ${oneLine(textAt(message, "role"), 20)}`, () =>
        output(textAt(message, "text"), { head: 400 }),
      ),
    ),
    tools.length === 0 ? null : note(`Tools: ${oneLine(tools.join(", "), 1000)}.`),
  ];
}

function endPart(end: JsonObject | null, episode: JsonObject): Child {
  const totals = objectAt(end, "totals");
  const submitted = objectAt(end, "submitted");
  const best = objectAt(end, "best");
  const calls = Object.entries(objectAt(totals, "tool_calls") ?? {}).map(
    ([name, count]) => `${oneLine(name, 40)} ${inline(count)}`,
  );
  const usd = numberAt(totals, "cost_usd");
  const failed = numberAt(totals, "failed_calls") ?? 0;
  const cached = numberAt(totals, "cache_read") ?? 0;
  const prompt = (numberAt(totals, "input") ?? 0) + cached + (numberAt(totals, "cache_write") ?? 0);
  return facts([
    ["agent", textAt(episode, "harness") || "the loop of kernelbench generate"],
    [
      "ended",
      end === null
        ? "not yet: the work goes on"
        : oneLine(textAt(end, "ending") || textAt(end, "ended_by") || "not yet: the work goes on", 300),
    ],
    [
      "handed in",
      submitted === null
        ? "nothing"
        : judgedText(submitted) +
          (textAt(submitted, "complaint") === "" ? "" : `: ${oneLine(textAt(submitted, "complaint"), 300)}`),
    ],
    [
      "best on the way",
      best === null ? "nothing correct" : `${judgedText(best)}, in turn ${inline(member(best, "turn"))}`,
    ],
    ["turns", totals === null ? "" : formatCount(numberAt(totals, "turns"))],
    ["tool calls", totals === null ? "" : `${calls.join(", ") || "none"}${failed === 0 ? "" : `; ${failed} failed`}`],
    ["evaluations", totals === null ? "" : formatCount(numberAt(totals, "evaluations"))],
    ["tokens", totals === null ? "" : tokensText(prompt, cached, numberAt(totals, "output"))],
    ["cost", totals === null ? "" : usd === null ? "not known" : formatUsd(usd)],
    ["time", totals === null ? "" : times(totals)],
  ]);
}

// Those that are known: of a program not the tools'.
function times(totals: JsonObject): string {
  const parts = ["model", "tools", "device"].map(
    (who) => [who, numberAt(totals, `${who.replace(/s$/, "")}_seconds`)] as const,
  );
  return parts.flatMap(([who, seconds]) => (seconds === null ? [] : [`${who} ${formatSeconds(seconds)}`])).join(", ");
}

// What the judge said in each turn, in a line.
function overview(turns: JsonObject[], goTo: (turn: number | null) => void): Child {
  const judged = turns.flatMap((turn) =>
    objectsAt(turn, "verdicts")
      .filter((verdict) => textAt(verdict, "verdict") !== "")
      .map((verdict) => ({ turn: numberAt(turn, "turn"), verdict })),
  );
  if (judged.length === 0) return note("The judge was not asked on the way.");
  return more(
    `What the judge said on the way (${judged.length})`,
    () =>
      h(
        "ol",
        { class: "plain" },
        judged.slice(0, 300).map(({ turn, verdict }) => {
          const jump = h("button", { type: "button", class: "quiet" }, `turn ${turn}`);
          jump.addEventListener("click", () => goTo(turn));
          return h("li", {}, jump, " ", verdictLine(verdict));
        }),
      ),
    true,
  );
}

function verdictLine(verdict: JsonObject): Child[] {
  const name = textAt(verdict, "verdict");
  const seconds = numberAt(verdict, "device_seconds") ?? 0;
  const reason = textAt(objectAt(verdict, "view"), "reason");
  const compiled = member(objectAt(verdict, "view"), "compiled");
  const words =
    name !== ""
      ? outcomeChip(outcomeOfVerdict(name), oneLine(verdictWords(name), 40))
      : compiled === true
        ? "compiled"
        : compiled === false
          ? "did not compile"
          : "no verdict";
  return [
    words,
    speedText(verdict),
    reason === "" ? null : `, ${oneLine(reason, 300)}`,
    seconds > 0 ? h("span", { class: "muted" }, ` (${formatSeconds(seconds)} of the device)`) : null,
  ];
}

function speedText(verdict: JsonObject): string {
  const speedup = numberAt(verdict, "speedup");
  const interval = pairAt(verdict, "speedup_interval");
  if (speedup === null) return "";
  return `, ${formatSpeedup(speedup)}${interval === null ? "" : `, ${formatInterval(...interval)}`}`;
}

function judgedText(verdict: JsonObject): string {
  const name = textAt(verdict, "verdict");
  return (name === "" ? "not judged" : verdictWords(name)) + speedText(verdict);
}

function since(begun: string, now: string): string {
  const seconds = (Date.parse(now) - Date.parse(begun)) / 1000;
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return seconds < 3600
    ? `+${Math.floor(seconds / 60)}:${two(seconds % 60)}`
    : `+${Math.floor(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function turnElement(turn: JsonObject, episode: JsonObject): HTMLElement {
  const answered = textAt(turn, "state") !== "asked";
  const request = objectAt(turn, "request");
  const usd = numberAt(turn, "cost_usd");
  const prompt =
    (numberAt(turn, "input") ?? 0) + (numberAt(turn, "cache_read") ?? 0) + (numberAt(turn, "cache_write") ?? 0);
  const counted = numberAt(turn, "input") !== null || numberAt(turn, "output") !== null;
  const tools = numberAt(turn, "tool_seconds") ?? 0;
  const facts = [
    since(textAt(episode, "created"), textAt(turn, "created")),
    !answered
      ? ""
      : counted
        ? tokensText(prompt, numberAt(turn, "cache_read"), numberAt(turn, "output"))
        : "tokens not known",
    usd === null ? "" : formatUsd(usd),
    answered ? `model ${formatSeconds(numberAt(turn, "model_seconds"))}` : "",
    tools >= 0.05 ? `tools ${formatSeconds(tools)}` : "",
  ].filter((text) => text !== "");
  const number = oneLine(inline(member(turn, "turn")), 20);
  const begins = beginsText(request);
  return h(
    "article",
    { class: "turn" },
    begins === "" ? null : h("p", { class: "conversation-mark" }, begins),
    h("h3", {}, `Turn ${number}`, h("span", { class: "muted" }, ` ${facts.join(" · ")}`)),
    beforeAnswer(turn, request),
    textAt(turn, "reasoning") === "" ? null : more("Reasoning", () => output(textAt(turn, "reasoning"), { head: 100 })),
    textAt(turn, "text") === "" ? null : h("p", { class: "said" }, longText(textAt(turn, "text"))),
    callElements(turn, request),
    afterCalls(turn, request),
  );
}

function beginsText(request: JsonObject | null): string {
  if (request === null) return "";
  const number = oneLine(inline(member(request, "conversation")), 20);
  const words: Record<string, string> = {
    first: `Conversation ${number} begins`,
    restart: `The program was started again: conversation ${number} begins`,
    aside: `An aside without tools: conversation ${number} begins`,
    changed: `The program changed its history: conversation ${number} begins`,
    other: `Another system prompt: conversation ${number} begins`,
  };
  const begins = textAt(request, "begins");
  const parts = [lookup(words, begins) ?? ""];
  const bytes = numberAt(request, "system_bytes") ?? 0;
  const tools = listAt(request, "tools");
  if (bytes > 0) parts.push(`system prompt of ${formatCount(bytes)} bytes`);
  if (tools.length > 0) parts.push(`${plural(tools.length, "tool")}: ${oneLine(tools.map(inline).join(", "), 200)}`);
  const repeated = numberAt(request, "repeated") ?? 0;
  if (repeated > 0) parts.push(`with ${formatCount(repeated)} of what was said before`);
  return parts.filter((part) => part !== "").join(", ");
}

function contextText(context: Json | undefined): string {
  if (isObject(context) && member(context, "shrunk_before") !== undefined)
    return `What tools gave before turn ${inline(member(context, "shrunk_before"))} is shortened.`;
  return `The history was changed before this turn: ${oneLine(inline(context), 300)}.`;
}

function beforeAnswer(turn: JsonObject, request: JsonObject | null): Child[] {
  const lost = numberAt(turn, "lost") ?? 0;
  const calls = numberAt(turn, "model_calls") ?? 1;
  const context = member(turn, "context");
  return [
    context === null || context === undefined ? null : note(contextText(context)),
    listAt(request, "denied")
      .slice(0, 10)
      .map((why) => note("A call before this one was refused: ", oneLine(inline(why), 300))),
    objectsAt(turn, "told").map((told) =>
      more(
        textAt(told, "role") === "user"
          ? "Told"
          : `Told as ${oneLine(textAt(told, "role") || inline(member(told, "unreadable")), 30)}`,
        () => output(textAt(told, "text"), { head: 60 }),
      ),
    ),
    textAt(turn, "kind") === "condense" ? note("The model shortens its history; this is its summary.") : null,
    lost > 0
      ? note(
          `${plural(lost, "call")} of the model cut off, which can have taken ${formatCount(numberAt(turn, "lost_tokens"))} tokens and ${formatUsd(numberAt(turn, "lost_usd"))}.`,
        )
      : null,
    calls > 1 ? note(`${calls} calls until one succeeded.`) : null,
    textAt(turn, "state") === "asked" ? note("No answer yet.") : null,
  ];
}

function callElements(turn: JsonObject, request: JsonObject | null): Child[] {
  const verdicts = objectsAt(turn, "verdicts");
  return objectsAt(turn, "calls").map((call, index) => {
    const result = objectAt(call, "result");
    const own = request === null ? verdicts.filter((verdict) => numberAt(verdict, "call") === index) : [];
    return h(
      "div",
      { class: "call" },
      h(
        "p",
        { class: "call-name" },
        h("b", {}, "→ ", oneLine(textAt(call, "name"), 60)),
        " ",
        shortArguments(textAt(call, "arguments")),
      ),
      longArguments(textAt(call, "arguments")),
      own.map((verdict) => verdictElement(verdict, false)),
      result === null
        ? note(textAt(turn, "state") === "done" ? "No result." : "No result yet.")
        : resultElement(result),
    );
  });
}

function resultElement(result: JsonObject): Child {
  const seconds = numberAt(result, "seconds");
  const failed = member(result, "is_error") === true;
  const text = textAt(result, "text");
  const title = [
    failed ? h("span", { class: "tag bad" }, "error") : "gave",
    seconds !== null && seconds >= 0.05 ? ` after ${formatSeconds(seconds)}` : "",
    text === "" ? " nothing" : ` ${plural(text.split("\n").length, "line")}`,
  ];
  return text === ""
    ? h("p", { class: "muted" }, title)
    : more(title, () => output(text, { head: 60, tail: 30 }), text.length < 600);
}

function parsed(text: string): JsonObject | null {
  if (text.length > 2_000_000) return null;
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const isShort = (value: Json) => inline(value).length <= 120 && !inline(value).includes("\n");

function shortArguments(text: string): Child {
  const object = parsed(text);
  if (object === null) return text.length <= 120 ? h("code", {}, visible(text)) : null;
  const short = Object.entries(object).filter(([, value]) => isShort(value));
  return short.map(([name, value]) => h("code", {}, `${oneLine(name, 40)}: ${oneLine(inline(value), 130)} `));
}

// Texts among the arguments: what is written, run, or put in place of what.
function longArguments(text: string): Child {
  const object = parsed(text);
  if (object === null) return text.length <= 120 ? null : output(text, { head: 30, tail: 5 });
  return Object.entries(object)
    .filter(([, value]) => !isShort(value))
    .map(([name, value]) => {
      const whole = typeof value === "string" ? value : JSON.stringify(value, null, 1);
      return more(
        `${oneLine(name, 40)} (${plural(whole.split("\n").length, "line")})`,
        () => output(whole, { head: 60, tail: 10 }),
        whole.length < 500,
      );
    });
}

function verdictElement(verdict: JsonObject, named: boolean): Child {
  const tool = textAt(verdict, "tool");
  const handed = tool === "submit" && textAt(verdict, "verdict") === "";
  const sha256 = textAt(verdict, "source_sha256").slice(0, 12);
  const kernels = objectsAt(objectAt(objectAt(verdict, "view"), "profile") ?? objectAt(verdict, "view"), "kernels");
  const view = objectAt(verdict, "view");
  return h(
    "div",
    { class: "judge-said" },
    h(
      "p",
      {},
      h("b", {}, handed ? "handed in " : named ? `judge, asked to ${oneLine(tool, 30)}: ` : "judge: "),
      handed ? h("code", {}, sha256) : verdictLine(verdict),
    ),
    kernels.length === 0 ? null : kernelsTable(kernels),
    view === null ? null : more("All that it told", () => output(JSON.stringify(view, null, 2), { head: 200 })),
  );
}

const oddEnds = new Set(["length", "context_full", "refused"]);

function afterCalls(turn: JsonObject, request: JsonObject | null): Child[] {
  const calls = objectsAt(turn, "calls");
  const finish = textAt(turn, "finish");
  const odd = finish !== "" && finish !== "stop" && (calls.length === 0 || oddEnds.has(finish));
  const follows = textAt(turn, "follows");
  const rest = objectsAt(turn, "verdicts").filter((verdict) => {
    const call = numberAt(verdict, "call");
    return request !== null || call === null || call < 0 || call >= calls.length;
  });
  return [
    rest.map((verdict) => verdictElement(verdict, true)),
    objectsAt(turn, "other_results").map((result) => [
      note(`Result of no call here: ${oneLine(textAt(result, "name"), 60)}`),
      resultElement(result),
    ]),
    odd ? note(`The answer ended by: ${oneLine(finish, 40)} (${oneLine(textAt(turn, "finish_word"), 60)}).`) : null,
    filesElement(objectsAt(turn, "files")),
    follows === ""
      ? null
      : follows.length < 300
        ? h("p", { class: "muted" }, "Told: ", visible(follows))
        : more("Told after the results", () => output(follows, { head: 60 })),
  ];
}

function filesElement(files: JsonObject[]): Child {
  if (files.length === 0) return null;
  const kMost = 100;
  return h(
    "ul",
    { class: "files", "aria-label": "Files that the turn changed" },
    files.slice(0, kMost).map((file) => {
      const [added, removed] = [numberAt(file, "added"), numberAt(file, "removed")];
      return h(
        "li",
        {},
        `${oneLine(textAt(file, "change"), 20)} `,
        h("code", {}, oneLine(textAt(file, "path"), 200)),
        added === null ? null : h("span", { class: "muted" }, ` +${added} −${removed ?? 0}`),
      );
    }),
    files.length > kMost ? h("li", {}, `… ${files.length - kMost} more`) : null,
  );
}
