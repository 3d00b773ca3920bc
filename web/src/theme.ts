// Light or dark: as the system has it, or as the viewer chose, which is kept where the browser keeps anything.
import { h } from "./dom.ts";

const key = "kernelbench-theme";
// From the system's to the other of the two, so that each press shows; then to the one that the system has, and back.
function after(theme: string): string {
  const [own, other] = matchMedia("(prefers-color-scheme: dark)").matches ? ["dark", "light"] : ["light", "dark"];
  return theme === "auto" ? other! : theme === other ? own! : "auto";
}
const names: Record<string, string> = { auto: "as the system", light: "light", dark: "dark" };
const marks: Record<string, string> = { auto: "◐", light: "○", dark: "●" };

function kept(): string {
  try {
    const theme = localStorage.getItem(key) ?? "auto";
    return theme in names ? theme : "auto";
  } catch {
    return "auto";
  }
}

// Told on `document` as the event "theme".
function apply(theme: string): void {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  document.dispatchEvent(new Event("theme"));
}

export function themeButton(): HTMLElement {
  let theme = kept();
  const button = h("button", {
    type: "button",
    class: "icon",
    onclick: () => {
      theme = after(theme);
      try {
        localStorage.setItem(key, theme);
      } catch {
        // It holds until the page is closed.
      }
      show();
    },
  });
  function show(): void {
    apply(theme);
    button.textContent = marks[theme] ?? "";
    button.title = `Colours: ${names[theme]}`;
    button.setAttribute("aria-label", button.title);
  }
  show();
  return button;
}
