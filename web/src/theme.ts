// Light or dark: as the system has it, or as the viewer chose, which is kept where the browser keeps anything.
import { h } from "./dom.ts";

const key = "kernelbench-theme";
const next: Record<string, string> = { auto: "light", light: "dark", dark: "auto" };
const names: Record<string, string> = { auto: "as the system", light: "light", dark: "dark" };
const marks: Record<string, string> = { auto: "◐", light: "○", dark: "●" };

function kept(): string {
  try {
    const theme = localStorage.getItem(key) ?? "auto";
    return theme in next ? theme : "auto";
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
      theme = next[theme] ?? "auto";
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
