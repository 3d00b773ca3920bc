// What is around every page: head, search, messages, foot; and which page is shown.
import { CatalogStore } from "./catalog.ts";
import { h, replace } from "./dom.ts";
import type { PageContext } from "./page.ts";
import { navigation, pages } from "./pages.ts";
import { addressOf, parseAddress, type Address } from "./router.ts";
import { saveJson } from "./save.ts";
import { searchBox } from "./search.ts";
import { askToken, errorMessage, showKeys } from "./messages.ts";
import { DocumentError, openSource, type Report } from "./source.ts";
import { focusRow } from "./table.ts";
import { dateElement, oneLine } from "./text.ts";
import { themeButton } from "./theme.ts";

const start = "runs";

export async function startFrame(root: HTMLElement): Promise<void> {
  const main = h("main", { id: "main", tabindex: -1 });
  replace(root, main);
  try {
    const source = openSource(askToken);
    replace(main, h("p", { class: "loading" }, "Loading …"));
    new Frame(root, main, await CatalogStore.load(source)).start();
  } catch (error) {
    replace(
      main,
      errorMessage(error, () => void startFrame(root)),
    );
  }
}

class Frame {
  private readonly links = new Map<string, HTMLAnchorElement>();
  private readonly state = h("div", { class: "state", role: "status" });
  private readonly download = h(
    "button",
    { type: "button", onclick: () => this.offer && saveJson(this.offer.name, this.offer.make()) },
    "Download JSON",
  );
  private offer: { name: string; make: () => unknown } | null = null;
  private left = new AbortController();
  private address: Address = { page: "", parts: [], query: new URLSearchParams() };
  private listeners: (() => void)[] = [];
  private readonly scrolls = new Map<string, number>();
  private search: HTMLInputElement | null = null;

  constructor(
    root: HTMLElement,
    private readonly main: HTMLElement,
    private readonly store: CatalogStore,
  ) {
    const box = searchBox(() => this.store.catalog);
    this.search = box.input;
    const nav = h(
      "nav",
      { "aria-label": "Pages" },
      navigation.map(({ page, title }) => {
        const link = h("a", { href: addressOf(page) }, title);
        this.links.set(page, link);
        return link;
      }),
    );
    const head = h(
      "header",
      { class: "head" },
      h(
        "a",
        {
          class: "skip",
          href: "#main",
          onclick: (event: Event) => {
            event.preventDefault();
            main.focus();
          },
        },
        "Skip to the page",
      ),
      h("a", { class: "brand", href: addressOf(start) }, "KernelBench"),
      nav,
      box.element,
      h(
        "span",
        { class: "tools" },
        themeButton(),
        h("button", { type: "button", class: "icon", title: "Keys (?)", "aria-label": "Keys", onclick: showKeys }, "?"),
      ),
    );
    replace(root, head, this.state, main, this.foot());
  }

  start(): void {
    const wake = new EventTarget();
    addEventListener("online", () => wake.dispatchEvent(new Event("wake")));
    this.store.follow(
      {
        changed: () => this.changed(),
        state: (waiting) =>
          replace(
            this.state,
            waiting &&
              h(
                "p",
                { class: "notice" },
                `${waiting.why}: tried again in ${waiting.seconds} s. What is shown may be old. `,
                h("button", { type: "button", onclick: () => wake.dispatchEvent(new Event("wake")) }, "try now"),
              ),
          ),
      },
      wake,
    );
    const first = (this.store.source as Report).start;
    if (first && location.hash === "") history.replaceState(null, "", first);
    addEventListener("hashchange", () => this.arrive());
    addEventListener("popstate", () => this.arrive());
    document.addEventListener("keydown", (event) => this.key(event));
    this.arrive();
  }

  private foot(): HTMLElement {
    const { catalog, source } = this.store;
    const kinds = { report: "one report file", folder: "a folder of files", service: "a service, live" };
    const leftOut = catalog.left_out ?? [];
    return h(
      "footer",
      { class: "foot" },
      h(
        "p",
        {},
        `KernelBench ${oneLine(catalog.version)}, from ${kinds[source.kind]}, `,
        source.kind === "service" ? "opened " : "made ",
        dateElement(catalog.made),
        catalog.scope !== "" && catalog.scope !== "store" && `. Shows: ${oneLine(catalog.scope, 400)}`,
        leftOut.length > 0 && h("strong", {}, `. Left out for their size: ${oneLine(leftOut.join(", "), 400)}`),
      ),
      h("p", { class: "buttons" }, this.download, h("button", { type: "button", onclick: () => print() }, "Print")),
    );
  }

  // The address changed: another page, or other filters of this one.
  private arrive(): void {
    const address = parseAddress(location.hash);
    if (address.page === "") address.page = start;
    const same = address.page === this.address.page && address.parts.join("/") === this.address.parts.join("/");
    if (same && address.query.toString() === this.address.query.toString()) return;
    if (!same) this.scrolls.set(placeOf(this.address), scrollY);
    this.address = address;
    if (same) this.tell();
    else void this.show();
  }

  private async show(): Promise<void> {
    this.left.abort();
    const left = (this.left = new AbortController());
    this.listeners = [];
    this.offer = null;
    const address = this.address;
    for (const { page, also } of navigation) {
      const shown = address.page === "run" && address.parts.length > 0 ? "runs" : address.page; // a run is one of Runs
      const here = page === shown || also.includes(shown);
      if (here) this.links.get(page)?.setAttribute("aria-current", "page");
      else this.links.get(page)?.removeAttribute("aria-current");
    }
    this.main.setAttribute("aria-busy", "true");
    const waiting = setTimeout(() => replace(this.main, h("p", { class: "loading" }, "Loading …")), 150);
    let title = "KernelBench";
    let body: HTMLElement;
    try {
      const make = Object.hasOwn(pages, address.page) ? pages[address.page] : undefined;
      if (!make)
        throw new DocumentError(
          "other",
          `There is no page “${oneLine(address.page, 60)}”. The links above lead to those that there are.`,
        );
      const page = await make(this.context(left.signal));
      title = `${oneLine(page.title)} · KernelBench`;
      body = page.body;
    } catch (error) {
      if (left.signal.aborted) return;
      body = errorMessage(error, () => void this.show());
    } finally {
      clearTimeout(waiting);
    }
    if (left.signal.aborted) return;
    document.title = title;
    replace(this.main, body);
    this.main.removeAttribute("aria-busy");
    this.download.hidden = this.offer === null;
    scrollTo(0, this.scrolls.get(placeOf(address)) ?? 0);
    this.scrolls.delete(placeOf(address));
    if (document.activeElement === null || document.activeElement === document.body)
      this.main.focus({ preventScroll: true });
  }

  private context(signal: AbortSignal): PageContext {
    const frame = this;
    const own = this.address;
    return {
      source: this.store.source,
      get catalog() {
        return frame.store.catalog;
      },
      parts: own.parts,
      get query() {
        return frame.left.signal === signal ? frame.address.query : own.query;
      },
      signal,
      setQuery: (changes, push = false) => {
        if (!signal.aborted) this.setQuery(changes, push);
      },
      onChange: (listener) => {
        if (!signal.aborted) this.listeners.push(listener);
      },
      offerDownload: (name, make) => {
        if (signal.aborted) return;
        this.offer = { name, make };
        this.download.hidden = false;
      },
    };
  }

  private setQuery(changes: Record<string, string | string[] | null>, push: boolean): void {
    const query = new URLSearchParams(this.address.query);
    for (const [key, value] of Object.entries(changes)) {
      query.delete(key);
      if (value === null) continue;
      for (const each of Array.isArray(value) ? value : [value]) query.append(key, each);
    }
    if (query.toString() === this.address.query.toString()) return;
    this.address = { ...this.address, query };
    const to = addressOf(this.address.page, this.address.parts, query);
    if (push) history.pushState(null, "", to);
    else history.replaceState(null, "", to);
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  private pending = false;

  // News of a service is drawn once a second at most, and not behind another tab.
  private changed(): void {
    if (this.pending) return;
    this.pending = true;
    setTimeout(
      () =>
        requestAnimationFrame(() => {
          this.pending = false;
          this.tell();
        }),
      500,
    );
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") this.search?.focus();
    else if (event.key === "?") showKeys();
    else if (event.key === "j" || event.key === "k") {
      const table = this.main.querySelector(".table-box tbody")?.closest(".table-box");
      if (!table || target.closest(".table-box")) return;
      focusRow(table, 0);
    } else return;
    event.preventDefault();
  }
}

const placeOf = (address: Address): string => addressOf(address.page, address.parts, address.query);
