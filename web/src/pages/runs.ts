// All runs: how far each is, what came out, what it cost.
import type { RunLine } from "../documents.ts";
import { h, replace } from "../dom.ts";
import { outcomeBar, outcomeLegend, outcomesOfRun } from "../outcomes.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { perCorrectColumns, type PerCorrect } from "../per_correct.ts";
import { queryOfFilters, runLabel } from "../rows.ts";
import { addressOf } from "../router.ts";
import { table, type Column } from "../table.ts";
import { dateElement, formatCount, formatLarge, formatUsd, none, oneLine, plural } from "../text.ts";

const judged = (line: RunLine) => line.jobs.done + line.jobs.failed;
const jobs = (line: RunLine) => judged(line) + line.jobs.queued + line.jobs.running;
const evaluations = (line: RunLine) => Object.values(line.verdicts).reduce((sum, count) => sum + count, 0);
const going = (line: RunLine) => line.jobs.queued + line.jobs.running > 0;

function progress(line: RunLine): HTMLElement {
  const words = `${formatCount(judged(line))} of ${formatCount(jobs(line))}`;
  if (!going(line))
    return h("span", { class: "muted" }, formatCount(evaluations(line)), line.jobs.failed > 0 && failed(line));
  return h(
    "span",
    { class: "progress" },
    h("progress", { value: judged(line), max: jobs(line), "aria-label": words }),
    h(
      "span",
      {},
      words,
      line.jobs.running > 0 && h("span", { class: "muted" }, `, ${line.jobs.running} running`),
      line.jobs.failed > 0 && failed(line),
    ),
  );
}

const failed = (line: RunLine) =>
  h(
    "span",
    { class: "muted", title: "the engine failed at these: kernelbench score says why" },
    `, ${line.jobs.failed} failed`,
  );

function rate(line: RunLine): string {
  if (line.evaluations_per_s === null || line.evaluations_per_s === 0) return none;
  const a_minute = line.evaluations_per_s * 60;
  return `${a_minute < 10 ? a_minute.toFixed(1) : Math.round(a_minute)} / min`;
}

function left(line: RunLine): string {
  if (line.evaluations_per_s === null || line.evaluations_per_s <= 0) return "";
  const seconds = (line.jobs.queued + line.jobs.running) / line.evaluations_per_s;
  return seconds < 90
    ? "about a minute left"
    : seconds < 5400
      ? `about ${Math.round(seconds / 60)} min left`
      : `about ${Math.round(seconds / 3600)} h left`;
}

const tokens = (line: RunLine) =>
  line.input_tokens === null && line.output_tokens === null
    ? null
    : (line.input_tokens ?? 0) + (line.output_tokens ?? 0);

function perCorrect(line: RunLine): PerCorrect | null {
  const count = line.verdicts["correct"] ?? 0;
  const each = (sum: number | null) => (sum === null || count === 0 ? null : sum / count);
  return { count, usd: each(line.usd), tokens: each(tokens(line)) };
}

const columnsOf = (context: PageContext): Column<RunLine>[] => [
  {
    key: "run",
    title: "Run",
    sort: (line) => line.run,
    cell: (line) =>
      line.run === ""
        ? h("a", { href: addressOf("entries", [], { run: "" }) }, runLabel(""))
        : h("a", { href: addressOf("run", [line.run]), title: oneLine(line.run, 300) }, oneLine(line.run, 48)),
  },
  {
    key: "models",
    title: "Models",
    secondary: true,
    sort: (line) => line.models.join(),
    cell: (line) =>
      line.models.length === 0
        ? h("span", { class: "muted" }, "(no model)")
        : h(
            "span",
            { title: line.models.map((model) => oneLine(model)).join(", ") },
            line.models
              .slice(0, 2)
              .flatMap((model, at) => [
                at > 0 && ", ",
                h("a", { href: addressOf("run", [], { model }) }, oneLine(model, 40)),
              ]),
            line.models.length > 2 && ` and ${line.models.length - 2} more`,
          ),
  },
  {
    key: "strategy",
    title: "Strategy",
    secondary: true,
    optional: true,
    sort: (line) => line.strategy,
    cell: (line) => oneLine(line.strategy ?? none),
  },
  {
    key: "progress",
    title: "Evaluations",
    descending: true,
    help: "those that there are, or while it runs how many jobs have ended",
    sort: (line) => evaluations(line),
    cell: progress,
  },
  {
    key: "rate",
    title: "Rate",
    number: true,
    secondary: true,
    optional: true,
    descending: true,
    help: "evaluations a minute, over the last minutes",
    sort: (line) => line.evaluations_per_s || null,
    csv: { "Evaluations a second": (line) => line.evaluations_per_s },
    cell: (line) => h("span", { title: left(line) || null }, rate(line)),
  },
  {
    key: "verdicts",
    title: "Outcomes",
    descending: true,
    help: "sorted by the share that is right",
    sort: (line) => (outcomesOfRun(context.catalog, line).get("right") ?? 0) / Math.max(1, evaluations(line)),
    csv: "text",
    cell: (line) => outcomeBar(outcomesOfRun(context.catalog, line)),
  },
  {
    key: "usd",
    title: "Cost",
    number: true,
    secondary: true,
    optional: true,
    descending: true,
    help: "of the models' answers, in US dollars",
    sort: (line) => line.usd,
    csv: { "Cost (US$)": (line) => line.usd },
    cell: (line) => formatUsd(line.usd),
  },
  {
    key: "tokens",
    title: "Tokens",
    number: true,
    secondary: true,
    optional: true,
    descending: true,
    help: "read and written by models",
    sort: tokens,
    cell: (line) =>
      tokens(line) === null
        ? none
        : h(
            "span",
            { title: `${formatCount(line.input_tokens)} read, ${formatCount(line.output_tokens)} written` },
            formatLarge(tokens(line)),
          ),
  },
  ...perCorrectColumns(perCorrect, context.catalog.runs),
  {
    key: "last",
    title: "Newest",
    descending: true,
    help: "when its newest evaluation ended",
    sort: (line) => line.last,
    cell: (line) => dateElement(line.last),
  },
];

function judging(context: PageContext): HTMLElement | null {
  const now = context.catalog.runs.flatMap((line) => line.judging.map((job) => ({ ...job, run: line.run })));
  if (now.length === 0) return null;
  return h(
    "section",
    {},
    h("h2", {}, "Judged now"),
    h(
      "ul",
      { class: "plain" },
      now.map((job) =>
        h(
          "li",
          {},
          h("a", { href: addressOf("problem", [job.problem]) }, oneLine(job.problem)),
          ` ${oneLine(job.candidate, 80)} `,
          h(
            "span",
            { class: "muted" },
            "of ",
            h("a", { href: addressOf("run", [job.run]) }, oneLine(runLabel(job.run), 60)),
            job.since !== null && [" since ", dateElement(job.since)],
          ),
        ),
      ),
    ),
  );
}

function figures(lines: RunLine[]): HTMLElement {
  const sum = (of: (line: RunLine) => number) => lines.reduce((total, line) => total + of(line), 0);
  const figure = (value: string, name: string) =>
    h("li", {}, h("span", { class: "value" }, value), h("span", { class: "name" }, name));
  const named = lines.filter((line) => line.run !== "").length;
  const costs = lines.filter((line) => line.usd !== null);
  return h(
    "ul",
    { class: "figures" },
    figure(formatCount(named), named === 1 ? "run" : "runs"),
    figure(formatCount(sum(evaluations)), sum(evaluations) === 1 ? "evaluation" : "evaluations"),
    sum((line) => line.jobs.running) > 0 && figure(formatCount(sum((line) => line.jobs.running)), "running"),
    sum((line) => line.jobs.queued) > 0 && figure(formatCount(sum((line) => line.jobs.queued)), "queued"),
    costs.length > 0 &&
      figure(
        formatUsd(sum((line) => line.usd ?? 0)),
        costs.length < lines.length ? `spent in ${plural(costs.length, "run")} whose cost is known` : "spent",
      ),
  );
}

export const makeRunsPage: PageMaker = async (context) => {
  const find = h("input", {
    type: "search",
    placeholder: "run or model has …",
    "aria-label": "Text in the names of runs and models",
  });
  find.value = context.query.get("text") ?? "";
  find.addEventListener("input", () => context.setQuery({ text: find.value.trim() || null, page: null }));
  const lines = () => {
    const terms = (context.query.get("text") ?? "")
      .toLowerCase()
      .split(/\s+/)
      .filter((term) => term !== "");
    return context.catalog.runs.filter((line) => {
      const text = `${line.run} ${line.models.join(" ")} ${line.strategy ?? ""}`.toLowerCase();
      return terms.every((term) => text.includes(term));
    });
  };
  const empty = h(
    "div",
    {},
    context.catalog.runs.length === 0
      ? [
          h(
            "p",
            {},
            "There are no runs yet. ",
            h("code", {}, "kernelbench generate level1 --model openai:NAME --run first"),
            " has a model write candidates and judges them; ",
            h("code", {}, "kernelbench run DIR"),
            " judges a folder of them.",
          ),
          h(
            "p",
            {},
            h("a", { href: addressOf("entries") }, plural(context.catalog.entries.id.length, "evaluation")),
            " without a run.",
          ),
        ]
      : "No run and no model has these words in its name.",
  );
  const list = table(context, { caption: "Runs", columns: columnsOf(context), rows: lines(), empty, sort: "-last" });
  const head = h("div", {});
  const now = h("div", {});
  const draw = () => {
    const shown = lines();
    const counts = new Map<string, number>();
    for (const line of shown)
      for (const [key, count] of outcomesOfRun(context.catalog, line)) counts.set(key, (counts.get(key) ?? 0) + count);
    const run = shown.length < context.catalog.runs.length ? shown.map((line) => line.run) : [];
    const link = (key: string) => addressOf("entries", [], queryOfFilters({ run, outcome: [key] }));
    replace(head, figures(shown), outcomeLegend(counts, run.length <= 20 ? link : null));
    replace(now, judging(context));
  };
  let drawn = context.catalog;
  let text = context.query.get("text");
  context.onChange(() => {
    if (document.activeElement !== find) find.value = context.query.get("text") ?? "";
    if (drawn === context.catalog && text === context.query.get("text")) return;
    drawn = context.catalog;
    text = context.query.get("text");
    draw();
    list.update(lines());
  });
  draw();
  context.offerDownload("runs", () => lines());
  return {
    title: "Runs",
    body: h(
      "div",
      {},
      h("h1", {}, "Runs"),
      head,
      h("form", { class: "filters", role: "search", onsubmit: (event: Event) => event.preventDefault() }, find),
      list.element,
      now,
    ),
  };
};
