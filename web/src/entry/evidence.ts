// What compilers, Python and the candidate said.
import { withCsv } from "../csv.ts";
import type { JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { formatCount, oneLine, plural } from "../text.ts";
import { facts, more, output, section } from "./parts.ts";
import { inline, member, numberAt, objectAt, objectsAt, textAt } from "./read.ts";

export function evidencePart(
  entry: JsonObject,
  lineLink: (file: string, line: number, label: string) => HTMLElement,
): Child {
  const evidence = objectAt(entry, "evidence");
  const failed = textAt(entry, "verdict") !== "correct";
  const parts: Child[] = [
    ending(evidence),
    block("Compiler's words", textAt(evidence, "compiler_output"), failed, 30, 0),
    block("Traceback", textAt(evidence, "traceback"), failed, 4, 20),
    block("What the candidate printed, at its end", textAt(evidence, "output"), failed, 10, 20),
    findings(evidence, failed, lineLink),
  ];
  const shown = parts.filter((part) => part !== null);
  return shown.length === 0 ? null : section("What was said", ...shown);
}

function ending(evidence: JsonObject | null): Child {
  const signal = textAt(evidence, "signal");
  const code = numberAt(evidence, "exit_code");
  if (signal === "" && code === null) return null;
  return facts([
    ["ended by", signal],
    ["exit code", code === null ? "" : String(code)],
  ]);
}

function block(title: string, text: string, open: boolean, head: number, tail: number): Child {
  if (text === "") return null;
  const size = text.length > 20_000 ? ` (${formatCount(text.length)} characters)` : "";
  return more(title + size, () => output(text, { head, tail }), open);
}

function findings(
  evidence: JsonObject | null,
  open: boolean,
  lineLink: (file: string, line: number, label: string) => HTMLElement,
): Child {
  const all = objectsAt(evidence, "static_findings");
  if (all.length === 0) return null;
  const errors = all.filter((each) => textAt(each, "severity") === "error").length;
  const counts = [
    errors > 0 ? plural(errors, "error") : "",
    all.length > errors ? plural(all.length - errors, "warning") : "",
  ];
  const title = `Static analysis: ${counts.filter((count) => count !== "").join(", ")}`;
  return more(
    title,
    () =>
      withCsv(
        "Findings of static analysis",
        h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": "Findings of static analysis" },
          h(
            "table",
            {},
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                ["found", "line", "rule", "why", "the line"].map((name) => h("th", { scope: "col" }, name)),
              ),
            ),
            h(
              "tbody",
              {},
              all.slice(0, 200).map((each) => findingRow(each, lineLink)),
            ),
          ),
        ),
      ),
    open && errors > 0,
  );
}

function findingRow(
  finding: JsonObject,
  lineLink: (file: string, line: number, label: string) => HTMLElement,
): HTMLElement {
  const file = textAt(finding, "file");
  const line = numberAt(finding, "line") ?? 1;
  const error = textAt(finding, "severity") === "error";
  const inside = textAt(finding, "where");
  return h(
    "tr",
    {},
    h("td", {}, h("span", { class: error ? "tag bad" : "tag" }, error ? "refused" : "warned")),
    h("td", {}, lineLink(file, line, `${file === "" ? "" : file + ":"}${inline(member(finding, "line"))}`)),
    h("td", {}, h("code", {}, visibleText(finding, "rule"))),
    h("td", {}, visibleText(finding, "reason"), inside === "" ? null : ` (${oneLine(inside, 60)})`),
    h("td", {}, h("code", {}, visibleText(finding, "excerpt"))),
  );
}

function visibleText(finding: JsonObject, key: string): string {
  return oneLine(textAt(finding, key), 300);
}
