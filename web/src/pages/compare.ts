// Two models side by side, as `kernelbench compare` says.
import { aIsBetter, conclusionOf, pValueText, type Comparison, type Figure } from "../comparison.ts";
import { withCsv, type Value } from "../csv.ts";
import { documentNames, type Json, type JsonObject } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import { problemLink } from "../entriestable.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { filterKeys, filtersOf, modelLabel, valueLabel, type ListKey } from "../rows.ts";
import { addressOf } from "../router.ts";
import { settingKey, settingLabel, type Setting } from "../samples.ts";
import { DocumentError } from "../source.ts";
import { foldingTable, table, type Column } from "../table.ts";
import {
  formatCount,
  formatInterval,
  formatNumber,
  formatShare,
  formatSpeedup,
  none,
  oneLine,
  plural,
} from "../text.ts";

const nobody = "(none)"; // in the address, for candidates that are nobody's

export const makeComparePage: PageMaker = async (context) => {
  const [a = "", b = ""] = context.parts;
  const title = h("h1", {}, "Compare two models");
  if (a === "" || b === "" || a === b)
    return {
      title: "Compare",
      body: h("div", {}, title, chooser(context, a, b), h("div", { class: "empty" }, "Choose two models.")),
    };
  const [first, second] = [a, b].map((each) => (each === nobody ? "" : each)) as [string, string];
  const found = await read(context, first, second);
  const turned = found ? null : await read(context, second, first);
  const document = found ?? turned;
  if (document === null) {
    return {
      title: "Compare",
      body: h(
        "div",
        {},
        title,
        chooser(context, a, b),
        h(
          "div",
          { class: "empty" },
          "These pages hold no comparison of ",
          h("b", {}, oneLine(a)),
          " and ",
          h("b", {}, oneLine(b)),
          ": they attempted no problem in common in one setting, or it was left out when the pages were written. On the machine with the store: ",
          h("code", {}, oneLine(`kernelbench compare ${quoted(first)} ${quoted(second)}`, 400)),
        ),
      ),
    };
  }
  const names = turned ? ([second, first] as const) : ([first, second] as const);
  const levels = (document["levels"] as Record<string, JsonObject[]> | undefined) ?? {};
  context.offerDownload(`compare-${a}-${b}`, () => document);
  const body = h("div", {});
  // As the address says, which may change while the page is shown.
  function draw(): void {
    const level = levelOf(context, Object.keys(levels));
    const settings = (level === "" ? (document!["settings"] as JsonObject[] | undefined) : levels[level]) ?? [];
    const asked = context.query.get("setting") ?? "";
    const keyOf = (setting: JsonObject) => settingKey(setting as unknown as Setting);
    const shown = settings.some((each) => keyOf(each) === asked)
      ? settings.filter((each) => keyOf(each) === asked)
      : settings;
    replace(
      body,
      h("h1", {}, "Compare two models"),
      chooser(context, a, b, levels, level),
      droppedFilters(context, level),
      shown.length < settings.length &&
        h(
          "p",
          {},
          "The setting that you came from. ",
          h(
            "a",
            { href: addressOf("compare", [a, b], new URLSearchParams(level === "" ? "" : { deck: level })) },
            `All ${settings.length} settings in common`,
          ),
        ),
      asked !== "" &&
        settings.length > 0 &&
        shown === settings &&
        h("p", { class: "notice" }, "They have no problem in common in the setting that you came from: these are others."),
      settings.length === 0 &&
        h("div", { class: "empty" }, "They were judged in no setting in common, or attempted no problem in common."),
      shown.map((setting, at) => section(context, setting, names, at)),
      h(
        "p",
        { class: "muted" },
        level === "" ? "Over all problems" : h("b", {}, `Over the problems of ${oneLine(level)}`),
        " that both attempted, each counting once with the mean over all its samples. A difference is significant where p is below 0.05; each row is a test of its own.",
      ),
    );
  }
  draw();
  context.onChange(draw);
  return { title: `${modelLabel(first)} against ${modelLabel(second)}`, body };
};

// What the address asks for, where it names one that they have: a deck, or a level that is of one deck alone.
function levelOf(context: PageContext, known: string[]): string {
  const { deck, level } = filtersOf(context.query);
  const asked = known.filter(
    (each) => (deck.length === 0 || deck.includes(each)) && (level.length === 0 || level.includes(each.replace(/^.*level/, ""))),
  );
  return deck.length + level.length > 0 && asked.length === 1 ? asked[0]! : "";
}

// A comparison is made over all problems, or those of a level: other filters of the page that led here do not hold.
function droppedFilters(context: PageContext, level: string): Child {
  const filters = filtersOf(context.query);
  const names = filterKeys
    .filter((key): key is ListKey => Array.isArray(filters[key as ListKey]))
    .filter((key) => level === "" || (key !== "level" && key !== "deck"))
    .flatMap((key) => filters[key].map((value) => `${key} ${valueLabel(key, value)}`))
    .concat([filters.text && `“${filters.text}”`, filters.from && `from ${filters.from}`, filters.to && `to ${filters.to}`])
    .filter((name) => name !== "");
  return (
    names.length > 0 &&
    h(
      "p",
      { class: "notice" },
      `The filters of the page that you came from do not hold here: ${oneLine(names.join(", "), 300)}. These figures are over all runs${level === "" ? ", levels" : ""} and problems${level === "" ? "" : " of the level"}.`,
    )
  );
}

// Null where there is none.
async function read(context: PageContext, a: string, b: string): Promise<JsonObject | null> {
  const { model } = context.catalog.values;
  if (!model.includes(a) || !model.includes(b)) return null;
  try {
    return (await context.source.document(documentNames.compare(a, b))) as JsonObject;
  } catch (error) {
    if (error instanceof DocumentError && error.kind === "gone") return null;
    throw error;
  }
}

const quoted = (name: string): string =>
  /^[A-Za-z0-9@:/._-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

function chooser(
  context: PageContext,
  a: string,
  b: string,
  levels: Record<string, JsonObject[]> = {},
  level = "",
): HTMLElement {
  const query: Record<string, string> = level === "" ? {} : { deck: level };
  const models = context.catalog.values.model.map((model) => model || nobody);
  const select = (label: string, value: string, go: (chosen: string) => string[]) =>
    h(
      "label",
      {},
      `${label} `,
      h(
        "select",
        {
          onchange: (event: Event) =>
            (location.hash = addressOf("compare", go((event.target as HTMLSelectElement).value), query)),
        },
        !models.includes(value) && h("option", { value }, value === "" ? "choose …" : oneLine(value, 60)),
        models.map((model) => h("option", { value: model, selected: model === value }, oneLine(model, 60))),
      ),
    );
  return h(
    "div",
    { class: "pickers" },
    select("A", a, (chosen) => [chosen, b || nobody]),
    select("B", b, (chosen) => [a || nobody, chosen]),
    Object.keys(levels).length > 0 &&
      h(
        "label",
        {},
        "on ",
        h(
          "select",
          {
            name: "level",
            onchange: (event: Event) => {
              const deck = (event.target as HTMLSelectElement).value;
              location.hash = addressOf("compare", [a, b], new URLSearchParams(deck === "" ? "" : { deck }));
            },
          },
          ["", ...Object.keys(levels)].map((each) =>
            h("option", { value: each, selected: each === level }, each === "" ? "all problems" : oneLine(each, 40)),
          ),
        ),
      ),
    h("a", { href: addressOf("compare", [b, a], context.query) }, "swap"),
  );
}

function figuresOf(setting: JsonObject): Figure[] {
  const fast = (setting["fast_p"] as unknown as Comparison[] | undefined) ?? [];
  const speedups = [
    ["speedup_with_floor", "speedup, incorrect as 0.1×"],
    ["speedup_both_correct", "speedup where both are correct"],
  ] as const;
  return [
    ...fast.map((of) => ({ name: of.p === 0 ? "correct (fast_0)" : `fast_${of.p}`, of, share: true })),
    ...speedups
      .filter(([key]) => setting[key])
      .map(([key, name]) => ({ name, of: setting[key] as unknown as Comparison, share: false })),
  ];
}

// Of a file: shares and their differences from 0 to 1.
const valuesOf = (rows: Figure[]): Value[][] => [
  ["Figure", "A", "B", "A - B", "A / B", "Low", "High", "p", "Difference shown", "Problems"],
  ...rows.map(({ name, of }) => [
    name, of.a, of.b, of.difference ?? null, of.ratio ?? null, of.interval?.[0] ?? null, of.interval?.[1] ?? null,
    of.p_value, of.difference_shown, of.problems,
  ]),
];

function section(
  context: PageContext,
  setting: JsonObject,
  [a, b]: readonly [string, string],
  at: number,
): HTMLElement {
  const rows = figuresOf(setting);
  const value = (row: Figure, of: number | null) => (row.share ? formatShare(of, 1) : formatSpeedup(of));
  const difference = (row: Figure) =>
    row.share
      ? `${points(row.of.difference)} (${row.of.interval ? `${points(row.of.interval[0])} to ${points(row.of.interval[1])}` : "no interval"}) points`
      : `${formatNumber(row.of.ratio)} (${formatInterval(row.of.interval?.[0], row.of.interval?.[1], "")})`;
  const label = settingLabel(setting as unknown as Setting);
  const missing = ["missing_a", "missing_b"].reduce(
    (sum, key) => sum + ((setting[key] as Json[] | undefined)?.length ?? 0),
    0,
  );
  const names = [a, b].map((name) => oneLine(modelLabel(name), 60)) as [string, string];
  const said = conclusionOf(rows, names);
  const heads = ["Figure", `A: ${oneLine(names[0], 30)}`, `B: ${oneLine(names[1], 30)}`, "A − B, or A / B", "p", "Difference", "Problems"];
  const cells = (row: Figure): Child[] => [
    row.name,
    value(row, row.of.a),
    value(row, row.of.b),
    difference(row),
    pValueText(row.of.p_value) ?? none,
    row.of.difference_shown
      ? h("b", {}, `significant: ${aIsBetter(row.of) ? "A" : "B"} is better`)
      : h("span", { class: "muted" }, "not significant"),
    formatCount(row.of.problems),
  ];
  const box = foldingTable(`Comparison: ${oneLine(label)}`, heads, [1, 2, 3, 4, 6], rows.map(cells));
  return h(
    "section",
    {},
    h("h2", {}, oneLine(label)),
    said && h("p", { class: "conclusion" }, h("b", {}, said.answer), said.grounds, said.others),
    h(
      "p",
      { class: "muted" },
      `${plural(Number(setting["problems"]), "problem")} in common, ${formatCount(Number(setting["only_a"]))} attempted by A alone, ${formatCount(Number(setting["only_b"]))} by B alone. `,
      `Samples: ${formatCount(Number(setting["samples_a"]))} of A, ${formatCount(Number(setting["samples_b"]))} of B. `,
      missing > 0 &&
        `${plural(missing, "candidate")} without a verdict or a time count as failing, and a difference is significant only where it is so either way.`,
    ),
    withCsv(`Comparison of ${oneLine(names[0], 30)} and ${oneLine(names[1], 30)}`, box, () => valuesOf(rows)),
    differMost(context, setting, [a, b], at),
  );
}

const points = (of: number | null | undefined): string =>
  of === null || of === undefined ? "?" : `${of > 0 ? "+" : of < 0 ? "−" : ""}${Math.abs(of * 100).toFixed(1)}`;

interface Differing {
  problem: string;
  a: { samples: number; correct: number; speedup: number | null };
  b: { samples: number; correct: number; speedup: number | null };
  ratio: number;
}

const sideValues = (name: string, of: (row: Differing) => Differing["a"]): Record<string, (row: Differing) => Value> => ({
  [`${name}, speedup`]: (row) => of(row).speedup,
  [`${name}, correct`]: (row) => of(row).correct,
  [`${name}, samples`]: (row) => of(row).samples,
});

function differMost(context: PageContext, setting: JsonObject, [a, b]: readonly [string, string], at: number): Child {
  const rows = (setting["differ_most"] as unknown as Differing[] | undefined) ?? [];
  if (rows.length === 0) return null;
  const cell = (of: Differing["a"], model: string, problem: string) =>
    h(
      "a",
      { href: addressOf("entries", [], { model, problem }) },
      of.correct === 0 ? none : formatSpeedup(of.speedup),
      h("span", { class: "muted" }, ` ${of.correct} of ${plural(of.samples, "sample")} correct`),
    );
  const columns: Column<Differing>[] = [
    {
      key: "problem",
      title: "Problem",
      clip: true,
      sort: (row) => row.problem,
      cell: (row) => problemLink(context.catalog, row.problem),
    },
    {
      key: "a",
      title: "A",
      number: true,
      help: "mean speedup of what is correct, and how many samples are",
      sort: (row) => row.a.speedup,
      csv: sideValues("A", (row) => row.a),
      cell: (row) => cell(row.a, a, row.problem),
    },
    {
      key: "b",
      title: "B",
      number: true,
      help: "mean speedup of what is correct, and how many samples are",
      sort: (row) => row.b.speedup,
      csv: sideValues("B", (row) => row.b),
      cell: (row) => cell(row.b, b, row.problem),
    },
    {
      key: "ratio",
      title: "A / B",
      number: true,
      help: "of speedups, an incorrect sample counting as 0.1×",
      sort: (row) => row.ratio,
      cell: (row) => formatNumber(row.ratio),
    },
  ];
  return [
    h("h3", {}, "Where they differ most"),
    h("p", { class: "muted" }, "A and B: the mean speedup of the correct samples. A / B counts an incorrect sample as 0.1×."),
    h("div", { class: "folds" }, table(context, {
      caption: `Problems where they differ most: ${oneLine(settingLabel(setting as unknown as Setting))}`,
      name: `s${at}`,
      columns,
      rows,
      empty: "",
    }).element),
  ];
}
