// Charts: Observable Plot under the pages' content security policy, which refuses inline styles. Colours are CSS
// variables (plots.css), so that a chart follows the theme. A chart has a heading, a legend, its picture with an
// accessible name, a note, its numbers as a table, and buttons that save the picture.
import * as Plot from "@observablehq/plot";
import { withCsv } from "./csv.ts";
import type { Child } from "./dom.ts";
import { append, h, svg } from "./dom.ts";
import { savePicture } from "./picture.ts";
import { oneLine } from "./text.ts";

export interface Series {
  label: string;
  index: number; // of its style
}

export interface LegendItem {
  label: string;
  color: string;
  dash?: string; // a line, of this pattern
  symbol?: string; // a mark of Plot's symbols
  glyph?: string; // what stands in its cells
  opacity?: number;
}

export interface NumbersTable {
  head: string[];
  rows: (string | number | HTMLAnchorElement)[][];
}

export interface ChartOptions {
  title: string; // what it shows
  name: string; // of a saved picture, without its ending
  label: string | (() => string); // its accessible name: what a reader would see in it
  note: string; // number of entries, device, interval, unit
  draw(width: number): Plot.PlotOptions;
  least?: number; // below this width it scrolls
  legend?: LegendItem[];
  controls?: Child;
  numbers?(): NumbersTable;
  click?(datum: unknown): void; // of what the tip shows, in a chart without facets
  clickAt?(x: number, y: number, plot: ChartElement): void; // in pixels of the picture
  walk?: Walk;
}

// Cells that the arrow keys go through; Enter opens one.
export interface Walk {
  step(across: number, down: number): string; // goes to another, and says what stands there
  box(plot: ChartElement): { x: number; y: number; width: number; height: number } | null; // of where it is
  open(): void;
}

export interface Chart {
  element: HTMLElement;
  redraw(): void;
}

export type ChartElement = (SVGSVGElement | HTMLElement) & Plot.Plot & { value?: unknown };

const dashes = ["", "7 3", "2 3", "9 3 2 3", "5 5", "1 4", "12 3", "4 2 1 2"];
const symbols = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "hexagon"] as const;

// Series differ by colour, dash and symbol; those beyond the eighth repeat the colours with other dashes.
export function seriesStyle(index: number) {
  const turn = Math.floor(index / 8);
  return {
    color: `var(--series-${index % 8})`,
    dash: dashes[(index + turn) % 8] ?? "",
    symbol: symbols[(index + turn) % 8] ?? "circle",
  };
}

export const seriesLegend = (series: readonly Series[], lines: boolean): LegendItem[] =>
  series.map(({ label, index }) => {
    const { color, dash, symbol } = seriesStyle(index);
    return lines ? { label, color, dash } : { label, color, symbol };
  });

// Plot's <style> element would be refused; its rules are in plots.css. It is taken out before the picture enters the
// page.
export function plotElement(options: Plot.PlotOptions): ChartElement {
  const element = Plot.plot({ className: "plot", ...options, figure: false } as Plot.PlotOptions) as ChartElement;
  for (const style of element.querySelectorAll("style")) style.remove();
  return element;
}

// The tip at what the pointer is nearest to; `title` gives its lines.
export function tips<T>(
  data: readonly T[],
  channels: { x: (datum: T) => unknown; y: (datum: T) => unknown; title: (datum: T) => string[]; fx?: (datum: T) => unknown; fy?: (datum: T) => unknown },
  direction: "both" | "x" | "y" = "both",
): Plot.Markish {
  const pointer = direction === "x" ? Plot.pointerX : direction === "y" ? Plot.pointerY : Plot.pointer;
  const title = (datum: T) => channels.title(datum).map((line) => oneLine(line, 120)).join("\n");
  const options = { ...channels, title, fill: "var(--plot-tip)", stroke: "var(--plot-line)", fontSize: 12, lineWidth: 40 };
  return Plot.tip(data as T[], pointer(options as unknown as Plot.TipOptions));
}

export function swatch(item: LegendItem): SVGSVGElement {
  const square = item.dash === undefined && !item.symbol;
  const sign = svg("svg", { width: 22, height: 14, viewBox: "0 0 22 14", "aria-hidden": "true", class: "swatch" });
  if (square) {
    sign.append(svg("rect", { x: 4, width: 14, height: 14, rx: 2, fill: item.color, "fill-opacity": item.opacity ?? 1 }));
    if (item.glyph) {
      sign.append(svg("text", { x: 11, y: 11, "text-anchor": "middle", "font-size": 10, fill: "currentColor" }, item.glyph));
    }
  } else if (item.symbol) {
    const mark = plotElement({ width: 22, height: 14, margin: 0, axis: null, marks: [
      Plot.dot([0], { x: 11, y: 7, r: 4.5, symbol: item.symbol as Plot.SymbolType, fill: item.color })],
      x: { type: "identity" }, y: { type: "identity" } });
    sign.append(...mark.childNodes);
  } else {
    sign.append(svg("line", { x1: 0, x2: 22, y1: 7, y2: 7, stroke: item.color, "stroke-width": 2.25, "stroke-dasharray": item.dash ?? "" }));
  }
  return sign;
}

export function legend(items: readonly LegendItem[]): HTMLElement {
  return h("ul", { class: "chart-legend" }, items.map((item) => h("li", {}, swatch(item), oneLine(item.label, 80))));
}

export function numbersTable({ head, rows }: NumbersTable, title: string): HTMLElement {
  const cell = (value: string | number | HTMLAnchorElement) => value instanceof HTMLElement ? h("td", {}, value) : h("td", { class: /^[−\d?–<]/.test(String(value)) ? "num" : "" }, oneLine(String(value), 200));
  return withCsv(title, h("div", { class: "chart-scroll", tabindex: 0, role: "region", "aria-label": `Numbers: ${title}` },
    h("table", { class: "chart-numbers" },
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell)))))));
}

function listen(picture: ChartElement, { click, clickAt }: ChartOptions): void {
  if (!click && !clickAt) return;
  picture.classList.add("clickable");
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    clickAt?.((event as MouseEvent).clientX - box.left, (event as MouseEvent).clientY - box.top, picture);
    if (picture.value !== null && picture.value !== undefined) click?.(picture.value);
  });
}

const arrows: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function listenToKeys(holder: HTMLElement, picture: ChartElement, said: HTMLElement, walk: Walk): void {
  const mark = svg("rect", { fill: "none", stroke: "var(--focus)", "stroke-width": 2.5 });
  holder.tabIndex = 0;
  holder.setAttribute("role", "group"); // an image takes no keys
  holder.addEventListener("keydown", (event) => {
    const way = arrows[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || (!way && event.key !== "Enter")) return;
    event.preventDefault();
    if (!way) return walk.open();
    said.textContent = walk.step(...way);
    for (const [name, value] of Object.entries(walk.box(picture) ?? {})) mark.setAttribute(name, String(value));
    picture.append(mark);
  });
  holder.addEventListener("blur", () => mark.remove());
}

const leastWidth = 220;

// Charts are drawn when they come near the window, and all of them before the page is printed.
export function chart(options: ChartOptions): Chart {
  const body = h("div", { class: "chart-body" });
  const said = h("p", { class: "about", role: "status" });
  let picture: ChartElement | null = null;
  let width = 0;
  let seen = false;

  const draw = () => {
    width = Math.max(body.clientWidth, options.least ?? 0, leastWidth);
    picture = plotElement(options.draw(width));
    picture.setAttribute("aria-hidden", "true"); // its parts have labels of Plot's, which are no names
    const label = oneLine(typeof options.label === "string" ? options.label : options.label(), 2000);
    listen(picture, options);
    const holder = h("div", { role: "img", "aria-label": label }, picture);
    body.replaceChildren(holder);
    if (options.walk) listenToKeys(holder, picture, said, options.walk);
    body.style.minHeight = "";
    const scrolls = width > body.clientWidth + 1;
    for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", options.title]] as const)
      scrolls ? body.setAttribute(name, value) : body.removeAttribute(name);
  };
  const redraw = () => {
    if (seen && body.isConnected) draw();
  };
  const see = () => {
    if (seen || !body.isConnected) return;
    seen = true;
    draw();
  };

  const save = (kind: "svg" | "png") => () => {
    see();
    if (!picture) return;
    void savePicture(picture as SVGSVGElement, { title: options.title, legend: options.legend ?? [], note: options.note }, options.name, kind);
  };
  const numbers = options.numbers;
  const element = h("figure", { class: "chart" },
    h("div", { class: "chart-head" },
      h("h3", {}, options.title),
      h("div", { class: "chart-save" },
        h("button", { type: "button", onclick: save("svg"), "aria-label": `Save as SVG: ${options.title}` }, "SVG"),
        h("button", { type: "button", onclick: save("png"), "aria-label": `Save as PNG: ${options.title}` }, "PNG"))),
    options.controls ? h("div", { class: "chart-controls" }, options.controls) : null,
    options.legend?.length ? legend(options.legend) : null,
    body,
    options.walk ? said : null,
    h("figcaption", {}, options.note),
    numbers ? numbersBehind(numbers, options.title) : null);
  body.style.minHeight = "200px";
  observe(body, see, () => {
    const now = Math.max(body.clientWidth, options.least ?? 0, leastWidth);
    if (!seen) body.style.minHeight = `${options.draw(now).height ?? 200}px`;
    else if (Math.abs(now - width) > 1) draw();
  });
  return { element, redraw };
}

function numbersBehind(make: () => NumbersTable, title: string): HTMLElement {
  const details = h("details", { class: "chart-details" }, h("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) append(details, numbersTable(make(), title));
  });
  return details;
}

interface Watch {
  see(): void;
  resize(): void;
}
const watched = new WeakMap<Element, Watch>();
const unseen = new Set<WeakRef<Element>>();
let nearness: IntersectionObserver | null = null;
let sizes: ResizeObserver | null = null;

function observe(body: HTMLElement, see: () => void, resize: () => void): void {
  nearness ??= new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (!isIntersecting) continue;
      nearness?.unobserve(target);
      watched.get(target)?.see();
    }
  }, { rootMargin: "300px" });
  sizes ??= new ResizeObserver((changes) => {
    for (const { target } of changes) watched.get(target)?.resize();
  });
  watched.set(body, { see, resize });
  unseen.add(new WeakRef(body));
  nearness.observe(body);
  sizes.observe(body);
}

// Draws at once what of the charts inside stands in the window: where they take the place of others nothing flickers.
export function drawNear(inside: Element): void {
  for (const body of inside.querySelectorAll(".chart-body")) {
    const box = body.getBoundingClientRect();
    if (box.bottom > 0 && box.top < window.innerHeight) watched.get(body)?.see();
  }
}

if (typeof window !== "undefined") {
  window.addEventListener("beforeprint", () => {
    for (const ref of unseen) {
      const body = ref.deref();
      if (body?.isConnected) watched.get(body)?.see();
      unseen.delete(ref);
    }
  });
}

// What stands in a chart's place: why it is not there, and what to do.
export function noChart(title: string, ...why: Child[]): HTMLElement {
  return h("div", { class: "chart chart-none" }, h("h3", {}, title), h("p", {}, ...why));
}

