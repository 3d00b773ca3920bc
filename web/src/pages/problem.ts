// One problem: what it computes, its sizes, and the place of every candidate between the baseline and the limit.
import { documentNames, type Json, type JsonObject, type ProblemDocument } from "../documents.ts";
import { h, replace, type Child } from "../dom.ts";
import { entriesTable, entryLink, rowsAsJson } from "../entriestable.ts";
import { countOutcomes, outcomeLegend } from "../outcomes.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { indexOf, filtersOf, selectRows } from "../rows.ts";
import { settingSelect, settingsOf, chosenSetting, type SettingChoice } from "../settings.ts";
import { sourceRows } from "../entry/code_rows.ts";
import { linesView } from "../entry/lines.ts";
import { copyButton, downloadButton } from "../entry/parts.ts";
import { fileName } from "../save.ts";
import { DocumentError } from "../source.ts";
import { bestOverTime, placesChart, limitOf } from "../charts/problem.ts";
import { plainTable } from "../table.ts";
import {
  dateElement,
  formatBytes,
  formatLarge,
  formatShare,
  formatSpeedupWithInterval,
  formatTime,
  formatInterval,
  none,
  oneLine,
  plural,
  visible,
} from "../text.ts";

export const makeProblemPage: PageMaker = async (context) => {
  const problem = context.parts.join("/");
  const known = indexOf(context.catalog).problems.has(problem);
  if (!known && !context.catalog.values.problem.includes(problem))
    throw new DocumentError("gone", `There is no problem ${oneLine(problem, 60)} here.`);
  let document: ProblemDocument | null = null;
  try {
    document = (await context.source.document(documentNames.problem(problem))) as unknown as ProblemDocument;
  } catch (error) {
    if (!(error instanceof DocumentError) || error.kind !== "gone") throw error;
  }
  const line = document?.line ?? indexOf(context.catalog).problems.get(problem);
  const results = h("div", {});
  const rows = () =>
    selectRows(context.catalog, {
      ...filtersOf(new URLSearchParams()),
      problem: [problem],
      all: context.query.get("all") === "1",
    });
  let shown: number[] = [];
  const list = entriesTable(context, shown, {
    caption: `Evaluations of ${oneLine(problem, 60)}`,
    without: ["problem"],
    sort: "-speedup",
    empty: h("div", {}, "Nobody has tried it here yet: ", h("code", {}, `kernelbench eval ${problem} my_kernel.py`)),
  });
  let drawn = "";
  let catalog: unknown = null;
  const draw = () => {
    const state = `${context.query.get("setting")} ${context.query.get("all")}`;
    if (state === drawn && catalog === context.catalog) return;
    drawn = state;
    catalog = context.catalog;
    const choices = settingsOf(context.catalog, rows());
    const chosen = chosenSetting(context, choices);
    shown = chosen?.rows ?? [];
    replace(results, chosen ? resultsOf(context, choices, chosen, problem) : null);
    list.update(shown);
  };
  context.onChange(draw);
  draw();
  context.offerDownload(`problem-${problem}`, () => ({
    problem: document as unknown as Json,
    evaluations: rowsAsJson(context.catalog, shown),
  }));
  const what = document ? docstring(document.text) : "";
  return {
    title: `${problem} ${line?.title ?? ""}`,
    body: h(
      "div",
      {},
      h("h1", {}, oneLine(problem, 80), " ", h("span", { class: "muted" }, oneLine(line?.title ?? "", 200))),
      line &&
        h(
          "ul",
          { class: "tags" },
          [
            `level ${line.level}`,
            line.deck === `level${line.level}` ? "" : `deck ${line.deck}`,
            line.family,
            line.dominated_by && `dominated by ${line.dominated_by}`,
            line.scored ? "scored" : `not scored: ${line.unscored_reason}`,
          ]
            .filter((word) => word !== "")
            .map((word) => h("li", {}, oneLine(word, 300))),
        ),
      what !== "" && h("pre", { class: "what" }, visible(what)),
      results,
      list.element,
      document
        ? [
            sizes(context, document),
            baselines(document.baselines),
            audits(document.audits),
            reference(document.text, problem),
          ]
        : h(
            "p",
            { class: "notice" },
            "Its text, sizes and baselines are not here: this installation has no file of that problem, or the file was left out.",
          ),
    ),
  };
};

// The text between the first triple quotes, where the file begins with them.
export function docstring(text: string): string {
  const found = /^\s*[rRuU]?("""|''')([\s\S]*?)\1/.exec(text.slice(0, 20_000));
  return found ? found[2]!.trim() : "";
}

function resultsOf(context: PageContext, choices: SettingChoice[], chosen: SettingChoice, problem: string): Child {
  const { entries } = context.catalog;
  const timed = chosen.rows.filter((row) => entries.speedup[row] !== null && entries.candidate_us[row] !== null);
  const best = [...timed].sort((a, b) => entries.speedup[b]! - entries.speedup[a]!)[0];
  const limit = limitOf(context.catalog, timed);
  return [
    h("h2", {}, "Results"),
    h("div", { class: "pickers" }, settingSelect(context, choices, chosen)),
    outcomeLegend(countOutcomes(context.catalog, chosen.rows)),
    h(
      "dl",
      { class: "facts" },
      best !== undefined && [
        h("dt", {}, "Best speedup"),
        h(
          "dd",
          {},
          entryLink(
            entries.id[best]!,
            formatSpeedupWithInterval(entries.speedup[best], entries.low[best], entries.high[best]),
          ),
          ` in ${formatTime(entries.candidate_us[best])}`,
          entries.fraction[best] !== null && `, ${formatShare(entries.fraction[best])} of the speed of light`,
        ),
      ],
      best !== undefined && [
        h("dt", {}, "Baseline"),
        h("dd", {}, `${formatTime(entries.baseline_us[best])} (${oneLine(chosen.setting.baseline)}, timed beside it)`),
      ],
      limit !== null && [
        h("dt", {}, "Speed of light"),
        h("dd", {}, `${formatTime(limit)}, the least that memory and arithmetic of this device allow`),
      ],
    ),
    timed.length > 0 &&
      h(
        "div",
        { class: "columns" },
        placesChart(context, timed, chosen, problem),
        bestOverTime(context, timed, chosen, problem),
      ),
    h("h3", {}, plural(chosen.rows.length, "evaluation")),
  ];
}

function reference(text: string, problem: string): Child {
  return text === ""
    ? h("p", { class: "muted" }, "This installation has no file of that problem, so its text is not here.")
    : [
        h("h2", {}, "Reference"),
        h(
          "p",
          { class: "buttons" },
          copyButton(() => text),
          downloadButton(`${fileName(problem)}.py`, () => text, "download"),
        ),
        linesView(sourceRows(text, "python", new Map()), "Reference in PyTorch").element,
      ];
}

const number = (of: JsonObject | undefined, key: string): number | null =>
  typeof of?.[key] === "number" ? (of[key] as number) : null;
const word = (of: JsonObject | undefined, key: string): string =>
  typeof of?.[key] === "string" ? (of[key] as string) : "";
const object = (of: Json | undefined): JsonObject | undefined =>
  typeof of === "object" && of !== null && !Array.isArray(of) ? of : undefined;

function sizes(context: PageContext, document: ProblemDocument): Child {
  if (document.sizes.length === 0) return null;
  const all = selectRows(context.catalog, { ...filtersOf(new URLSearchParams()), problem: [document.line.problem] });
  const limits = (size: string) => {
    const parts = settingsOf(context.catalog, all)
      .filter((choice) => choice.setting.size === size)
      .map((choice) => ({
        device: choice.setting.device_name || choice.setting.device,
        limit: limitOf(context.catalog, choice.rows),
      }))
      .filter((each) => each.limit !== null);
    const devices = new Map(parts.map((each) => [each.device, each.limit]));
    return devices.size === 0
      ? h("span", { class: "muted" }, "not known: no candidate was timed")
      : [...devices].map(([device, limit]) => `${formatTime(limit)} on ${oneLine(device, 40)}`).join(", ");
  };
  return [
    h("h2", {}, "Sizes"),
    plainTable(
      "Sizes",
      ["Size", "Inputs", "Parameters", "Outputs", "Operations", "of products", "Speed of light"],
      [1, 2, 3, 4, 5],
      document.sizes.map((size) => {
        const figures = document.figures[size];
        return [
          oneLine(size),
          formatBytes(number(figures, "input_bytes")),
          formatBytes(number(figures, "parameter_bytes")),
          formatBytes(number(figures, "output_bytes")),
          flops(number(figures, "flops")),
          flops(number(figures, "matrix_flops")),
          limits(size),
        ];
      }),
    ),
  ];
}

const flops = (count: number | null): string =>
  count === null ? none : `${formatLarge(count)} FLOP`.replace(/ ([kMG]) FLOP/, " $1FLOP");

function baselines(rows: JsonObject[]): Child {
  return [
    h("h2", {}, "Baselines"),
    rows.length === 0
      ? h(
          "p",
          { class: "muted" },
          "None is stored by itself: evaluations time their own. ",
          h("code", {}, "kernelbench baseline"),
          " measures some to compare devices and versions of PyTorch.",
        )
      : plainTable(
          "Baselines",
          ["Kind", "Size", "Precision", "Median", "Interval", "Device", "PyTorch", "When"],
          [3, 4],
          rows.map((row) => {
            const device = object(row["device_info"]);
            const interval = Array.isArray(row["interval"]) ? (row["interval"] as number[]) : [];
            return [
              word(row, "kind"),
              word(row, "size"),
              word(row, "precision"),
              formatTime(number(row, "median_us") ?? number(row, "mean_us")),
              interval.length === 2
                ? `${formatTime(interval[0])} to ${formatTime(interval[1])}`
                : formatInterval(null, null),
              oneLine(word(device, "name") || word(row, "device")),
              oneLine(word(device, "torch")),
              dateElement(word(row, "created")),
            ];
          }),
        ),
  ];
}

function audits(rows: JsonObject[]): Child {
  if (rows.length === 0) return null;
  return [
    h("h2", {}, "Audits of the problem"),
    plainTable(
      "Audits",
      ["Size", "Device", "PyTorch", "Passes", "Why not"],
      [],
      rows.map((row) => [
        word(row, "size"),
        word(row, "device"),
        oneLine(word(row, "torch")),
        row["passes"] === true ? "yes" : "no",
        Array.isArray(row["failures"])
          ? (row["failures"] as Json[]).map((each) => oneLine(String(each), 300)).join("; ")
          : "",
      ]),
    ),
  ];
}
