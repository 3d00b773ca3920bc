// What is known of a run beside its figures: how far it is, what it asks, what it took.
import type { Catalog, JsonObject, RunLine } from "./documents.ts";
import type { Child } from "./dom.ts";
import { h } from "./dom.ts";
import { modelName } from "./run_view.ts";
import { dateElement, formatCount, formatLarge, formatNumber, formatUsd, oneLine, plural } from "./text.ts";

const fact = (name: string, ...value: Child[]): Child => h("li", {}, h("span", { class: "value" }, ...value), h("span", { class: "name" }, name));

function progress({ jobs }: RunLine): Child {
  const total = jobs.queued + jobs.running + jobs.done + jobs.failed;
  const words = [`${formatCount(jobs.done)} of ${formatCount(total)} judged`, jobs.running ? `${jobs.running} running` : "",
    jobs.queued ? `${formatCount(jobs.queued)} queued` : "", jobs.failed ? `${formatCount(jobs.failed)} that the engine failed at` : ""].filter(Boolean).join(", ");
  return h("p", { class: "run-progress" }, h("progress", { max: total || 1, value: jobs.done + jobs.failed, "aria-label": words }), " ", words);
}

function settingsList(settings: JsonObject): HTMLElement {
  const rows = Object.entries(settings).filter(([, value]) => value !== null && value !== "").map(([key, value]) =>
    [h("dt", {}, oneLine(key, 80)), h("dd", {}, oneLine(typeof value === "string" ? value : JSON.stringify(value), 2000))]);
  return h("details", { class: "fold" }, h("summary", {}, "How it was generated"), h("dl", { class: "facts" }, rows));
}

export function runFacts(catalog: Catalog, run: string | null, settings: JsonObject | null): Child {
  if (run === null) {
    return h("p", { class: "muted" }, `${plural(catalog.runs.filter(({ run: name }) => name !== "").length, "run")} together, ${catalog.scope === "store" ? "the whole store" : oneLine(catalog.scope, 300)}. `,
      h("a", { href: "#/runs" }, "Each by itself"));
  }
  const line = catalog.runs.find((each) => each.run === run);
  if (!line) return h("p", { class: "muted" }, "Evaluations without a run: those of kernelbench eval.");
  const tokens = line.input_tokens === null ? null : line.input_tokens + (line.output_tokens ?? 0);
  const open = line.jobs.queued + line.jobs.running;
  return [
    h("ul", { class: "figures" },
      line.strategy ? fact("strategy", oneLine(line.strategy, 40)) : null,
      line.models.length === 0 ? null : fact(line.models.length === 1 ? "model" : "models", line.models.length <= 2 ? line.models.map(modelName).join(", ") || "–" : String(line.models.length)),
      fact("began", dateElement(line.created)), fact("last verdict", dateElement(line.last)),
      line.evaluations_per_s !== null ? fact("evaluations a minute", formatNumber(line.evaluations_per_s * 60)) : null,
      line.usd !== null ? fact("spent", formatUsd(line.usd)) : null,
      tokens !== null ? fact("tokens", h("span", { title: `${formatCount(line.input_tokens)} in, ${formatCount(line.output_tokens)} out` }, formatLarge(tokens))) : null),
    open || line.jobs.failed ? progress(line) : null,
    line.judging.length ? h("p", { class: "muted" }, "Being judged: ", line.judging.map(({ problem, candidate, since }, i) =>
      [i ? "; " : "", `${oneLine(problem, 40)} ${oneLine(candidate, 60)}`, since ? [" since ", dateElement(since)] : ""])) : null,
    settings ? settingsList(settings) : null,
  ];
}
