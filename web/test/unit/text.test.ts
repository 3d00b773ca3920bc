import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatCount,
  formatInterval,
  formatLarge,
  formatSeconds,
  formatSpeedup,
  formatSpeedupWithInterval,
  formatTime,
  oneLine,
  visible,
} from "../../src/text.ts";

test("what cannot be seen is shown by marks", () => {
  const cases: [string, string][] = [
    ["plain\ttext\n", "plain\ttext\n"],
    ["a\r\nb", "a\nb"],
    ["a\rb", "a␍b"],
    ["\u0000\u001b[31m\u007f", "␀␛[31m␡"],
    ["\u202etxt.exe\u2066", "⟨U+202E⟩txt.exe⟨U+2066⟩"],
    ["a\u200bb\ufeff\u00ad\u3164", "a⟨U+200B⟩b⟨U+FEFF⟩⟨U+00AD⟩⟨U+3164⟩"],
    ["\u009b\ud800", "⟨U+009B⟩⟨U+D800⟩"],
    ["\u{e0041}", "⟨U+E0041⟩"],
    ["🙂 é 漢字 \u202f", "🙂 é 漢字 \u202f"],
  ];
  for (const [text, shown] of cases) assert.equal(visible(text), shown);
});

test("one line is short, and never blank for a name that is not empty", () => {
  assert.equal(oneLine("a\n  b\tc"), "a b c");
  assert.equal(oneLine("x".repeat(200), 10), "x".repeat(9) + "…");
  assert.equal(oneLine("  \n "), "␠");
  assert.equal(oneLine(""), "");
});

test("times have the unit that suits, and three digits", () => {
  const cases: [number | null, string][] = [
    [0.25, "250 ns"],
    [12.345, "12.3 µs"],
    [999.9, "1000 µs"],
    [1620.056, "1.62 ms"],
    [12_345_678, "12.3 s"],
    [null, "–"],
  ];
  for (const [us, shown] of cases) assert.equal(formatTime(us), shown);
  assert.equal(formatSeconds(59), "59.0 s");
  assert.equal(formatSeconds(61), "1 min 1 s");
  assert.equal(formatSeconds(3 * 3600 + 120), "3 h 2 min");
});

test("a speedup has its interval, or a word why there is none", () => {
  assert.equal(formatSpeedup(2.4767), "2.48×");
  assert.equal(formatSpeedupWithInterval(2.4767, 1.9498, 3.4172), "2.48× (1.95 to 3.42×)");
  assert.equal(formatSpeedupWithInterval(2, null, null), "2.00× (no interval)");
  assert.equal(formatSpeedupWithInterval(null, null, null), "not timed");
  assert.equal(formatInterval(1.5, null), "1.50 to ?×");
  assert.equal(formatSpeedup(Infinity), "∞×");
});

test("counts", () => {
  assert.equal(formatCount(10003), "10\u202f003");
  assert.equal(formatCount(1234567), "1\u202f234\u202f567");
  assert.equal(formatLarge(1_234_567), "1.23 M");
  assert.equal(formatLarge(999), "999");
});
