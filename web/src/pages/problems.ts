// All problems: what they are, and how far candidates have come.
import type { ProblemLine } from "../documents.ts";
import { h, replace } from "../dom.ts";
import { entryLink, speedupCell, speedupValues } from "../entriestable.ts";
import { countOutcomes, outcomeBar } from "../outcomes.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { problemMap } from "../problem_map.ts";
import { filtersOf, selectRows } from "../rows.ts";
import { addressOf } from "../router.ts";
import { naturalOrder } from "../samples.ts";
import { chosenSetting, select, settingSelect, settingsOf } from "../settings.ts";
import { table, type Column } from "../table.ts";
import { formatCount, formatShare, formatTime, none, oneLine, plural } from "../text.ts";

interface Line {
  problem: ProblemLine;
  rows: number[];
  best: number | null; // the row of the largest speedup
}

const facets = [
  ["deck", "Deck"],
  ["family", "Family"],
  ["dominated_by", "Dominated by"],
] as const;

export const makeProblemsPage: PageMaker = async (context) => {
  const find = h("input", {
    type: "search",
    placeholder: "number or title has …",
    "aria-label": "Text in numbers and titles of problems",
  });
  find.value = context.query.get("text") ?? "";
  find.addEventListener("input", () => context.setQuery({ text: find.value.trim() || null, page: null }));
  const pickers = h("div", { class: "pickers" });
  const count = h("span", { class: "count", role: "status" });
  let lines = linesOf(context, pickers);
  const list = table(context, {
    caption: "Problems",
    columns: columnsOf(context),
    rows: lines,
    empty:
      context.catalog.problems.length === 0
        ? "This installation has no problem files."
        : "No problem passes: change what is chosen above.",
  });
  const map = h("div", {});
  let mapped = "";
  const drawMap = () => {
    const rows = lines.flatMap((line) => line.rows);
    const choices = settingsOf(context.catalog, rows);
    const setting = chosenSetting(context, choices);
    const ids = rows.map((row) => context.catalog.entries.id[row]);
    const now = [context.query.get("map"), setting?.key, ...ids].join();
    if (now === mapped) return;
    mapped = now;
    replace(map, problemMap(context, rows, new Set(lines.map((line) => line.problem.problem)), oneLine(setting?.label ?? "", 200)));
  };
  const say = () =>
    (count.textContent = `${plural(lines.length, "problem")}, ${formatCount(lines.filter((line) => line.rows.length > 0).length)} of them attempted`);
  context.onChange(() => {
    if (document.activeElement !== find) find.value = context.query.get("text") ?? "";
    lines = linesOf(context, pickers);
    list.update(lines);
    drawMap();
    say();
  });
  drawMap();
  say();
  context.offerDownload("problems", () =>
    lines.map((line) => ({
      ...line.problem,
      evaluations: line.rows.length,
      best:
        line.best === null
          ? null
          : { id: context.catalog.entries.id[line.best], speedup: context.catalog.entries.speedup[line.best] },
    })),
  );
  return {
    title: "Problems",
    body: h(
      "div",
      {},
      h("h1", {}, "Problems"),
      h(
        "form",
        { class: "filters", role: "search", onsubmit: (event: Event) => event.preventDefault() },
        find,
        pickers,
        count,
      ),
      map,
      list.element,
    ),
  };
};

// Those that were attempted first.
function linesOf(context: PageContext, pickers: HTMLElement): Line[] {
  const { catalog, query } = context;
  const { entries, values } = catalog;
  const choices = settingsOf(catalog, selectRows(catalog, filtersOf(new URLSearchParams())));
  const chosen = chosenSetting(context, choices);
  const facet = (key: (typeof facets)[number][0]) =>
    [...new Set(catalog.problems.map((line) => line[key]))].sort(naturalOrder);
  if (!pickers.contains(document.activeElement)) {
    replace(
      pickers,
      facets.map(([key, label]) =>
        select(
          context,
          label,
          key,
          [["", "any"], ...facet(key).map((value): [string, string] => [value || "-", oneLine(value) || "not known"])],
          query.get(key) ?? "",
        ),
      ),
      select(
        context,
        "Attempted",
        "attempted",
        [
          ["", "or not"],
          ["1", "yes"],
          ["0", "no"],
        ],
        query.get("attempted") ?? "",
      ),
      chosen && settingSelect(context, choices, chosen),
    );
  }
  const rows = new Map<string, number[]>();
  for (const row of chosen?.rows ?? []) {
    const problem = values.problem[entries.problem[row]!]!;
    const of = rows.get(problem);
    if (of) of.push(row);
    else rows.set(problem, [row]);
  }
  const terms = (query.get("text") ?? "")
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  const attempted = query.get("attempted");
  const known = new Set(catalog.problems.map((line) => line.problem));
  const others = [...rows.keys()]
    .filter((problem) => !known.has(problem))
    .map((problem): ProblemLine => ({
      problem,
      title: "",
      deck: "other",
      level: "other",
      family: "",
      dominated_by: "",
      scored: false,
      unscored_reason: "this installation has no such problem",
    }));
  return [...catalog.problems, ...others]
    .filter(
      (line) =>
        facets.every(([key]) => !query.get(key) || (line[key] || "-") === query.get(key)) &&
        terms.every((term) => `${line.problem} ${line.title}`.toLowerCase().includes(term)) &&
        (!attempted || (attempted === "1") === rows.has(line.problem)),
    )
    .map((problem) => {
      const own = rows.get(problem.problem) ?? [];
      const timed = own.filter((row) => entries.speedup[row] !== null);
      const best = timed.reduce<number | null>(
        (so_far, row) => (so_far === null || entries.speedup[row]! > entries.speedup[so_far]! ? row : so_far),
        null,
      );
      return { problem, rows: own, best };
    })
    .sort(
      (a, b) =>
        Number(b.rows.length > 0) - Number(a.rows.length > 0) ||
        naturalOrder(a.problem.deck, b.problem.deck) ||
        naturalOrder(a.problem.problem, b.problem.problem),
    );
}

function columnsOf(context: PageContext): Column<Line>[] {
  const entries = () => context.catalog.entries;
  return [
    {
      key: "problem",
      title: "Problem",
      sort: (line) => (line.problem.deck === "other" ? "~" : "") + line.problem.problem,
      csv: { Problem: (line) => line.problem.problem },
      cell: (line) => h("a", { href: addressOf("problem", [line.problem.problem]) }, oneLine(line.problem.problem, 50)),
    },
    {
      key: "title",
      title: "Title",
      clip: true,
      sort: (line) => line.problem.title,
      cell: (line) => h("span", { title: oneLine(line.problem.title, 300) }, oneLine(line.problem.title, 100)),
    },
    {
      key: "best",
      title: "Best speedup",
      number: true,
      descending: true,
      help: "of all candidates in this setting, with its 95% interval",
      sort: (line) => (line.best === null ? null : entries().speedup[line.best]!),
      csv: {
        ...speedupValues(() => context.catalog, (line: Line) => line.best, "Best speedup"),
        "ID of the best": (line) => (line.best === null ? null : entries().id[line.best]!),
      },
      cell: (line) =>
        line.best === null ? none : entryLink(entries().id[line.best]!, speedupCell(context.catalog, line.best)),
    },
    {
      key: "time",
      title: "Its time",
      number: true,
      secondary: true,
      optional: true,
      sort: (line) => (line.best === null ? null : entries().candidate_us[line.best]!),
      csv: { "Its time (µs)": (line) => (line.best === null ? null : entries().candidate_us[line.best]!) },
      cell: (line) => (line.best === null ? none : formatTime(entries().candidate_us[line.best])),
    },
    {
      key: "fraction",
      title: "Of limit",
      number: true,
      secondary: true,
      optional: true,
      descending: true,
      help: "share of the speed of light that the best reaches",
      sort: (line) => (line.best === null ? null : entries().fraction[line.best]!),
      cell: (line) => (line.best === null ? none : formatShare(entries().fraction[line.best])),
    },
    {
      key: "count",
      title: "Evaluations",
      number: true,
      secondary: true,
      descending: true,
      sort: (line) => line.rows.length,
      cell: (line) => formatCount(line.rows.length),
    },
    {
      key: "outcomes",
      title: "Outcomes",
      secondary: true,
      cell: (line) => line.rows.length > 0 && outcomeBar(countOutcomes(context.catalog, line.rows)),
    },
    {
      key: "family",
      title: "Family",
      secondary: true,
      sort: (line) => line.problem.family,
      cell: (line) => oneLine(line.problem.family),
    },
    {
      key: "dominated_by",
      title: "Dominated by",
      secondary: true,
      sort: (line) => line.problem.dominated_by,
      cell: (line) => oneLine(line.problem.dominated_by),
    },
    {
      key: "scored",
      title: "Scored",
      secondary: true,
      sort: (line) => String(line.problem.scored),
      cell: (line) =>
        line.problem.scored
          ? "yes"
          : h("span", { class: "muted", title: oneLine(line.problem.unscored_reason, 300) }, "no"),
    },
  ];
}
