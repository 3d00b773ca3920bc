// A job that the engine failed at: there is no evaluation of it.
import { h } from "../dom.ts";
import { outcomeChip, outcomeOfVerdict } from "../outcomes.ts";
import type { Page, PageContext } from "../page.ts";
import { addressOf } from "../router.ts";
import { rowOfId } from "../rows.ts";
import { dateElement, oneLine } from "../text.ts";
import { DocumentError } from "../source.ts";
import { facts, note } from "./parts.ts";

export function jobPage(context: PageContext, id: string): Page {
  const row = rowOfId(context.catalog, id);
  if (row === undefined) throw new DocumentError("gone", `There is no job ${id.slice(4)} that failed.`);
  const { entries, values } = context.catalog;
  const run = values.run[entries.run[row]!] ?? "";
  const problem = values.problem[entries.problem[row]!] ?? "";
  return {
    title: `${oneLine(problem, 60)}, no verdict`,
    body: h(
      "div",
      { class: "entry" },
      h("h1", {}, oneLine(problem, 100)),
      h(
        "div",
        { class: "verdict-box" },
        h(
          "p",
          { class: "verdict-line" },
          outcomeChip(outcomeOfVerdict("infrastructure"), "infrastructure"),
          " The engine or the machine failed: there is no verdict, and this says nothing about the candidate.",
        ),
      ),
      facts([
        ["candidate", oneLine(entries.candidate[row] ?? "", 200)],
        ["model", oneLine(values.model[entries.model[row]!] ?? "", 100)],
        ["run", run === "" ? "" : h("a", { href: addressOf("run", [run]) }, oneLine(run, 100))],
        ["failed", dateElement(entries.created[row])],
      ]),
      note(
        "The same command that began the run tries it again. ",
        h("code", {}, "kernelbench doctor"),
        " says what this machine lacks.",
      ),
    ),
  };
}
