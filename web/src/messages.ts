// What the frame says: errors, the keys, and the question for a token.
import { h } from "./dom.ts";
import { DocumentError } from "./source.ts";

const titles = {
  gone: "Not here",
  retry: "No answer",
  token: "No token",
  other: "This cannot be shown",
};

export function errorMessage(error: unknown, again: () => void): HTMLElement {
  if (!(error instanceof DocumentError)) console.error(error);
  const kind = error instanceof DocumentError ? error.kind : "other";
  const message = error instanceof Error ? error.message : String(error);
  const box = h("section", { class: "error", role: "alert" }, h("h1", {}, titles[kind]), h("p", {}, withCode(message)));
  if (kind === "gone") {
    box.append(
      h(
        "p",
        {},
        "It was deleted, was left out when these pages were written, or belongs to a run that you may not see. ",
        h("a", { href: "#/entries" }, "All entries"),
      ),
    );
  }
  if (kind === "retry") {
    let seconds = 4;
    const text = h("span", {});
    const tell = () => (text.textContent = `Tried again in ${seconds} s. `);
    const timer = setInterval(() => {
      if (!box.isConnected) return clearInterval(timer);
      if (--seconds <= 0) {
        clearInterval(timer);
        again();
      } else tell();
    }, 1000);
    tell();
    box.append(
      h(
        "p",
        {},
        text,
        h(
          "button",
          {
            type: "button",
            onclick: () => {
              clearInterval(timer);
              again();
            },
          },
          "try now",
        ),
      ),
    );
  }
  if (kind === "token") box.append(h("p", {}, h("button", { type: "button", onclick: () => again() }, "Type a token")));
  return box;
}

// `command` in a sentence as code.
export function withCode(text: string): (string | HTMLElement)[] {
  return text.split("`").map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part));
}

const keys: [string, string][] = [
  ["/", "search"],
  ["j, k or arrows", "next or previous row of a table"],
  ["Enter", "open what is focused"],
  ["Esc", "close a menu or a list"],
  ["?", "this list"],
];

export function showKeys(): void {
  const dialog = h(
    "dialog",
    { "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h(
      "dl",
      { class: "keys" },
      keys.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
    ),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  open(dialog);
}

function open(dialog: HTMLDialogElement): void {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

export function askToken(why: string): Promise<string | null> {
  return new Promise((resolve) => {
    const input = h("input", {
      type: "password",
      name: "token",
      autocomplete: "off",
      required: true,
      "aria-label": "Token",
      size: 40,
    });
    const dialog = h(
      "dialog",
      { "aria-label": "Token" },
      h("h2", {}, "Token"),
      h("p", {}, why),
      h(
        "p",
        { class: "muted" },
        withCode("Where the service runs, `kernelbench token add NAME` makes one. It is kept for this tab alone."),
      ),
      h(
        "form",
        { method: "dialog" },
        input,
        " ",
        h("button", { value: "use" }, "Use it"),
        " ",
        h("button", { value: "", formnovalidate: true }, "Cancel"),
      ),
    );
    dialog.addEventListener("close", () =>
      resolve(dialog.returnValue === "use" && input.value !== "" ? input.value.trim() : null),
    );
    open(dialog);
  });
}
