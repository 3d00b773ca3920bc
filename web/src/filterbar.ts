// The filters of a page, written to its address.
import type { Catalog } from "./documents.ts";
import { append, h, replace } from "./dom.ts";
import type { PageContext } from "./page.ts";
import { filterKeys, filtersOf, isFiltered, valueLabel, valuesOf, type ListKey } from "./rows.ts";
import { formatCount, oneLine } from "./text.ts";

export interface FilterBarOptions {
  keys: ListKey[]; // in this order; those without a choice are not shown
  rows: () => number[]; // those that the page would show without filters; asked again when there is news
  shown: () => number; // how many it shows
  noun?: string; // of what is counted: "evaluations"
  newestOnly?: boolean; // no choice to see replaced ones
  within?: () => string; // what else `rows` depends on: the setting that is shown
}

const titles: Record<ListKey, string> = {
  run: "Run",
  model: "Model",
  device: "Device",
  level: "Level",
  deck: "Deck",
  problem: "Problem",
  size: "Size",
  verdict: "Verdict",
  outcome: "Outcome",
  authorship: "Authorship",
  baseline: "Baseline",
  protocol: "Protocol",
  backend: "Backend",
  flag: "Flag",
};

export function filterBar(context: PageContext, options: FilterBarOptions): HTMLElement {
  const menus = h("div", { class: "menus" });
  const chips = h("ul", { class: "chips", "aria-label": "Filters that are on" });
  const count = h("span", { class: "count", role: "status" });
  const text = h("input", {
    type: "search",
    name: "text",
    placeholder: "name has …",
    "aria-label": "Text in names",
    size: 14,
  });
  const from = h("input", { type: "date", name: "from", "aria-label": "From day" });
  const to = h("input", { type: "date", name: "to", "aria-label": "To day, inclusive" });
  const all = h("input", { type: "checkbox", name: "all" });
  const clear = h(
    "button",
    { type: "button", class: "quiet", onclick: () => set(Object.fromEntries(filterKeys.map((key) => [key, null]))) },
    "clear all",
  );

  function set(changes: Record<string, string | string[] | null>): void {
    const query = new URLSearchParams(context.query);
    const pages = [...query.keys()].filter((key) => key === "page" || key.endsWith(".page"));
    context.setQuery({ ...Object.fromEntries(pages.map((key) => [key, null])), ...changes }, true);
  }

  let typing = 0;
  text.addEventListener("input", () => {
    clearTimeout(typing);
    typing = window.setTimeout(() => set({ text: text.value.trim() || null }), 120);
  });
  from.addEventListener("change", () => set({ from: from.value || null }));
  to.addEventListener("change", () => set({ to: to.value || null }));
  all.addEventListener("change", () => set({ all: all.checked ? "1" : null }));

  const built = new Map<ListKey, Menu>();
  let known: { catalog: Catalog; all: boolean; within: string; rows: number[]; choices: Map<ListKey, boolean> } | null = null;
  function draw(): void {
    const filters = filtersOf(context.query);
    const within = options.within?.() ?? "";
    if (known?.catalog !== context.catalog || known.all !== filters.all || known.within !== within) {
      const rows = options.rows();
      known = {
        catalog: context.catalog,
        all: filters.all,
        within,
        rows,
        choices: new Map(options.keys.map((key) => [key, hasChoice(context, key, rows)])),
      };
    }
    const { rows } = known;
    for (const key of options.keys) {
      const needed = filters[key].length > 0 || known.choices.get(key) === true;
      let menu = built.get(key);
      if (!menu) built.set(key, (menu = makeMenu(context, key, options.rows, (values) => set({ [key]: values }))));
      if (needed) menu.update(filters[key]);
      menu.element.hidden = !needed;
      if (menu.element.parentNode !== menus) menus.append(menu.element);
    }
    if (document.activeElement !== text) text.value = filters.text;
    from.value = filters.from;
    to.value = filters.to;
    all.checked = filters.all;
    const on = options.keys.flatMap((key) => filters[key].map((value) => ({ key, value })));
    replace(
      chips,
      on.map(({ key, value }) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "chip-button",
              title: "take this filter off",
              onclick: () => set({ [key]: filters[key].filter((each) => each !== value) }),
            },
            `${titles[key].toLowerCase()}: ${oneLine(valueLabel(key, value), 50)} `,
            h("span", { "aria-label": "remove" }, "×"),
          ),
        ),
      ),
    );
    chips.hidden = on.length === 0;
    clear.hidden = !isFiltered(filters);
    const shown = options.shown();
    const noun = options.noun ?? "evaluations";
    count.textContent =
      shown === rows.length
        ? `${formatCount(shown)} ${noun}`
        : `${formatCount(shown)} of ${formatCount(rows.length)} ${noun}`;
  }

  // After the page's own listeners, which decide what is shown.
  context.onChange(() => queueMicrotask(draw));
  queueMicrotask(draw);
  // Folded on a narrow screen, where nothing is filtered.
  const wide = matchMedia("(min-width: 640px)");
  const fold = h("details", { class: "filter-fold", open: wide.matches || isFiltered(filtersOf(context.query)) });
  wide.addEventListener("change", () => (fold.open ||= wide.matches), { signal: context.signal });
  append(
    fold,
    h("summary", {}, "Filters"),
    h(
      "form",
      { class: "filters", role: "search", "aria-label": "Filters", onsubmit: (event: Event) => event.preventDefault() },
      menus,
      text,
      h("span", { class: "dates" }, h("label", {}, "from ", from), h("label", {}, "to ", to)),
      !options.newestOnly &&
        h(
          "label",
          { class: "check", title: "also evaluations that a newer one of the same sample replaces" },
          all,
          "replaced ones too",
        ),
      count,
      clear,
      chips,
    ),
  );
  return fold;
}

function hasChoice(context: PageContext, key: ListKey, rows: number[]): boolean {
  const { entries, values } = context.catalog;
  if (key === "outcome" || key === "flag" || key === "level" || key === "deck")
    return valuesOf(context.catalog, key, rows).size > 1;
  const first = entries[key][rows[0] ?? 0];
  return values[key].length > 1 && rows.some((row) => entries[key][row] !== first);
}

interface Menu {
  element: HTMLDetailsElement;
  update(chosen: string[]): void;
}

// A list of values with check boxes; made anew each time it is opened.
function makeMenu(context: PageContext, key: ListKey, rows: () => number[], choose: (values: string[]) => void): Menu {
  const badge = h("b", {});
  const panel = h("div", { class: "panel" });
  let chosen: string[] = [];
  const element = h("details", { class: "menu" }, h("summary", {}, titles[key], badge), panel);

  function fill(): void {
    const counts = valuesOf(context.catalog, key, rows());
    for (const value of chosen) if (!counts.has(value)) counts.set(value, 0);
    const values = [...counts].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }));
    const items = values.map(([value, entries]) => {
      const box = h("input", { type: "checkbox", checked: chosen.includes(value) });
      box.addEventListener("change", () =>
        choose(box.checked ? [...chosen, value] : chosen.filter((each) => each !== value)),
      );
      const label = valueLabel(key, value);
      return {
        label: label.toLowerCase(),
        element: h(
          "li",
          {},
          h(
            "label",
            { title: oneLine(label, 300) },
            box,
            h("span", { class: "value" }, oneLine(label, 60)),
            h("span", { class: "amount" }, formatCount(entries)),
          ),
        ),
      };
    });
    const narrow = h("input", { type: "search", placeholder: "find", "aria-label": `Find in ${titles[key]}` });
    narrow.addEventListener("input", () => {
      for (const item of items) item.element.hidden = !item.label.includes(narrow.value.toLowerCase());
    });
    replace(
      panel,
      items.length > 12 && narrow,
      h(
        "ul",
        {},
        items.slice(0, 500).map((item) => item.element),
      ),
      items.length > 500 && h("p", { class: "muted" }, "The first 500: use the search box for others."),
    );
    panel.style.left = "0";
    const over = panel.getBoundingClientRect().right - document.documentElement.clientWidth + 8;
    if (over > 0) panel.style.left = `${-over}px`;
  }

  element.addEventListener("toggle", () => {
    if (element.open) fill();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    element.open = false;
    element.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  element.addEventListener("focusout", (event) => {
    const to = event.relatedTarget; // the page itself where a label is pressed
    if (to instanceof Node && !element.contains(to) && !to.contains(element)) element.open = false;
  });
  const outside = (event: Event) => {
    if (element.open && event.target instanceof Node && !element.contains(event.target)) element.open = false;
  };
  document.addEventListener("pointerdown", outside, { signal: context.signal });
  return {
    element,
    update(next) {
      chosen = next;
      badge.textContent = next.length > 0 ? ` ${next.length}` : "";
      badge.hidden = next.length === 0;
    },
  };
}
