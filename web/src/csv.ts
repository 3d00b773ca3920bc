// Tables as files of comma-separated values (RFC 4180).
import { h } from "./dom.ts";
import { fileName, saveFile } from "./save.ts";

export type Value = string | number | boolean | null;

export const csvOf = (rows: Value[][]): string => rows.map((row) => row.map(field).join(",") + "\r\n").join("");

// A spreadsheet would take some texts for formulas, and names of models and candidates hold anything: these get a '.
function field(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = /^\s*[=+\-@]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// What an element says: of a picture its name, of what is hidden from readers nothing. Numbers become plain ones.
export const textOf = (element: Node): string => {
  const text = wordsOf(element).replace(/(\d)\u202f(?=\d)/g, "$1").replaceAll("−", "-").replace(/\s+/g, " ").trim();
  return text === "–" ? "" : text;
};

function wordsOf(node: Node): string {
  if (!(node instanceof Element)) return node.textContent ?? "";
  if (node.getAttribute("aria-hidden") === "true") return "";
  if (node.getAttribute("role") === "img") return node.getAttribute("aria-label") ?? "";
  return ` ${[...node.childNodes].map(wordsOf).join("")} `;
}

// The table's rows; a cell that spans several stands in each of them.
export function rowsOf(table: HTMLTableElement): string[][] {
  const spans: { text: string; left: number }[] = []; // by column
  return [...table.rows].map((row) => {
    const cells = [...row.cells];
    const texts: string[] = [];
    while (cells.length > 0 || (spans[texts.length]?.left ?? 0) > 0) {
      const span = spans[texts.length];
      if (span && span.left > 0) {
        --span.left;
        texts.push(span.text);
        continue;
      }
      const cell = cells.shift()!;
      spans[texts.length] = { text: textOf(cell), left: cell.rowSpan - 1 };
      texts.push(textOf(cell));
    }
    return texts;
  });
}

// `make` is called at the press.
export const csvButton = (caption: string, make: () => Value[][]): HTMLElement =>
  h(
    "button",
    {
      type: "button",
      class: "quiet csv",
      "aria-label": `Download CSV: ${caption}`,
      onclick: () => saveFile(`${fileName(caption).slice(0, 80).replace(/[.-]+$/, "")}.csv`, csvOf(make()), "text/csv"),
    },
    "Download CSV",
  );

// A box with a table, and below it the button that saves the table as it is then.
export const withCsv = (caption: string, box: HTMLElement, make?: () => Value[][]): HTMLElement =>
  h(
    "div",
    { class: "with-csv" },
    box,
    csvButton(
      caption,
      make ??
        (() => {
          const table = box instanceof HTMLTableElement ? box : box.querySelector("table");
          return table ? rowsOf(table) : [];
        }),
    ),
  );
