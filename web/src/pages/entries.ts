// All evaluations, or those that filters let pass.
import { entriesTable, rowsAsJson } from "../entriestable.ts";
import { h } from "../dom.ts";
import { filterBar } from "../filterbar.ts";
import { countOutcomes, outcomeLegend } from "../outcomes.ts";
import type { PageMaker } from "../page.ts";
import { addressOf } from "../router.ts";
import { filtersOf, queryOfFilters, selectRows } from "../rows.ts";

export const makeEntriesPage: PageMaker = async (context) => {
  const base = () =>
    selectRows(context.catalog, filtersOf(new URLSearchParams(context.query.get("all") === "1" ? "all=1" : "")));
  let rows = selectRows(context.catalog, filtersOf(context.query));
  const empty = h(
    "div",
    {},
    context.catalog.entries.id.length === 0
      ? [
          "Nothing was judged yet. ",
          h("code", {}, "kernelbench eval 1/19 my_relu.py"),
          " judges a candidate, ",
          h("code", {}, "kernelbench generate 1/19 --model openai:NAME --run first"),
          " has a model write some.",
        ]
      : "No evaluation passes all of these filters: take one off above.",
  );
  const list = entriesTable(context, rows, { caption: "Evaluations", empty });
  const only = (key: string) =>
    addressOf("entries", [], queryOfFilters({ ...filtersOf(context.query), outcome: [key] }));
  const legend = h("div", {}, outcomeLegend(countOutcomes(context.catalog, rows), only));
  const bar = filterBar(context, {
    keys: [
      "run",
      "model",
      "level",
      "deck",
      "device",
      "protocol",
      "size",
      "baseline",
      "outcome",
      "verdict",
      "authorship",
      "backend",
      "flag",
      "problem",
    ],
    rows: base,
    shown: () => rows.length,
  });
  let catalog = context.catalog;
  let shown = rows.join();
  context.onChange(() => {
    rows = selectRows(context.catalog, filtersOf(context.query));
    if (rows.join() === shown && catalog === context.catalog) return;
    shown = rows.join();
    catalog = context.catalog;
    list.update(rows);
    legend.replaceChildren(outcomeLegend(countOutcomes(context.catalog, rows), only));
  });
  context.offerDownload("entries", () => rowsAsJson(context.catalog, rows));
  return { title: "Entries", body: h("div", {}, h("h1", {}, "Entries"), bar, legend, list.element) };
};
