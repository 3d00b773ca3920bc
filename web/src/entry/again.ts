// The commands that judge a candidate again.
import type { Json, JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { oneLine, visible } from "../text.ts";
import { copyButton, note, section } from "./parts.ts";
import { inline, listAt, member, objectAt, textAt } from "./read.ts";

const quoted = (text: string) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function againCommands(entry: JsonObject): string[] {
  const id = textAt(entry, "id");
  const file = fileOf(entry);
  const problem = textAt(entry, "problem");
  const flags = [
    ["size", textAt(entry, "size")],
    ["device", textAt(entry, "device")],
    ["protocol", textAt(entry, "protocol")],
    ...changedFlags(entry),
  ].filter(([, value]) => value !== "");
  const line = flags.map(([name, value]) => `--${name} ${quoted(value!)}`).join(" ");
  return [
    `kernelbench show ${quoted(id)} --json | jq -j .candidate.source > ${file}`,
    `kernelbench eval ${quoted(problem)} ${file} ${line}`,
  ];
}

function changedFlags(entry: JsonObject): [string, string][] {
  const keys = objectAt(entry, "protocol_keys");
  const text = (value: Json | undefined): string => {
    if (Array.isArray(value)) return value.map(inline).join(",");
    if (typeof value === "object" && value !== null)
      return Object.entries(value)
        .map(([rule, severity]) => `${rule}=${inline(severity)}`)
        .join(",");
    return inline(value);
  };
  return listAt(entry, "protocol_changed")
    .map(inline)
    .map((key) => [key.replaceAll("_", "-"), text(member(keys, key))]);
}

const fileOf = (entry: JsonObject) =>
  textAt(objectAt(entry, "candidate"), "kind") === "module" ? "candidate.py" : "candidate.cpp";

// Others that say more of it, and what they do.
function otherCommands(entry: JsonObject): [string, string][] {
  const conclude = `kernelbench conclude ${quoted(textAt(entry, "id"))}`;
  const also: [string, string][] = [[conclude, "applies today's rule to what was measured, without judging"]];
  const run = textAt(entry, "run");
  if (run !== "") {
    also.push([`kernelbench rejudge ${quoted(run)}`, "judges some of the run again and says how often verdicts agree"]);
  }
  if (textAt(entry, "device") === "cuda") {
    const profile = `kernelbench profile ${quoted(textAt(entry, "problem"))} ${fileOf(entry)}`;
    also.push([profile, "says where its time goes, kernel by kernel"]);
  }
  return also;
}

export function againPart(entry: JsonObject): Child {
  const title = "Judge it again";
  const text = againCommands(entry).join("\n");
  if (visible(text) !== text) {
    return section(
      title,
      note("A name or a key of it holds characters that cannot be seen: no command is shown to paste."),
    );
  }
  const box = h("pre", { class: "commands" }, text);
  return section(
    title,
    textAt(entry, "problem_source") === "client"
      ? note(
          "A client of a service sent the problem's text: write it to a file, and name that in place of the problem.",
        )
      : null,
    h(
      "div",
      { class: "with-copy" },
      box,
      copyButton(() => text, "Copy", box),
    ),
    note(
      "Where the store is, the first line takes the code out of it (jq is needed), and the second judges it by the ",
      "same rules; both take --store FILE. Where there is only this page, save the file under Code.",
    ),
    h(
      "ul",
      { class: "plain" },
      otherCommands(entry).map(([command, means]) =>
        h("li", {}, h("code", {}, oneLine(command, 300)), h("span", { class: "muted" }, ` ${means}`)),
      ),
    ),
  );
}
