// How text and numbers are shown. Text of candidates and models goes through visible() on its way into the page.
import { h } from "./dom.ts";

// Control, bidirectional and invisible characters, which could hide what a text says. Newline and tab stay.
const hidden =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e01ef}]|[\ud800-\udfff]/gu;

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  if (code === 0x202f) return character; // a narrow space, which hides nothing
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}

// The text with marks in place of what cannot be seen: "\u0000" is "␀", a right-to-left override "⟨U+202E⟩".
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(hidden, mark);
}

// On one line, at most `limit` characters.
export function oneLine(text: string, limit = 120): string {
  const cut = text.length > limit ? text.slice(0, limit - 1) : text;
  const line = visible(cut).replace(/\s+/g, " ").trim();
  if (line === "" && text !== "") return "\u2420"; // a name of blanks can be seen, and pressed
  return text.length > limit ? line + "…" : line;
}

// A text that may be long: its first `limit` characters, and a button that shows `step` more at a time.
export function longText(text: string, limit = 4000, step = 100_000): HTMLElement {
  const box = h("span", { class: "long-text" });
  let shown = Math.min(limit, text.length);
  const node = document.createTextNode(visible(text.slice(0, shown)));
  box.append(node);
  if (shown < text.length) {
    const label = () => `… show more (${formatCount(text.length - shown)} characters left)`;
    const button = h(
      "button",
      {
        type: "button",
        class: "quiet",
        onclick: () => {
          shown = Math.min(text.length, shown + step);
          node.data = visible(text.slice(0, shown));
          if (shown < text.length) button.textContent = label();
          else button.remove();
        },
      },
      label(),
    );
    box.append(button);
  }
  return box;
}

function significant(value: number, digits: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "?" : value > 0 ? "∞" : "−∞";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(digits - 1);
  const decimals = value === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)) + 1e-12));
  return value.toFixed(decimals);
}

export const none = "–";

// Microseconds, with the unit that suits: "12.3 µs", "1.62 ms".
export function formatTime(us: number | null | undefined): string {
  if (us === null || us === undefined) return none;
  if (us < 1) return `${significant(us * 1e3, 3)} ns`;
  if (us < 1e3) return `${significant(us, 3)} µs`;
  if (us < 1e6) return `${significant(us / 1e3, 3)} ms`;
  return `${significant(us / 1e6, 3)} s`;
}

export function formatSeconds(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return none;
  if (seconds < 60) return seconds < 1 ? formatTime(seconds * 1e6) : `${significant(seconds, 3)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function formatSpeedup(speedup: number | null | undefined): string {
  return speedup === null || speedup === undefined ? none : `${significant(speedup, 3)}×`;
}

// "1.95 to 3.42×", or why there is none.
export function formatInterval(low: number | null | undefined, high: number | null | undefined, unit = "×"): string {
  if (low === null || low === undefined) return "no interval";
  return `${significant(low, 3)} to ${high === null || high === undefined ? "?" : significant(high, 3)}${unit}`;
}

// "2.48× (1.95 to 3.42×)".
export function formatSpeedupWithInterval(
  speedup: number | null | undefined,
  low: number | null | undefined,
  high: number | null | undefined,
): string {
  if (speedup === null || speedup === undefined) return "not timed";
  return `${formatSpeedup(speedup)} (${formatInterval(low, high)})`;
}

export function formatShare(share: number | null | undefined, digits = 0): string {
  return share === null || share === undefined ? none : `${(share * 100).toFixed(digits)}%`;
}

export function formatNumber(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? none : significant(value, digits);
}

export function formatCount(count: number | null | undefined): string {
  if (count === null || count === undefined) return none;
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

export function plural(count: number, one: string, many = one + "s"): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

// 1,234,567 tokens: "1.23 M".
export function formatLarge(count: number | null | undefined): string {
  if (count === null || count === undefined) return none;
  if (count < 1e4) return formatCount(Math.round(count));
  if (count < 1e6) return `${significant(count / 1e3, 3)} k`;
  if (count < 1e9) return `${significant(count / 1e6, 3)} M`;
  return `${significant(count / 1e9, 3)} G`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return none;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < units.length - 1) {
    bytes /= 1024;
    ++unit;
  }
  return `${unit === 0 ? bytes : significant(bytes, 3)} ${units[unit]}`;
}

export function formatUsd(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return none;
  return usd !== 0 && usd < 0.01 ? `$${significant(usd, 2)}` : `$${usd.toFixed(2)}`;
}

const two = (value: number) => String(value).padStart(2, "0");

// In the viewer's zone: "2026-12-01 01:35".
export function formatDate(when: Date): string {
  const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())}`;
  return `${day} ${two(when.getHours())}:${two(when.getMinutes())}`;
}

// Seconds since 1970, or ISO 8601; its title says it in UTC.
export function dateElement(when: number | string | null | undefined): HTMLElement {
  const date = new Date(typeof when === "number" ? when * 1000 : (when ?? NaN));
  if (Number.isNaN(date.getTime()))
    return h("span", {}, typeof when === "string" && when !== "" ? visible(when) : none);
  const utc = date.toISOString().replace(".000Z", "Z");
  return h("time", { datetime: utc, title: `${utc.slice(0, 19).replace("T", " ")} UTC` }, formatDate(date));
}
