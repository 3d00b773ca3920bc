// Tables of any length: sorted by their headings, 50 rows a page, walked through by the keyboard. Sorting and page are
// kept in the address. The button below saves all rows, of all columns that any row fills.
import { csvButton, textOf, withCsv, type Value } from "./csv.ts";
import { h, replace, type Child } from "./dom.ts";
import type { PageContext } from "./page.ts";
import { formatCount } from "./text.ts";

export interface Column<Row> {
  key: string;
  title: string;
  help?: string; // shown on the heading
  number?: boolean; // aligned to the right
  secondary?: boolean; // left out on narrow screens
  tertiary?: boolean; // shown on wide ones alone
  optional?: boolean; // left out where `sort` is null for every row
  varied?: boolean; // left out where `sort` is the same for every row
  clip?: boolean; // cut to one line where there is no room
  cell: (row: Row) => Child;
  sort?: (row: Row) => number | string | null; // null is last either way
  csv?: Record<string, (row: Row) => Value> | "text" | null; // of a file: columns, the cell's text, none; else `sort`
  descending?: boolean; // where the first click sorts downwards
}

export interface TableOptions<Row> {
  caption: string; // said to who hears the page
  columns: Column<Row>[];
  rows: Row[];
  empty: Child; // in place of a table without rows
  name?: string; // of its keys in the address where a page has several tables
  sort?: string; // at first: a column's key, "-key" downwards; none: the rows' own order
  rowClass?: (row: Row) => string | null;
}

export interface Table<Row> {
  element: HTMLElement;
  update(rows: Row[]): void;
}

const pageSize = 50;

export function table<Row>(context: PageContext, options: TableOptions<Row>): Table<Row> {
  const prefix = options.name ? options.name + "." : "";
  const element = h("div", { class: "table-box" });
  let rows = options.rows;
  let drawn = "";

  const sorting = () => context.query.get(prefix + "sort") ?? options.sort ?? "";
  const pageNumber = () => Math.max(1, Math.floor(Number(context.query.get(prefix + "page") ?? 1)) || 1);

  function sorted(): Row[] {
    const key = sorting().replace(/^-/, "");
    const column = options.columns.find((each) => each.key === key);
    return column?.sort ? sortRows(rows, column.sort, sorting().startsWith("-")) : rows;
  }

  function sortBy(column: Column<Row>): void {
    const now = sorting();
    const first = column.descending ? `-${column.key}` : column.key;
    const other = column.descending ? column.key : `-${column.key}`;
    context.setQuery({ [prefix + "sort"]: now === first ? other : first, [prefix + "page"]: null });
    element.querySelector<HTMLElement>(`th[data-key="${CSS.escape(column.key)}"] button`)?.focus();
  }

  function heading(column: Column<Row>): HTMLElement {
    const now =
      sorting().replace(/^-/, "") === column.key ? (sorting().startsWith("-") ? "descending" : "ascending") : null;
    const label = column.sort
      ? h(
          "button",
          { type: "button", onclick: () => sortBy(column) },
          column.title,
          h("span", { class: "arrow", "aria-hidden": true }, now === null ? "" : now === "ascending" ? " ▲" : " ▼"),
        )
      : column.title;
    return h(
      "th",
      { scope: "col", class: classes(column), title: column.help, "aria-sort": now, "data-key": column.key },
      label,
    );
  }

  const filled = () =>
    options.columns.filter(({ optional, sort }) => !sort || !optional || rows.some((row) => sort(row) !== null));

  function values(): Value[][] {
    const columns = filled().flatMap((column): [string, (row: Row) => Value][] => {
      const { title, csv, sort, cell } = column;
      if (csv === null) return [];
      if (csv && csv !== "text") return Object.entries(csv);
      return [[title, sort && csv !== "text" ? sort : (row) => textOf(h("td", {}, cell(row)))]];
    });
    return [columns.map(([name]) => name), ...sorted().map((row) => columns.map(([, value]) => value(row)))];
  }

  function draw(): void {
    drawn = `${sorting()}\n${pageNumber()}`;
    if (rows.length === 0) {
      replace(element, h("div", { class: "empty" }, options.empty));
      return;
    }
    const pages = Math.ceil(rows.length / pageSize);
    const page = Math.min(pageNumber(), pages);
    const columns = filled().filter(
      ({ varied, sort }) => !sort || !varied || rows.some((row) => sort(row) !== sort(rows[0]!)),
    );
    const shown = sorted().slice((page - 1) * pageSize, page * pageSize);
    const body = h(
      "tbody",
      {},
      shown.map((row) =>
        h(
          "tr",
          { class: options.rowClass?.(row) },
          columns.map((column) => h("td", { class: classes(column) }, column.cell(row))),
        ),
      ),
    );
    const whole = h(
      "table",
      {},
      h("caption", { class: "hidden" }, options.caption),
      h("thead", {}, h("tr", {}, columns.map(heading))),
      body,
    );
    replace(
      element,
      h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": options.caption }, whole),
      h("div", { class: "table-foot" }, pages > 1 && pager(page, pages), csvButton(options.caption, values)),
    );
  }

  function pager(page: number, pages: number): HTMLElement {
    const go = (to: number, label: string, title: string) =>
      h(
        "button",
        {
          type: "button",
          disabled: to < 1 || to > pages || to === page,
          title,
          onclick: () => {
            context.setQuery({ [prefix + "page"]: to === 1 ? null : String(to) }, true);
            element.scrollIntoView({ block: "nearest" });
          },
        },
        label,
      );
    const from = (page - 1) * pageSize + 1;
    return h(
      "nav",
      { class: "pager", "aria-label": `Pages of: ${options.caption}` },
      go(1, "«", "first page"),
      go(page - 1, "‹ previous", "previous page"),
      h(
        "span",
        {},
        `${formatCount(from)} to ${formatCount(Math.min(rows.length, page * pageSize))} of ${formatCount(rows.length)}`,
      ),
      go(page + 1, "next ›", "next page"),
      go(pages, "»", "last page"),
    );
  }

  element.addEventListener("keydown", (event) => walk(element, event));
  context.onChange(() => {
    if (drawn !== `${sorting()}\n${pageNumber()}`) draw();
  });
  draw();
  return {
    element,
    update(next) {
      rows = next;
      const focused = element.contains(document.activeElement) ? rowOf(element, document.activeElement) : -1;
      draw();
      if (focused >= 0) focusRow(element, focused);
    },
  };
}

export function sortRows<Row>(rows: Row[], by: (row: Row) => number | string | null, descending: boolean): Row[] {
  const keys = rows.map((row, at) => ({ row, at, key: by(row) }));
  keys.sort((a, b) => {
    if (a.key === null || b.key === null) return a.key === b.key ? a.at - b.at : a.key === null ? 1 : -1;
    const order =
      typeof a.key === "number" && typeof b.key === "number"
        ? a.key - b.key
        : collator.compare(String(a.key), String(b.key));
    return order === 0 ? a.at - b.at : descending ? -order : order;
  });
  return keys.map((each) => each.row);
}

const collator = new Intl.Collator("en", { numeric: true });

const classes = (column: { number?: boolean; secondary?: boolean; tertiary?: boolean; clip?: boolean }) =>
  [column.number && "number", column.secondary && "secondary", column.tertiary && "tertiary", column.clip && "clip"]
    .filter(Boolean)
    .join(" ") || null;

// j, k and the arrows go from row to row; what is focused in one is its first link.
function walk(element: Element, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (step === undefined) return;
  const at = rowOf(element, document.activeElement);
  if (focusRow(element, at < 0 ? (step > 0 ? 0 : -1) : at + step)) event.preventDefault();
}

function rowOf(element: Element, inside: Element | null): number {
  const row = inside?.closest("tbody tr");
  return row ? [...element.querySelectorAll("tbody tr")].indexOf(row) : -1;
}

export function focusRow(element: Element, at: number): boolean {
  const target = element.querySelectorAll("tbody tr")[at]?.querySelector<HTMLElement>("a, button");
  target?.focus();
  return target !== undefined && target !== null;
}

// A table whose rows fold into a list of named values in a narrow window. Roles are said, for styles take them away.
export function foldingTable(caption: string, heads: string[], numbers: number[], rows: Child[][]): HTMLElement {
  const kind = (at: number) => (numbers.includes(at) ? "number" : null);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { class: "folding", role: "table", "aria-label": caption },
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          heads.map((name, at) => h("th", { scope: "col", role: "columnheader", class: kind(at) }, name)),
        ),
      ),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.map(([first, ...rest]) =>
          h(
            "tr",
            { role: "row" },
            h("th", { scope: "row", role: "rowheader" }, first),
            rest.map((cell, at) => h("td", { role: "cell", class: kind(at + 1), "data-name": heads[at + 1] }, h("span", {}, cell))),
          ),
        ),
      ),
    ),
  );
}

// A short table of its own order; `numbers` are the columns that are aligned to the right.
export function plainTable(caption: string, head: string[], numbers: number[], rows: Child[][]): HTMLElement {
  const kind = (at: number) => (numbers.includes(at) ? "number" : null);
  const box = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "hidden" }, caption),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((name, at) => h("th", { scope: "col", class: kind(at) }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        rows.map((row) =>
          h(
            "tr",
            {},
            row.map((cell, at) => h("td", { class: kind(at) }, cell)),
          ),
        ),
      ),
    ),
  );
  return withCsv(caption, box);
}
