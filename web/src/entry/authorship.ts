// Who did the work: shares of the time, by object or by kernel.
import { withCsv } from "../csv.ts";
import type { JsonObject } from "../documents.ts";
import { h, type Child } from "../dom.ts";
import { formatBytes, formatCount, formatShare, formatTime, oneLine, plural } from "../text.ts";
import { facts, note, section } from "./parts.ts";
import { inline, listAt, lookup, numberAt, numbersAt, objectAt, objectsAt, textAt } from "./read.ts";

const kShares: [string, string, string][] = [
  ["custom", "its own", "code that the candidate compiled"],
  ["library", "libraries", "PyTorch, BLAS, cuDNN and other shared objects"],
  ["python", "Python", "the interpreter"],
  ["other", "other", "the C and C++ runtime, copies, and what was loaded past the engine"],
];

const kClasses: Record<string, string> = {
  custom: "It is the candidate's own: at least nine tenths of the work that is its or a library's.",
  library: "It is a library's: at most a tenth of the work is the candidate's own.",
  mixed: "It is partly the candidate's own and partly a library's.",
};

export function authorshipPart(entry: JsonObject): Child {
  const authorship = objectAt(entry, "authorship");
  if (authorship === null) return null;
  const kernels = objectsAt(authorship, "kernels");
  const unit = kernels.length > 0 ? "launch" : "sample";
  const samples = numberAt(authorship, "samples");
  const counted = samples === null ? "" : ` Of ${plural(samples, unit, unit === "launch" ? "launches" : "samples")}.`;
  return section(
    "Whose work it is",
    note((lookup(kClasses, textAt(authorship, "class")) ?? "It is not known; a note says why.") + counted),
    shareBar(authorship),
    kernels.length > 0 ? kernelsPart(authorship, kernels) : objectsTable(authorship),
  );
}

function shareBar(authorship: JsonObject): HTMLElement {
  const shares = kShares.map(([key, name, title]) => ({ key, name, title, share: numberAt(authorship, key) ?? 0 }));
  const shown = shares.filter((each) => each.share > 0);
  const words = shown.map((each) => `${each.name} ${formatShare(each.share)}`).join(", ");
  return h(
    "div",
    { class: "shares" },
    h(
      "div",
      { class: "share-bar", role: "img", "aria-label": `Shares of the time: ${words}` },
      shown.map((each) => {
        const part = h("span", { class: `share-${each.key}`, title: `${each.name}: ${each.title}` });
        part.style.flexGrow = String(each.share);
        return part;
      }),
    ),
    h(
      "ul",
      { class: "map-legend" },
      shown.map((each) =>
        h(
          "li",
          { title: each.title },
          h("span", { class: `swatch share-${each.key}` }),
          `${each.name} ${formatShare(each.share, each.share < 0.1 ? 1 : 0)}`,
        ),
      ),
    ),
  );
}

function objectsTable(authorship: JsonObject): Child {
  const objects = objectsAt(authorship, "by_object");
  if (objects.length === 0) return null;
  return facts(
    objects.map((each) => [
      oneLine(textAt(each, "object"), 80) || "(no file)",
      formatShare(numberAt(each, "share"), 1),
    ]),
  );
}

function kernelsPart(authorship: JsonObject, kernels: JsonObject[]): Child[] {
  const span = numberAt(authorship, "kernels_span_us");
  const types = listAt(authorship, "arithmetic").map(inline).join(", ");
  return [
    kernelsTable(kernels),
    facts([
      ["first kernel to the last", span === null ? "" : formatTime(span)],
      ["narrow types in their names", types, "types below fp32 that the kernels' names tell of"],
    ]),
    note("One call, neither timed nor compared, as the candidate's own process tells it."),
  ];
}

type Column = [name: string, title: string, cell: (kernel: JsonObject) => Child];

function columnsOf(kernels: JsonObject[]): Column[] {
  const number = (kernel: JsonObject, key: string) => numberAt(kernel, key) ?? 0;
  const counters = (kernel: JsonObject) => objectAt(kernel, "counters");
  const limit = (kernel: JsonObject) => oneLine(textAt(kernel, "occupancy_limit"), 30);
  const columns: Column[] = [
    ["share", "", (kernel) => formatShare(numberAt(kernel, "share"), 1)],
    ["time", "of all its calls", (kernel) => formatTime(numberAt(kernel, "us"))],
    ["calls", "", (kernel) => formatCount(numberAt(kernel, "calls"))],
    ["grid", "blocks", (kernel) => extents(kernel, "grid")],
    ["block", "threads", (kernel) => extents(kernel, "block")],
    ["registers", "of a thread", (kernel) => formatCount(numberAt(kernel, "registers"))],
    [
      "shared",
      "memory of a block",
      (kernel) => formatBytes(number(kernel, "static_shared") + number(kernel, "dynamic_shared")),
    ],
    ["local", "memory of a thread: spilled registers", (kernel) => formatBytes(numberAt(kernel, "local"))],
  ];
  if (kernels.some((kernel) => numberAt(kernel, "occupancy") !== null)) {
    const cell = (kernel: JsonObject) => `${formatShare(numberAt(kernel, "occupancy"))} ${limit(kernel)}`;
    columns.push(["occupancy", "at most, and what limits it", cell]);
  }
  if (kernels.some((kernel) => counters(kernel) !== null)) {
    const memory = (kernel: JsonObject) => formatShare(numberAt(counters(kernel), "dram"));
    columns.push(
      ["memory", "share of the device's bandwidth", memory],
      ["waits for", "what warps wait for most", stalls],
    );
  }
  return columns;
}

// Rows of `authorship.kernels`, or of a profile, which has more columns.
export function kernelsTable(kernels: JsonObject[]): HTMLElement {
  const columns = columnsOf(kernels);
  const head = columns.map(([name, title]) => h("th", { scope: "col", class: "number", title }, name));
  const row = (kernel: JsonObject) => [
    h("td", {}, h("code", {}, oneLine(textAt(kernel, "name"), 200) || "(other kernels)")),
    h("td", {}, oneLine(textAt(kernel, "origin"), 30)),
    columns.map(([, , cell]) => h("td", { class: "number" }, cell(kernel))),
  ];
  return withCsv(
    "Kernels",
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kernels" },
      h(
        "table",
        { class: "kernels" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "kernel"), h("th", { scope: "col" }, "whose"), head)),
        h(
          "tbody",
          {},
          kernels.slice(0, 100).map((kernel) => h("tr", {}, row(kernel))),
        ),
      ),
    ),
  );
}

function extents(kernel: JsonObject, key: string): string {
  const numbers = numbersAt(kernel, key);
  while (numbers.length > 1 && numbers[numbers.length - 1] === 1) numbers.pop();
  return numbers.join(" × ");
}

function stalls(kernel: JsonObject): string {
  const waits = Object.entries(objectAt(objectAt(kernel, "counters"), "stalls") ?? {})
    .filter((each): each is [string, number] => typeof each[1] === "number" && each[0] !== "selected")
    .sort(([, a], [, b]) => b - a);
  return (
    waits
      .slice(0, 3)
      .map(([name, share]) => `${oneLine(name, 30)} ${formatShare(share)}`)
      .join(", ") || "–"
  );
}
