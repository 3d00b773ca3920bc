// Where the output is wrong, and by how much.
import { withCsv } from "../csv.ts";
import type { Json, JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { formatCount, formatNumber, formatShare, oneLine } from "../text.ts";
import { errorMap } from "./error_map.ts";
import { facts, note, section } from "./parts.ts";
import { inline, listAt, member, numberAt, objectAt, textAt } from "./read.ts";
import { distributionMeans } from "./words.ts";

export function mismatchPart(entry: JsonObject): Child {
  const mismatch = objectAt(entry, "mismatch");
  const errors = errorsTable(objectAt(entry, "errors"));
  if (mismatch === null) return errors === null ? null : section("Errors", errors);
  return section(
    "Where it is wrong",
    h(
      "div",
      { class: "columns" },
      h("div", {}, errorMap(mismatch), mismatchFacts(mismatch)),
      h("div", {}, histogram(mismatch), errors),
    ),
  );
}

function mismatchFacts(mismatch: JsonObject): HTMLElement {
  const count = (key: string) => formatCount(numberAt(mismatch, key));
  const positive = (key: string) => ((numberAt(mismatch, key) ?? 0) > 0 ? `${count(key)} elements` : "");
  const share = (numberAt(mismatch, "wrong") ?? 0) / Math.max(numberAt(mismatch, "total") ?? 1, 1);
  const shape = listAt(mismatch, "shape").map(inline).join(" × ");
  return facts([
    ["output", `${inline(member(mismatch, "output"))}: ${shape}, ${textAt(mismatch, "dtype")}`],
    [
      "seen in round",
      `${inline(member(mismatch, "round"))}, on ${distributionMeans(textAt(mismatch, "distribution"))}`,
    ],
    ["wrong", `${count("wrong")} of ${count("total")} elements (${formatShare(share, share < 0.1 ? 2 : 0)})`],
    ["never written", positive("unwritten")],
    ["not finite", positive("non_finite"), "NaN or infinite where they must not be, or the other way round"],
    ["wrong blocks", `${count("blocks_wrong")} of ${count("blocks")}`, "of 1,024 neighbouring elements"],
    ["largest error", errorText(member(mismatch, "worst")) + " of what is allowed"],
    [
      "absolute error, where finite",
      `at most ${formatNumber(numberAt(mismatch, "max_abs_error"))}, RMS ${formatNumber(numberAt(mismatch, "rms_error"))}`,
    ],
  ]);
}

export function errorText(error: Json | undefined): string {
  if (typeof error !== "number") return error === "inf" ? "∞" : "–";
  if (error === 0) return "0";
  return `${error >= 1000 && error < 1e6 ? formatCount(Number(error.toPrecision(3))) : formatNumber(error)}×`;
}

// Bars as long as the logarithm of their counts, because errors span many powers of ten.
function histogram(mismatch: JsonObject): Child {
  const bars = listAt(mismatch, "histogram").flatMap((bar): [Json, number][] =>
    Array.isArray(bar) && typeof bar[1] === "number" ? [[bar[0] ?? null, bar[1]]] : [],
  );
  const most = Math.max(...bars.map(([, count]) => count), 0);
  if (most === 0) return null;
  return h(
    "figure",
    {},
    h("figcaption", {}, h("b", {}, "Elements by their error"), " over what is allowed; bars on a logarithmic scale"),
    h(
      "div",
      { class: "time-bars" },
      bars.flatMap(([bound, count]) => {
        const wrong = typeof bound !== "number" || bound > 1;
        const fill = h("span", { class: `fill ${wrong ? "of-wrong" : "of-right"}` });
        fill.style.width = `${(100 * Math.log1p(count)) / Math.log1p(most)}%`;
        const name = typeof bound === "number" ? `up to ${formatCount(bound)}×` : "beyond";
        return [
          h("span", { class: "name" }, name, wrong ? " ✗" : " ✓"),
          h("span", { class: "track" }, fill),
          h("span", { class: "time" }, formatCount(count)),
        ];
      }),
    ),
  );
}

function errorsTable(errors: JsonObject | null): Child {
  const rows = Object.entries(errors ?? {});
  if (rows.length === 0) return null;
  const order = (name: string) => (name === "natural" ? "" : name);
  rows.sort(([a], [b]) => (order(a) < order(b) ? -1 : 1));
  return [
    note("The largest error of all that was compared, as a multiple of what is allowed. Above 1 is wrong."),
    withCsv(
      "Errors by inputs",
      h(
        "table",
        { "aria-label": "Errors by inputs" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "inputs"),
            h("th", { scope: "col" }, "error"),
            h("th", { scope: "col" }, "which is"),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([name, error]) => {
            const wrong = typeof error !== "number" || error > 1;
            return h(
              "tr",
              {},
              h("td", { class: "wraps", title: oneLine(distributionMeans(name)) }, oneLine(name, 60)),
              h("td", { class: "number" }, errorText(error)),
              h("td", {}, h("span", { class: wrong ? "tag bad" : "tag good" }, wrong ? "wrong" : "right")),
            );
          }),
        ),
      ),
    ),
    rows.some(([name]) => name !== "natural") ? null : note("Other inputs were not compared."),
  ];
}
