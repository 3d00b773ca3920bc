// What stands beside the figures: how far samples came, why they failed, what was left out, and what is missing.
import { withCsv } from "../csv.ts";
import type { Child } from "../dom.ts";
import { h } from "../dom.ts";
import type { JsonObject } from "../documents.ts";
import { passes } from "../figures.ts";
import { withCode } from "../messages.ts";
import { verdictWords } from "../outcomes.ts";
import { addressOf } from "../router.ts";
import type { ModelView, RunView } from "../run_view.ts";
import { modelName } from "../run_view.ts";
import { missingOf, outcomeOf, stageOf, verdictOf } from "../samples.ts";
import { formatCount, formatShare, oneLine, plural } from "../text.ts";

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);
const text = (value: unknown, most = 300): string => (value === null || value === undefined ? "" : oneLine(String(value), most));
const nobody: ReadonlySet<string> = new Set();

export function plainTable(caption: string, heads: string[], numbersFrom: number, rows: Child[][]): HTMLElement {
  return h("div", {}, h("p", { class: "about" }, withCode(caption)), withCsv(caption, h("div", { class: "chart-scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { class: "chart-numbers" },
      h("thead", {}, h("tr", {}, heads.map((name, i) => h("th", { scope: "col", class: i >= numbersFrom ? "num" : "" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) =>
        i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: i >= numbersFrom ? "num" : "" }, cell)))))))));
}

interface Funnel {
  generated: number;
  static: number;
  built: number;
  ran: number;
  correct: number;
  faster: number;
}
const steps: [keyof Funnel, string][] = [["generated", "Generated"], ["static", "Text accepted"], ["built", "Built"],
  ["ran", "Ran"], ["correct", "Correct"], ["faster", "Faster"]];

function funnelOf(view: RunView, model: ModelView): Funnel {
  const stored = model.stored?.["funnel"];
  if (stored) return stored as unknown as Funnel;
  const reached = model.entries.map((entry) => stageOf(verdictOf(view.catalog, entry)));
  const from = (stage: number) => reached.filter((each) => each >= stage).length;
  const faster = model.entries.filter((entry) => passes(outcomeOf(view.catalog, entry, nobody), 1)).length;
  return { generated: reached.length, static: from(1), built: from(2), ran: from(3), correct: from(4), faster };
}

export function funnelTable(view: RunView): HTMLElement {
  return plainTable("How far samples came: all samples of the problems that count.", ["Model", ...steps.map(([, title]) => title)], 1,
    view.models.map((model) => {
      const funnel = funnelOf(view, model);
      return [model.label, ...steps.map(([key], i) => [formatCount(funnel[key]), i && funnel.generated ? h("small", {}, formatShare(funnel[key] / funnel.generated)) : null])];
    }));
}

export function failureTable(view: RunView): HTMLElement | null {
  const counts = view.models.map((model) => {
    const of = new Map<string, number>();
    for (const entry of model.entries) {
      const verdict = verdictOf(view.catalog, entry);
      if (verdict !== "correct") of.set(verdict, (of.get(verdict) ?? 0) + 1);
    }
    return of;
  });
  const verdicts = [...new Set(counts.flatMap((of) => [...of.keys()]))].sort((a, b) => stageOf(b) - stageOf(a) || (a < b ? -1 : 1));
  if (!verdicts.length) return null;
  return plainTable("Why samples failed: verdicts of those that are not correct.", ["Model", ...verdicts.map(verdictWords)], 1,
    view.models.map((model, i) => [model.label, ...verdicts.map((verdict) => formatCount(counts[i]?.get(verdict) ?? 0))]));
}

const fold = (title: string, body: HTMLElement): HTMLElement => h("details", { class: "fold" }, h("summary", {}, title), body);

const problemLink = (problem: unknown): HTMLElement => h("a", { href: addressOf("problem", [String(problem ?? "")]) }, text(problem, 60));

// `score` is of all that the page could show: these lists know no filter but the setting.
export function remarks(view: RunView, score: JsonObject | null): HTMLElement[] {
  const list: HTMLElement[] = [];
  const missing = view.models.flatMap((model) => (model.stored ? missingOf(model.stored) : []).map((each) => ({ model, each })));
  if (missing.length) {
    list.push(fold(`${plural(missing.length, "candidate")} without a verdict or a time, which make ranges of the figures`,
      plainTable("Figures are ranges, from all of these fail to all of them pass.", ["Model", "Problem", "Candidate", "Run", "Lacks", "Reason"], 9,
        missing.slice(0, 500).map(({ model, each }) => [model.label, problemLink(each.problem),
          each.sample === null ? text(each.candidate, 80) : `sample ${each.sample}`, text(each.run, 60), text(each.lacks),
          each.evaluation ? h("a", { href: addressOf("entry", [each.evaluation]) }, text(each.reason)) : text(each.reason)]))));
  }
  const unscored = view.models.flatMap((model) => objects(model.stored?.["unscored"]).map((each) => ({ model, each })));
  if (unscored.length) {
    list.push(fold(`${plural(unscored.length, "problem")} left out of all figures`,
      plainTable("Problems that count for no score, and why.", ["Model", "Problem", "Reason", "Samples"], 3,
        unscored.slice(0, 500).map(({ model, each }) => [model.label, problemLink(each["problem"]), text(each["reason"]), text(each["samples"])]))));
  }
  const engine = objects(score?.["engine"]);
  if (engine.length) {
    const failed = engine.reduce((sum, each) => sum + Number(each["failed"] ?? 0), 0);
    const open = engine.reduce((sum, each) => sum + Number(each["unfinished"] ?? 0), 0);
    list.push(fold(`${plural(failed + open, "job")} without a verdict: the engine failed at ${failed}, ${open} are queued or running`,
      plainTable("By run and rules. The same command again judges what is open; `kernelbench doctor` tells what a machine lacks.",
        ["Run", "Model", "Device, protocol, size", "Failed", "Not finished", "Errors"], 3,
        engine.map((each) => [text(each["run"], 60), modelName(String(each["model"] ?? "")), [each["device"], each["protocol"], each["size"]].map((part) => text(part, 40)).join(", "),
          text(each["failed"]), text(each["unfinished"]), objects(each["errors"]).map((error) => h("div", {}, `${text(error["jobs"])}× ${text(error["error"])}`))]))));
  }
  const mixed = objects(score?.["mixed_texts"]);
  if (mixed.length) {
    list.push(fold(`${plural(mixed.length, "problem")} with verdicts about different texts of it`,
      plainTable("The newest first. The same command again judges candidates with the present text.", ["Problem", "Text (SHA-256)", "Runs", "Verdicts"], 3,
        mixed.flatMap((each) => objects(each["texts"]).map((of) => [problemLink(each["problem"]), text(of["sha256"], 16),
          (Array.isArray(of["runs"]) ? of["runs"] : []).map((run) => text(run, 60)).join(", "), text(of["samples"])])))));
  }
  return list;
}
