// Pieces that all parts of the page of an entry are made of.
import { h, type Child } from "../dom.ts";
import { formatCount, oneLine, visible } from "../text.ts";

// What is given as a string may hold anything.
const shown = (child: Child): Child =>
  typeof child === "string" ? visible(child) : Array.isArray(child) ? child.map(shown) : child;

export function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "part" }, h("h2", {}, visible(title)), ...children);
}

// Pairs without a value are left out.
export function facts(pairs: [string, Child, string?][]): HTMLElement {
  const given = pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return h(
    "dl",
    { class: "facts" },
    given.map(([name, value, title]) => [
      h("dt", { title: title === undefined ? null : visible(title) }, oneLine(name, 60)),
      h("dd", {}, shown(value)),
    ]),
  );
}

// Folded; `make` is called when it is first opened.
export function more(title: Child, make: () => Child, open = false): HTMLElement {
  const box = h("details", { class: "more" }, h("summary", {}, shown(title)));
  let made = false;
  const fill = () => {
    if (made || !box.open) return;
    made = true;
    box.append(h("div", { class: "more-body" }, make()));
  };
  box.open = open;
  fill();
  box.addEventListener("toggle", fill);
  return box;
}

export function note(...children: Child[]): HTMLElement {
  return h("p", { class: "muted" }, children.map(shown));
}

// A button that copies; where the browser does not let it, it selects the text instead.
export function copyButton(text: () => string, label = "copy", selects?: HTMLElement): HTMLElement {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "copied";
    } catch {
      if (selects !== undefined) getSelection()?.selectAllChildren(selects);
      button.textContent = selects === undefined ? "not allowed" : "selected: press Ctrl-C";
    }
    setTimeout(() => (button.textContent = label), 2500);
  });
  return button;
}

export function downloadButton(name: string, text: () => string, label: string): HTMLElement {
  return h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        const url = URL.createObjectURL(new Blob([text()], { type: "text/plain" }));
        h("a", { href: url, download: name.replace(/[^\w.-]/g, "_") || "file.txt" }).click();
        setTimeout(() => URL.revokeObjectURL(url), 10_000);
      },
    },
    label,
  );
}

const kLines = 40; // of a text that is shown in part
const kCharacters = 8000;
const kTall = 34; // lines; more scroll

// Text as it is, in a fixed width: its beginning and its end, and a button for all of it (at most so much at a time).
export function output(text: string, options: { head?: number; tail?: number } = {}): HTMLElement {
  const { head = kLines, tail = 0 } = options;
  const box = h("pre", { class: "output" });
  const lines = text.length > 4 * kCharacters ? text.slice(0, kCharacters).split("\n") : text.split("\n");
  if (lines.length > kTall) {
    box.classList.add("tall");
    box.tabIndex = 0;
  }
  const cut = lines.length > head + tail + 3 || text.length > kCharacters;
  if (!cut) {
    box.append(visible(text));
    return box;
  }
  const first = clipped(lines.slice(0, head).join("\n"), false);
  const last = tail > 0 ? clipped(text.slice(-kCharacters).split("\n").slice(-tail).join("\n"), true) : "";
  const button = h(
    "button",
    { type: "button", class: "quiet", onclick: () => whole(box, text, 0) },
    leftOut(text, first, last),
  );
  box.append(visible(first), "\n", button, last === "" ? "" : "\n" + visible(last));
  return box;
}

function clipped(text: string, end: boolean): string {
  if (text.length <= kCharacters) return text;
  return end ? text.slice(-kCharacters) : text.slice(0, kCharacters);
}

function leftOut(text: string, first: string, last: string): string {
  return `… ${formatCount(Math.max(text.length - first.length - last.length, 0))} more characters: show`;
}

const kStep = 200_000;

function whole(box: HTMLElement, text: string, from: number): void {
  if (from === 0) box.replaceChildren();
  const to = Math.min(from + kStep, text.length);
  box.append(visible(text.slice(from, to)));
  if (to === text.length) return;
  const button = h(
    "button",
    { type: "button", class: "quiet" },
    `… ${formatCount(text.length - to)} more characters: show`,
  );
  button.addEventListener("click", () => {
    button.remove();
    whole(box, text, to);
  });
  box.append(button);
}
