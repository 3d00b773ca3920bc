// The search box in the head: runs, models, problems and entries by their names.
import type { Catalog } from "./documents.ts";
import { h, replace } from "./dom.ts";
import { shortPath } from "./entriestable.ts";
import { verdictWords } from "./outcomes.ts";
import { filtersOf, indexOf, modelLabel, problemTitle, selectRows } from "./rows.ts";
import { addressOf } from "./router.ts";
import { formatCount, formatDate, oneLine } from "./text.ts";

interface Hit {
  kind: string;
  label: string;
  href: string;
}

const each = 5;

function matches(terms: string[], text: string): boolean {
  const lower = text.toLowerCase();
  return terms.every((term) => lower.includes(term));
}

export function hitsOf(catalog: Catalog, typed: string): Hit[] {
  const terms = typed
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== "");
  if (terms.length === 0) return [];
  const { values, entries } = catalog;
  const runs = catalog.runs
    .filter((line) => line.run !== "" && matches(terms, line.run))
    .slice(-each)
    .reverse();
  const models = values.model.filter((model) => model !== "" && matches(terms, model)).slice(0, each);
  const problems = [...indexOf(catalog).problems.values()]
    .filter((line) => matches(terms, `${line.problem} ${line.title}`))
    .slice(0, each);
  const rows = selectRows(catalog, filtersOf(new URLSearchParams({ text: typed, all: "1" })));
  const hits: Hit[] = [
    ...runs.map((line) => ({ kind: "run", label: line.run, href: addressOf("run", [line.run]) })),
    ...models.map((model) => ({ kind: "model", label: model, href: addressOf("run", [], { model }) })),
    ...problems.map((line) => ({
      kind: "problem",
      label: `${line.problem} ${line.title}`,
      href: addressOf("problem", [line.problem]),
    })),
    ...rows
      .slice(-each)
      .reverse()
      .map((row) => {
        const problem = values.problem[entries.problem[row]!]!;
        const run = values.run[entries.run[row]!]!;
        const sample = entries.sample[row];
        const name = [
          `${oneLine(problem, 24)} ${oneLine(modelLabel(values.model[entries.model[row]!]!), 24)}`,
          verdictWords(values.verdict[entries.verdict[row]!]!),
          sample === null ? oneLine(shortPath(entries.candidate[row]!), 24) : `sample ${sample}`,
          run !== "" && oneLine(run, 24),
          oneLine(values.device[entries.device[row]!]!.name, 20),
          formatDate(new Date(entries.created[row]! * 1000)),
          oneLine(problemTitle(catalog, problem), 40),
        ];
        const label = name.filter((part) => part !== false && part !== "").join(" · ");
        return { kind: "entry", label, href: addressOf("entry", [entries.id[row]!]) };
      }),
  ];
  if (rows.length > 0) {
    hits.push({
      kind: "all",
      label: `${formatCount(rows.length)} entries with “${typed.trim()}”`,
      href: addressOf("entries", [], { text: typed.trim(), all: "1" }),
    });
  }
  return hits;
}

export function searchBox(catalog: () => Catalog): { element: HTMLElement; input: HTMLInputElement } {
  const list = h("ul", { id: "search-hits", role: "listbox", "aria-label": "Found", hidden: true });
  const input = h("input", {
    type: "search",
    placeholder: "Search ( / )",
    "aria-label": "Search runs, models, problems, entries",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "search-hits",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
  });
  let hits: Hit[] = [];
  let chosen = -1;

  function close(): void {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function go(hit: Hit): void {
    location.hash = hit.href;
    input.value = "";
    close();
    input.blur();
  }

  function choose(at: number): void {
    chosen = at;
    [...list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === at)));
    if (at >= 0) input.setAttribute("aria-activedescendant", `search-hit-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function draw(): void {
    hits = hitsOf(catalog(), input.value);
    const nothing = hits.length === 0 && input.value.trim() !== "";
    replace(
      list,
      hits.map((hit, at) =>
        h(
          "li",
          {
            id: `search-hit-${at}`,
            role: "option",
            "aria-selected": "false",
            onpointerdown: (event: Event) => {
              event.preventDefault();
              go(hit);
            },
          },
          h("span", { class: "kind" }, hit.kind),
          oneLine(hit.label, hit.kind === "entry" ? 200 : 90),
        ),
      ),
      nothing &&
        h(
          "li",
          { role: "option", "aria-disabled": true, class: "muted" },
          "Nothing has all of these words in its name.",
        ),
    );
    list.hidden = hits.length === 0 && !nothing;
    input.setAttribute("aria-expanded", String(!list.hidden));
    choose(-1);
  }

  let typing = 0;
  input.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(draw, 60);
  });
  input.addEventListener("focus", () => input.value !== "" && draw());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (list.hidden) input.blur();
      input.value = "";
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (hits.length > 0) choose((chosen + step + hits.length) % hits.length);
    } else if (event.key === "Enter") {
      clearTimeout(typing);
      if (list.hidden) draw();
      const hit = hits[chosen] ?? hits[0];
      if (hit) go(hit);
    } else return;
    event.preventDefault();
  });
  return { element: h("div", { class: "search" }, input, list), input };
}
