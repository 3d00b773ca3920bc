// Lines of code: all of them in the page, or where they are many those that the eye can see. Long lines are cut.
import { h, type Child } from "../dom.ts";
import { formatCount, visible } from "../text.ts";
import type { Token } from "./tokens.ts";

const kAllLines = 2000; // more are only there while they can be seen
const kLineLength = 1000; // characters that are shown of a line at first
const kMoreLength = 20_000; // and then at a time
const kBeyond = 40; // lines above and below those in view

export interface LineRow {
  numbers: string[]; // the line's in each text
  mark: string; // "+", "-", "" beside it
  tokens: Token[];
  look: string; // class of the line
  notes: { text: string; severity: string }[]; // below it
}

export interface LinesView {
  element: HTMLElement;
  goTo(row: number): void;
}

export function linesView(rows: LineRow[], label: string): LinesView {
  return rows.length <= kAllLines && rows.every((row) => row.tokens.length < 4000)
    ? whole(rows, label)
    : windowed(rows, label);
}

function whole(rows: LineRow[], label: string): LinesView {
  const elements = rows.map(lineElement);
  const element = h("div", { class: "code", tabindex: 0, role: "region", "aria-label": label }, elements);
  return {
    element,
    goTo: (row) => {
      for (const each of elements) each.classList.remove("aimed");
      elements[row]?.classList.add("aimed");
      elements[row]?.scrollIntoView({ block: "nearest" });
    },
  };
}

// Every line has the same height, so that its place follows from its number; notes are its tooltip.
function windowed(rows: LineRow[], label: string): LinesView {
  const space = h("div", { class: "code-space" });
  const shown = h("div", { class: "code-window" });
  const element = h("div", { class: "code windowed", tabindex: 0, role: "region", "aria-label": label }, space, shown);
  let height = 0;
  let drawn = -1;
  let aimed = -1;
  const draw = (again = false) => {
    if (height === 0) {
      const probe = lineElement(rows[0]!);
      shown.replaceChildren(probe);
      height = probe.getBoundingClientRect().height || 20;
      space.style.height = `${height * rows.length}px`;
    }
    const first = Math.max(Math.floor(element.scrollTop / height) - kBeyond, 0);
    if (!again && Math.abs(first - drawn) < kBeyond / 2) return;
    drawn = first;
    const last = Math.min(first + Math.ceil(element.clientHeight / height) + 2 * kBeyond, rows.length);
    shown.style.transform = `translateY(${first * height}px)`;
    shown.replaceChildren(
      ...rows.slice(first, last).map((row, index) => {
        const line = lineElement({ ...row, notes: [] });
        line.title = row.notes.map((note) => note.text).join("\n");
        if (row.notes.length > 0) line.classList.add("noted");
        if (first + index === aimed) line.classList.add("aimed");
        return line;
      }),
    );
  };
  element.addEventListener("scroll", () => draw());
  new ResizeObserver(() => draw(true)).observe(element);
  return {
    element,
    goTo: (row) => {
      aimed = row;
      draw(true);
      element.scrollTop = Math.max(row * height - element.clientHeight / 2, 0);
      element.scrollIntoView({ block: "nearest" });
      draw(true);
    },
  };
}

function lineElement(row: LineRow): HTMLElement {
  return h(
    "div",
    { class: `line ${row.look}` },
    row.numbers.map((number) => h("span", { class: "number", "data-number": number, "aria-hidden": "true" })),
    row.mark === "" ? null : h("span", { class: "mark" }, row.mark),
    h("code", {}, tokenElements(row.tokens, kLineLength)),
    row.notes.map((each) =>
      h("span", { class: `line-note ${each.severity === "error" ? "of-error" : ""}` }, each.text),
    ),
  );
}

function tokenElements(tokens: Token[], most: number): Child[] {
  const children: Child[] = [];
  let length = 0;
  for (const [index, token] of tokens.entries()) {
    const text = token.text.slice(0, most - length);
    children.push(token.kind === "" ? visible(text) : h("span", { class: `t-${token.kind}` }, visible(text)));
    length += text.length;
    if (text.length < token.text.length || (length >= most && index + 1 < tokens.length)) {
      children.push(rest([{ kind: token.kind, text: token.text.slice(text.length) }, ...tokens.slice(index + 1)]));
      break;
    }
  }
  return children;
}

function rest(tokens: Token[]): HTMLElement {
  const left = tokens.reduce((sum, token) => sum + token.text.length, 0);
  const button = h("button", { type: "button", class: "quiet" }, `… ${formatCount(left)} more characters`);
  button.addEventListener("click", () => {
    button.replaceWith(h("span", {}, tokenElements(tokens, kMoreLength)));
  });
  return button;
}
