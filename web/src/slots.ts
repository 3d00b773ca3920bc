// Parts of a page that are made anew, each for itself, when what it shows has changed.
import { h } from "./dom.ts";
import { drawNear } from "./plot.ts";

export type Slot = [name: string, key: string, make: () => HTMLElement | null | undefined | false];

const controls = "select, input, button, summary";

export interface Slots {
  element: HTMLElement;
  // Makes those whose key has changed; all of them when `again`. Their charts are drawn at once when `still`, so that
  // nothing flickers, else after the browser has shown the rest.
  show(again: boolean, list: Slot[], still?: boolean): void;
  // Does what changes a slot's key, without that it is made anew: it has shown the change itself.
  keep(name: string, change: () => void): void;
}

export function slots(): Slots {
  const element = h("div", { class: "slots" });
  const made = new Map<string, { key: string; box: HTMLElement }>();
  let kept: string | null = null;
  return {
    element,
    show(again, list, still = false) {
      for (const [name, key, make] of list) {
        const known = made.get(name);
        if (known && kept === name && !again) known.key = key;
        if (known && !again && known.key === key) continue;
        const box = known?.box ?? h("div", { class: `slot-${name}` });
        const focused = box.contains(document.activeElement) ? [...box.querySelectorAll(controls)].indexOf(document.activeElement as Element) : -1;
        const open = [...box.querySelectorAll("details")].map((each) => each.open);
        const fresh = make() || null;
        box.replaceChildren(...(fresh ? [fresh] : []));
        if (!known) element.append(box);
        box.querySelectorAll("details").forEach((each, i) => (each.open = open[i] ?? each.open));
        if (still && box.isConnected) drawNear(box);
        if (focused >= 0) [...box.querySelectorAll<HTMLElement>(controls)][focused]?.focus();
        made.set(name, { key, box });
      }
    },
    keep(name, change) {
      kept = name;
      try {
        change();
      } finally {
        kept = null;
      }
    },
  };
}
