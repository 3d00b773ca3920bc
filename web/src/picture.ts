// A chart as a file of its own: an SVG whose styles are written into it, with title, legend and notes; or a PNG of it.
import { svg } from "./dom.ts";
import type { LegendItem } from "./plot.ts";
import { swatch } from "./plot.ts";
import { saveFile } from "./save.ts";
import { oneLine } from "./text.ts";

export interface Surroundings {
  title: string;
  legend: LegendItem[];
  note: string;
}

const inherited = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linejoin", "stroke-linecap", "font-family", "font-size", "font-weight", "font-variant", "text-anchor",
  "paint-order", "white-space"];

// Writes what style sheets and variables make of `original` into `copy`, an equal tree.
function writeStyles(original: Element, copy: Element, parent: CSSStyleDeclaration | null): void {
  const style = getComputedStyle(original);
  for (const name of inherited) {
    const value = style.getPropertyValue(name);
    if (parent && parent.getPropertyValue(name) === value) copy.removeAttribute(name);
    else if (value) copy.setAttribute(name, value);
  }
  if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  Array.from(original.children).forEach((child, i) => {
    const twin = copy.children[i];
    if (twin) writeStyles(child, twin, style);
  });
}

const lineHeight = 16;
const margin = 12;

function wrapped(text: string, width: number): string[] {
  const most = Math.max(20, Math.floor(width / 6.2));
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line && line.length + 1 + word.length > most) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return line ? [...lines, line] : lines;
}

function textAt(x: number, y: number, text: string, size: number, weight: number, color: string): SVGElement {
  return svg("text", { x, y, "font-size": size, "font-weight": weight, fill: color }, text);
}

// The picture stands in the page while its styles are read.
function composed(chart: SVGSVGElement, { title, legend, note }: Surroundings): { root: SVGSVGElement; width: number; height: number } {
  const chartWidth = Number(chart.getAttribute("width"));
  const width = chartWidth + 2 * margin;
  const page = getComputedStyle(chart);
  const ink = page.color;
  const root = svg("svg", { "font-family": page.fontFamily, class: "picture" });
  document.body.append(root);
  const copies: [Element, Element][] = [];
  let y = margin;
  for (const line of wrapped(oneLine(title, 300), width * 0.85)) root.append(textAt(margin, (y += 18), line, 15, 600, ink));
  y += 8;
  let x = margin;
  for (const item of legend) {
    const label = oneLine(item.label, 80);
    const room = 30 + label.length * 6.6 + 14;
    if (x > margin && x + room > width) {
      x = margin;
      y += 20;
    }
    const mark = svg("g", { transform: `translate(${x},${y})` }, ...swatch(item).childNodes);
    root.append(mark, textAt(x + 28, y + 11, label, 12, 400, ink));
    copies.push([mark, mark]);
    x += room;
  }
  if (legend.length) y += 24;
  const copy = chart.cloneNode(true) as SVGElement;
  copy.querySelectorAll('[aria-label="tip"]').forEach((tip) => tip.remove());
  const original = chart.cloneNode(true) as SVGElement;
  original.querySelectorAll('[aria-label="tip"]').forEach((tip) => tip.remove());
  chart.after(original);
  writeStyles(original, copy, null);
  original.remove();
  copies.forEach(([from, to]) => writeStyles(from, to, null));
  copy.setAttribute("x", String(margin));
  copy.setAttribute("y", String(y));
  copy.setAttribute("color", ink);
  root.append(copy);
  y += Number(chart.getAttribute("height")) + 6;
  const muted = getComputedStyle(chart).getPropertyValue("--plot-muted").trim() || ink;
  for (const line of wrapped(oneLine(note, 1000), width)) root.append(textAt(margin, (y += lineHeight), line, 11, 400, muted));
  const height = y + margin;
  const surface = page.getPropertyValue("--plot-surface").trim() || "white";
  root.prepend(svg("rect", { width, height, fill: surface }));
  root.remove();
  root.removeAttribute("class");
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` }))
    root.setAttribute(name, String(value));
  return { root, width, height };
}

async function rasterized(picture: Blob, width: number, height: number): Promise<Blob> {
  const scale = 2;
  const address = URL.createObjectURL(picture);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(width * scale);
    canvas.height = Math.ceil(height * scale);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

export async function savePicture(chart: SVGSVGElement, around: Surroundings, name: string, kind: "svg" | "png"): Promise<void> {
  const { root, width, height } = composed(chart, around);
  const text = '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(root);
  const blob = new Blob([text], { type: "image/svg+xml" });
  saveFile(`${name}.${kind}`, kind === "svg" ? blob : await rasterized(blob, width, height));
}
