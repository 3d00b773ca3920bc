// Elements out of code. Text is always a text node: nothing here, or anywhere else, parses markup.
export type Child = Node | string | number | null | undefined | false | Child[];
// Listeners take the event of their name.
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

export function append(parent: Element | DocumentFragment, ...children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(parent, ...child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, name.startsWith("aria-") ? "true" : "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
}

// `on...` with a function is a listener; true is an attribute without a value; false and null are none.
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, ...children);
  return element;
}

// The same for SVG.
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(element, attributes);
  append(element, ...children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, ...children);
}
