// The candidate's code: its files, what static analysis and the compiler say of single lines, and how it differs from
// another candidate's.
import type { Catalog, JsonObject, SourceDocument } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import { verdictWords } from "../outcomes.ts";
import type { PageContext } from "../page.ts";
import { rowOfId } from "../rows.ts";
import { settingLabel, settingOf } from "../samples.ts";
import { formatCount, formatSpeedup, oneLine, plural } from "../text.ts";
import { diffRows, sourceRows, type LineNote } from "./code_rows.ts";
import { linesView } from "./lines.ts";
import { loadConversation, loadEntry, loadSource } from "./loads.ts";
import { copyButton, downloadButton, note } from "./parts.ts";
import { numberAt, objectAt, objectsAt, textAt } from "./read.ts";
import { languageOf } from "./tokens.ts";

type File = SourceDocument["files"][number];

const kNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"; // the hash of an empty text

export async function codePart(context: PageContext, entry: JsonObject): Promise<HTMLElement> {
  const none = h("div", {}, note("There is no code: nothing was handed in."));
  if (textAt(objectAt(entry, "candidate"), "sha256") === kNothing) return none;
  const loaded = await loadSource(context, entry);
  if ("missing" in loaded) return h("div", {}, note(loaded.missing));
  const files = loaded.document.files;
  if (files.every((file) => file.text === "")) return none;
  const others = await otherCandidates(context, entry);
  const body = h("div", {});
  const bar = h("div", { class: "code-bar" });
  const element = h("div", { class: "code-part" }, bar, body);
  let drawing = 0;
  let drawn = "";
  const draw = async () => {
    const state = ["file", "line", "diff", "whole"].map((key) => context.query.get(key)).join("\n");
    if (state === drawn) return;
    drawn = state;
    const turn = ++drawing;
    const other = context.query.get("diff") ?? "";
    const old = other === "" ? null : await otherFiles(context, other);
    if (turn !== drawing || context.signal.aborted) return;
    replace(bar, ...toolbar(context, entry, files, old, others));
    drawFile(context, entry, files, old, body);
  };
  context.onChange(() => {
    if ((context.query.get("tab") ?? "") === "code") void draw();
  });
  await draw();
  return element;
}

interface Other {
  id: string;
  label: string;
}

// Its parents first, then others of the same model and problem in its run.
async function otherCandidates(context: PageContext, entry: JsonObject): Promise<Other[]> {
  const id = textAt(entry, "id");
  const conversation = await loadConversation(context, id);
  const parents = "missing" in conversation ? [] : conversation.document.parents;
  const { entries, values } = context.catalog;
  const others: Other[] = parents.map((parent) => ({
    id: parent,
    label: `parent: ${candidateLabel(context, parent)}`,
  }));
  const row = rowOfId(context.catalog, id);
  if (row === undefined || values.run[entries.run[row]!] === "") return others;
  const kMost = 100;
  for (let each = entries.id.length - 1; each >= 0 && others.length < kMost; --each) {
    const same = (["run", "model", "problem"] as const).every((key) => entries[key][each] === entries[key][row]);
    const other = entries.id[each]!;
    if (!same || each === row || parents.includes(other) || values.verdict[entries.verdict[each]!] === "infrastructure")
      continue;
    others.push({ id: other, label: candidateLabel(context, other) });
  }
  return others;
}

export function candidateLabel(context: PageContext, id: string): string {
  const row = rowOfId(context.catalog, id);
  if (row === undefined) return id;
  const { entries, values } = context.catalog;
  const speedup = entries.speedup[row] ?? null;
  const sample = entries.sample[row] ?? null;
  const verdict = verdictWords(values.verdict[entries.verdict[row]!] ?? "");
  const name = sample === null ? oneLine(entries.candidate[row] ?? id, 40) : `candidate ${sample}`;
  return `${name}, ${verdict}${speedup === null ? "" : `, ${formatSpeedup(speedup)}`}`;
}

async function otherFiles(context: PageContext, id: string): Promise<File[] | string> {
  try {
    const loaded = await loadSource(context, await loadEntry(context, id));
    return "missing" in loaded ? loaded.missing : loaded.document.files;
  } catch (error) {
    return error instanceof Error ? error.message : "It cannot be read.";
  }
}

function chosen(context: PageContext, files: File[], old: File[]): string {
  const wanted = context.query.get("file") ?? "";
  const paths = [...files, ...old].map((file) => file.path);
  if (paths.includes(wanted)) return wanted;
  const ending = paths.find(
    (path) => path !== "" && wanted !== "" && (wanted.endsWith("/" + path) || path.endsWith("/" + wanted)),
  );
  return ending ?? (paths.includes("model_new.py") ? "model_new.py" : (paths[0] ?? ""));
}

function toolbar(
  context: PageContext,
  entry: JsonObject,
  files: File[],
  old: File[] | string | null,
  others: Other[],
): Child[] {
  const before = Array.isArray(old) ? old : [];
  const path = chosen(context, files, before);
  const paths = [...new Set([...files, ...before].map((file) => file.path))].sort();
  const file = files.find((each) => each.path === path);
  const name = path === "" ? textAt(objectAt(entry, "candidate"), "path").replace(/^.*\//, "") : path;
  return [
    paths.length < 2
      ? null
      : choice(
          "File",
          path,
          paths.map((each) => [each, each || name]),
          (value) => context.setQuery({ file: value, line: null }, true),
        ),
    others.length === 0
      ? null
      : choice(
          "Compare with",
          context.query.get("diff") ?? "",
          [["", "nothing"], ...others.map((other): [string, string] => [other.id, other.label])],
          (value) => context.setQuery({ diff: value === "" ? null : value, line: null }, true),
        ),
    Array.isArray(old) ? wholeSwitch(context) : null,
    h("span", { class: "spring" }),
    file === undefined
      ? null
      : h(
          "span",
          { class: "quiet-text" },
          `${plural(file.text.replace(/\n$/, "").split("\n").length, "line")}, ${formatCount(file.text.length)} characters`,
        ),
    file === undefined ? null : copyButton(() => file.text, "Copy"),
    file === undefined ? null : downloadButton(name.replace(/^.*\//, ""), () => file.text, "Save file"),
  ];
}

// Whether two evaluations were judged alike: device, protocol, size and baseline.
function settingsSaid(catalog: Catalog, id: string, other: string): string {
  const [mine, theirs] = [id, other].map((each) => rowOfId(catalog, each));
  if (mine === undefined || theirs === undefined) return "";
  const [here, there] = [mine, theirs].map((row) => oneLine(settingLabel(settingOf(catalog, row)), 200));
  return here === there ? `Both were judged in ${here}.` : `Judged in different settings: this one in ${here}, the other in ${there}.`;
}

function choice(label: string, value: string, options: [string, string][], take: (value: string) => void): HTMLElement {
  const select = h(
    "select",
    {},
    options.map(([each, text]) => h("option", { value: each }, oneLine(text, 100))),
  );
  select.value = value;
  select.addEventListener("change", () => take(select.value));
  return h("label", {}, label, " ", select);
}

function wholeSwitch(context: PageContext): HTMLElement {
  const box = h("input", { type: "checkbox" });
  box.checked = context.query.get("whole") === "1";
  box.addEventListener("change", () => context.setQuery({ whole: box.checked ? "1" : null }));
  return h("label", {}, box, " unchanged lines too");
}

function drawFile(
  context: PageContext,
  entry: JsonObject,
  files: File[],
  old: File[] | string | null,
  body: HTMLElement,
): void {
  const before = Array.isArray(old) ? old : [];
  const path = chosen(context, files, before);
  const candidate = objectAt(entry, "candidate");
  const language = languageOf(path, textAt(candidate, "kind") === "module", textAt(entry, "device"));
  const now = files.find((file) => file.path === path)?.text ?? "";
  const notes = notesOf(entry, path, now);
  const line = lineHere(entry, context.query.get("file") ?? "", Number(context.query.get("line") ?? 0), path, now);
  const comparing = Array.isArray(old);
  const was =
    before.find((file) => file.path === path)?.text ??
    (comparing && before.length === 1 && files.length === 1 ? before[0]!.text : "");
  const result = comparing
    ? diffRows(was, now, language, notes, context.query.get("whole") === "1")
    : { rows: sourceRows(now, language, notes), said: "" };
  const view = linesView(result.rows, path === "" ? "Code of the candidate" : `Code of ${path}`);
  replace(
    body,
    typeof old === "string" ? note(`No comparison: ${old}`) : null,
    comparing ? note(settingsSaid(context.catalog, textAt(entry, "id"), context.query.get("diff") ?? "")) : null,
    result.said === "" ? null : note(result.said),
    view.element,
  );
  const row = line > 0 ? result.rows.findIndex((each) => each.numbers[each.numbers.length - 1] === String(line)) : -1;
  if (row >= 0) requestAnimationFrame(() => view.goTo(row));
}

// What is said of lines of this file.
function notesOf(entry: JsonObject, path: string, text: string): Map<number, LineNote[]> {
  const notes = new Map<number, LineNote[]>();
  const add = (line: number, said: string, severity: string) => {
    const there = notes.get(line) ?? [];
    if (line > 0 && there.length < 5) notes.set(line, [...there, { text: oneLine(said, 300), severity }]);
  };
  const evidence = objectAt(entry, "evidence");
  for (const finding of objectsAt(evidence, "static_findings")) {
    if (textAt(finding, "file") !== path) continue;
    add(
      numberAt(finding, "line") ?? 0,
      `${textAt(finding, "rule")}: ${textAt(finding, "reason")}`,
      textAt(finding, "severity"),
    );
  }
  const compiler = textAt(evidence, "compiler_output").slice(0, 200_000);
  for (const found of compiler.matchAll(/^(\S+?)[:(](\d+)\)?(?::\d+)?:? *((?:fatal )?error[: ].*|warning[: ].*)$/gm)) {
    const line = lineHere(entry, found[1]!, Number(found[2]), path, text);
    add(line, `compiler: ${found[3]}`, found[3]!.startsWith("w") ? "warning" : "error");
  }
  return notes;
}

// The line of this file that a compiler or Python means; 0: none of it. A source in a string of a module has a name of
// its own: there the line is found by its text, which the compiler quotes.
function lineHere(entry: JsonObject, file: string, line: number, path: string, text: string): number {
  if (file === path || (path === "" ? /(^|\/)candidate\.\w+$/.test(file) : file.endsWith("/" + path))) return line;
  if (line === 0 || file.includes("/include/")) return 0;
  const compiler = textAt(objectAt(entry, "evidence"), "compiler_output").slice(0, 200_000);
  const quoted = new RegExp(`^ *${line} \\| ?(.*)$`, "m").exec(compiler)?.[1]?.trim() ?? "";
  if (quoted.length < 4) return 0;
  const lines = text.split("\n");
  const first = lines.findIndex((each) => each.trim() === quoted);
  return first >= 0 && lines.findIndex((each, index) => index > first && each.trim() === quoted) < 0 ? first + 1 : 0;
}
