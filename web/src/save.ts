// Files that a page hands to the viewer.
export function saveFile(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = fileName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function saveJson(name: string, value: unknown): void {
  saveFile(`${name}.json`, JSON.stringify(value, null, 1) + "\n", "application/json");
}

// Letters, digits and a few marks: names of runs and models hold anything.
export const fileName = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[-.]+/, "")
    .slice(0, 120) || "kernelbench";

// A button that copies, and says that it did.
export async function copyText(text: string, button: HTMLButtonElement): Promise<void> {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    button.textContent = "the browser refuses: select the text";
  }
  setTimeout(() => (button.textContent = label), 2000);
}
