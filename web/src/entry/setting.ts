// Under which rules, on which machine and in which isolation it was judged, and how to judge it again.
import type { JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { dateElement, formatBytes, formatNumber, formatShare, formatTime, oneLine } from "../text.ts";
import { againPart } from "./again.ts";
import { facts, more, note, section } from "./parts.ts";
import { inline, listAt, lookup, member, numberAt, objectAt, textAt } from "./read.ts";
import { kBarriers } from "./words.ts";

export function settingPart(entry: JsonObject): HTMLElement {
  return h(
    "div",
    {},
    againPart(entry),
    h(
      "div",
      { class: "columns" },
      h("div", {}, identityPart(entry), devicePart(entry)),
      h("div", {}, protocolPart(entry), isolationPart(entry), enginePart(entry)),
    ),
  );
}

function identityPart(entry: JsonObject): Child {
  const candidate = objectAt(entry, "candidate");
  const code = (text: string) => (text === "" ? "" : h("code", {}, oneLine(text, 200)));
  return section(
    "Identity",
    facts([
      ["evaluation", code(textAt(entry, "id"))],
      ["judged", dateElement(textAt(entry, "created"))],
      ["run", oneLine(textAt(entry, "run"), 200)],
      ["model", oneLine(textAt(entry, "model"), 200)],
      ["candidate", oneLine(textAt(candidate, "path"), 300)],
      [
        "kind",
        [...new Set([textAt(candidate, "kind"), textAt(candidate, "backend")])]
          .filter((text) => text !== "")
          .join(", "),
      ],
      ["SHA-256 of its code", code(textAt(candidate, "sha256"))],
      ["SHA-256 of the problem", code(textAt(entry, "problem_sha256"))],
      [
        "problem's text from",
        textAt(entry, "problem_source") === "client" ? "a client of a service: it counts for no score" : "",
      ],
      ["schema", inline(member(entry, "schema"))],
    ]),
  );
}

function devicePart(entry: JsonObject): Child {
  const info = objectAt(entry, "device_info");
  const seat = objectAt(info, "seat");
  const cores = listAt(seat, "cores");
  const known = ["name", "cores", "last_level_cache", "flush", "copy_gb_s", "seat", "rates", "memory"];
  const cache = numberAt(info, "last_level_cache");
  const memory = numberAt(info, "memory");
  const copy = numberAt(info, "copy_gb_s");
  const pairs: [string, Child, string?][] = [
    ["device", `${oneLine(textAt(info, "name"), 120) || "not looked at"} (${textAt(entry, "device")})`],
    ["cores", inline(member(info, "cores"))],
    ["memory", memory === null ? "" : formatBytes(memory)],
    ["last cache", cache === null ? "" : formatBytes(cache)],
    ["cold in each call", textAt(info, "flush"), "what a call finds evicted"],
    ["copies", copy === null ? "" : `${formatNumber(copy, 4)} GB/s, measured`],
    ["computes", ratesText(objectAt(info, "rates"))],
    [
      "seat",
      seat === null
        ? ""
        : `${cores.length === 0 ? "all cores" : `cores ${cores.map(inline).join(", ")}`}, nice ${inline(member(seat, "nice"))}`,
      "cores of judge, runner and reference",
    ],
  ];
  for (const [key, value] of Object.entries(info ?? {})) {
    if (!known.includes(key)) pairs.push([key.replaceAll("_", " "), oneLine(inline(value), 200)]);
  }
  return section("Device", facts(pairs));
}

function ratesText(rates: JsonObject | null): string {
  const parts = Object.entries(rates ?? {}).map(([name, value]) => `${oneLine(name, 20)} ${inline(value)}`);
  return parts.length === 0 ? "" : `${parts.join(", ")} TFLOP/s, measured`;
}

function protocolPart(entry: JsonObject): Child {
  const keys = objectAt(entry, "protocol_keys") ?? {};
  const changed = new Set(listAt(entry, "protocol_changed").map(inline));
  const names = Object.keys(keys).filter((key) => key !== "static");
  const row = (key: string): [string, Child] => [key, oneLine(inline(keys[key]), 300)];
  const own = names.filter((key) => changed.has(key));
  const rules = objectAt(keys, "static") ?? {};
  const rulesBy = (severity: string) =>
    Object.keys(rules)
      .filter((rule) => rules[rule] === severity)
      .join(", ");
  return section(
    `Protocol ${oneLine(textAt(entry, "protocol"), 60)}`,
    own.length === 0 && !changed.has("static")
      ? note("All keys are as the protocol has them.")
      : [
          h("p", {}, h("b", {}, "Changed by flags:")),
          facts(own.map(row)),
          changed.has("static") ? note("Rules of static analysis are changed, too.") : null,
        ],
    more("All keys", () => facts(names.filter((key) => !changed.has(key)).map(row)), own.length === 0),
    more("Rules of static analysis", () =>
      facts([
        ["refuse", rulesBy("error")],
        ["warn", rulesBy("warning")],
        ["off", rulesBy("off")],
      ]),
    ),
  );
}

function isolationPart(entry: JsonObject): Child {
  const barriers = listAt(entry, "isolation_info").map(inline);
  const kind = textAt(entry, "isolation");
  const missing = Object.keys(kBarriers).filter((name) => !barriers.includes(name));
  if (kind === "") return null;
  return section(
    "Isolation",
    note(`By ${kind}. ${barriers.length} barriers were in force.`),
    more("Barriers", () => [
      facts(barriers.map((name): [string, Child] => [name, lookup(kBarriers, name) ?? "in force"])),
      missing.length === 0 ? null : note(`Not in force: ${missing.join(", ")}.`),
    ]),
  );
}

function enginePart(entry: JsonObject): Child {
  const steps = Object.entries(objectAt(entry, "engine_us") ?? {})
    .filter((each): each is [string, number] => typeof each[1] === "number" && each[1] > 0)
    .sort(([, a], [, b]) => b - a);
  const total = steps.reduce((sum, [, us]) => sum + us, 0);
  if (total <= 0) return null;
  return section(
    "Where the engine's time went",
    more(`${formatTime(total)} in all`, () =>
      h(
        "div",
        { class: "time-bars" },
        steps.flatMap(([name, us]) => {
          const fill = h("span", { class: "fill" });
          fill.style.width = `${(100 * us) / steps[0]![1]}%`;
          return [
            h("span", { class: "name" }, oneLine(name, 40)),
            h("span", { class: "track" }, fill),
            h("span", { class: "time" }, `${formatTime(us)}, ${formatShare(us / total)}`),
          ];
        }),
      ),
    ),
  );
}
