// A picture of a wrong output: a cell for a part of it, with the share of its elements that are wrong.
import type { JsonObject } from "../documents.ts";
import { h, svg, type Child } from "../dom.ts";
import { savePicture, type Surroundings } from "../picture.ts";
import { formatCount, formatShare, plural } from "../text.ts";
import { numberAt, numbersAt, objectAt } from "./read.ts";

// Classes of shares; a cell is as large as its class is grave, so that colour alone says nothing.
const kClasses = [
  { most: 0, name: "right", look: "e0", size: 0.22 },
  { most: 0.01, name: "up to 1% wrong", look: "e1", size: 0.45 },
  { most: 0.1, name: "up to 10%", look: "e2", size: 0.6 },
  { most: 0.5, name: "up to half", look: "e3", size: 0.76 },
  { most: 1, name: "more than half", look: "e4", size: 0.92 },
];
const kMostCells = 64 * 64;

interface CellMap {
  rows: number;
  columns: number;
  wrong: number[]; // shares, row by row
  height: number; // elements
  width: number;
}

export function errorMap(mismatch: JsonObject): Child {
  const map = objectAt(mismatch, "map");
  const [rows, columns] = [numberAt(map, "rows") ?? 0, numberAt(map, "columns") ?? 0];
  const wrong = numbersAt(map, "wrong");
  if (rows < 1 || columns < 1 || wrong.length !== rows * columns || wrong.length > kMostCells) return null;
  const shape = numbersAt(mismatch, "shape");
  const split = Math.min(Math.max(numberAt(map, "split") ?? 0, 0), shape.length);
  const bad = wrong.filter((share) => share > 0).length;
  const label = `${formatCount(bad)} of ${plural(wrong.length, "cell")} ${bad === 1 ? "has" : "have"} wrong elements`;
  const said = `${sides(shape, split)}. ${label}`;
  const picture = pictureOf(
    { rows, columns, wrong, height: product(shape.slice(0, split)), width: product(shape.slice(split)) },
    label,
  );
  const present = kClasses
    .map((each, index) => ({ ...each, count: wrong.filter((share) => classOf(share) === index).length }))
    .filter((each) => each.count > 0);
  const legend = present.map(({ name, look }) => ({
    label: name,
    color: look === "e0" ? "var(--plot-even)" : `var(--${look})`,
  }));
  const around = { title: "Where the output is wrong", legend, note: said };
  return h(
    "figure",
    {},
    h("figcaption", {}, h("b", {}, "Where in the output"), `: ${said}. `, saveButtons(picture, around)),
    h("div", { class: "scroll" }, picture),
    h(
      "ul",
      { class: "map-legend" },
      present.map((each) => h("li", {}, swatch(each), `${each.name} (${formatCount(each.count)})`)),
    ),
  );
}

const classOf = (share: number) =>
  Math.max(
    kClasses.findIndex((each) => share <= each.most),
    0,
  );

function pictureOf(map: CellMap, label: string): SVGSVGElement {
  const side = Math.max(Math.min(Math.floor(544 / map.columns), Math.floor(544 / map.rows), 22), 4);
  const [width, height] = [map.columns * side, map.rows * side];
  const viewBox = `0 0 ${width} ${height}`;
  const picture = svg("svg", { class: "error-map", viewBox, width, height, role: "img", "aria-label": label });
  for (const [index, share] of map.wrong.entries()) {
    const { look, size } = kClasses[classOf(share)]!;
    const [row, column] = [Math.floor(index / map.columns), index % map.columns];
    const edge = side * size;
    const at = (cell: number) => cell * side + (side - edge) / 2;
    const place = `rows ${range(row, map.rows, map.height)}, columns ${range(column, map.columns, map.width)}`;
    const title = svg("title", {}, `${place}: ${formatShare(share, 2)} wrong`);
    picture.append(svg("rect", { class: look, x: at(column), y: at(row), width: edge, height: edge }, title));
  }
  return picture;
}

function saveButtons(picture: SVGSVGElement, around: Surroundings): HTMLElement {
  const save = (kind: "svg" | "png") =>
    h(
      "button",
      {
        type: "button",
        "aria-label": `Save as ${kind.toUpperCase()}: where in the output`,
        onclick: () => void savePicture(picture, around, "wrong-elements", kind),
      },
      kind.toUpperCase(),
    );
  return h("span", { class: "chart-save" }, save("svg"), " ", save("png"));
}

function swatch(of: { look: string; size: number }): SVGElement {
  const inset = (14 * (1 - of.size)) / 2;
  return svg(
    "svg",
    { class: "swatch", width: 14, height: 14, "aria-hidden": "true" },
    svg("rect", { class: of.look, x: inset, y: inset, width: 14 * of.size, height: 14 * of.size }),
  );
}

const product = (sizes: number[]) => sizes.reduce((all, size) => all * size, 1);

// "rows are dimension 0 (512), columns dimension 1 (8192)"
function sides(shape: number[], split: number): string {
  const named = (from: number, to: number) => {
    if (from >= to) return "one";
    const names = from + 1 === to ? `dimension ${from}` : `dimensions ${from} to ${to - 1}`;
    return `${names} (${shape.slice(from, to).join(" × ")})`;
  };
  return `rows are ${named(0, split)}, columns ${named(split, shape.length)}`;
}

function range(cell: number, cells: number, size: number): string {
  const [first, last] = [Math.floor((cell * size) / cells), Math.floor(((cell + 1) * size) / cells) - 1];
  return first >= last ? String(first) : `${first} to ${last}`;
}
