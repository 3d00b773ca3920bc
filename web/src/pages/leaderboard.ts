// Models, and single entries, in one setting: places by intervals.
import { boardOf, measureOf, measures, type Board } from "../board.ts";
import { entriesTableByPlace, modelTable } from "../boardtables.ts";
import { documentNames, type Json, type JsonObject } from "../documents.ts";
import { h, replace } from "../dom.ts";
import { rowsAsJson } from "../entriestable.ts";
import { filterBar } from "../filterbar.ts";
import type { PageContext, PageMaker } from "../page.ts";
import { addressOf } from "../router.ts";
import { filtersOf, queryOfFilters } from "../rows.ts";
import { settingKey, type Setting } from "../samples.ts";
import { nowhereNotice, select, settingNotice } from "../settings.ts";
import { DocumentError } from "../source.ts";
import { formatCount, oneLine } from "../text.ts";

export const makeLeaderboardPage: PageMaker = async (context) => {
  let stored: JsonObject[] = [];
  let without: string | null = null;
  try {
    const scores = (await context.source.document(documentNames.scores())) as JsonObject;
    stored = (scores["models"] as JsonObject[] | undefined) ?? [];
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    without = "Candidates without a verdict are not known here, since the scores could not be read: places may change.";
  }
  const body = h("div", {});
  let made = boardOf(context, stored);
  const picker = h("div", {});
  const content = h("div", {});
  const bar = filterBar(context, {
    keys: ["run", "model", "level", "deck", "authorship", "backend", "problem"],
    rows: () => made.all,
    shown: () => made.counted,
    noun: "evaluations in this setting",
    newestOnly: true,
    within: () => (made.setting === null ? "" : settingKey(made.setting)),
  });
  const models = modelTable(context, made.lines);
  const list = entriesTableByPlace(context, made.rows);
  const compare = h(
    "button",
    {
      type: "button",
      disabled: true,
      onclick: () => {
        const [a, b] = chosen(content);
        if (a === undefined || b === undefined) return;
        const query = queryOfFilters(filtersOf(context.query));
        if (made.setting !== null) query.set("setting", settingKey(made.setting));
        location.hash = addressOf("compare", [a || "(none)", b || "(none)"], query);
      },
    },
    "Compare two",
  );
  content.addEventListener("change", () => (compare.disabled = chosen(content).length !== 2));

  function draw(): void {
    const entries = context.query.get("of") === "entries";
    const emptied = settingNotice(made.emptied, made.setting);
    replace(
      picker,
      pickers(context, made.settings, made.setting, entries),
      emptied !== null && h("p", { class: "notice", role: "status" }, oneLine(emptied, 400)),
      made.setting !== null && nowhereNotice(context.catalog, made.nowhere, made.setting.device),
    );
    if (made.setting === null) {
      replace(
        content,
        h(
          "div",
          { class: "empty" },
          context.catalog.entries.id.length === 0
            ? [
                "Nothing was judged yet: ",
                h("code", {}, "kernelbench generate level1 --model openai:NAME --run first"),
                " has a model write candidates and judges them.",
              ]
            : "No evaluation passes these filters: take one off above.",
        ),
      );
      return;
    }
    if (entries) {
      list.update(made.rows);
      replace(
        content,
        h(
          "p",
          { class: "muted" },
          "Each place counts within all problems that are shown; choose a problem above for a board of its own. Entries whose intervals overlap share places.",
        ),
        list.element,
      );
      return;
    }
    models.update(made.lines);
    replace(
      content,
      h(
        "p",
        { class: "muted" },
        `Each problem counts once, with its first sample: that of the earliest run, where several have one. Intervals are at 95%; models whose intervals overlap share places. `,
        made.lines.some((line) => line.flagged > 0) &&
          "A correct one with a flag counts: see Flagged before you trust a place. ",
        made.authors.length > 0 && "What other authorship than the chosen one has counts as not correct. ",
      ),
      without !== null && h("p", { class: "notice" }, without),
      models.element,
      h(
        "p",
        { class: "buttons" },
        compare,
        h(
          "span",
          { class: "muted" },
          "tick two models: differences with p-values, on the problems that both attempted",
        ),
      ),
    );
    compare.disabled = true;
  }

  let drawn = "";
  const state = () => context.query.toString();
  let catalog = context.catalog;
  context.onChange(() => {
    if (state() === drawn && catalog === context.catalog) return;
    drawn = state();
    catalog = context.catalog;
    made = boardOf(context, stored);
    draw();
  });
  drawn = state();
  draw();
  context.offerDownload("leaderboard", () =>
    context.query.get("of") === "entries"
      ? rowsAsJson(context.catalog, made.rows)
      : {
          setting: made.setting,
          measure: measureOf(context),
          models: made.lines.map((line) => ({
            model: line.model,
            place: line.place,
            value: line.value,
            interval: line.low === null ? null : [line.low, line.high],
            flagged: line.flagged,
            score: line.score as unknown as Json,
          })),
        },
  );
  replace(body, h("h1", {}, "Leaderboard"), bar, picker, content);
  return { title: "Leaderboard", body };
};

function pickers(
  context: PageContext,
  settings: Board["settings"],
  setting: Setting | null,
  entries: boolean,
): HTMLElement {
  const tab = (of: string | null, label: string, on: boolean) =>
    h(
      "button",
      {
        type: "button",
        "aria-pressed": String(on),
        onclick: () => context.setQuery({ of, sort: null, page: null }, true),
      },
      label,
    );
  return h(
    "div",
    { class: "pickers" },
    h(
      "span",
      { class: "choice", role: "group", "aria-label": "What is ranked" },
      tab(null, "Models", !entries),
      tab("entries", "Single entries", entries),
    ),
    setting !== null &&
      select(
        context,
        "Setting",
        "setting",
        settings.map((each) => [each.key, `${oneLine(each.label)} (${formatCount(each.count)})`]),
        settingKey(setting),
      ),
    !entries && select(context, "By", "by", measures, measureOf(context)),
  );
}

const chosen = (content: HTMLElement): string[] =>
  [...content.querySelectorAll<HTMLInputElement>("input[name=compare]:checked")].map((box) => box.value);
