// Which of two models is better, in a sentence.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conclusionOf, type Figure } from "../../src/comparison.ts";

const figure = (name: string, p: number, a: number, b: number, p_value: number | null, shown: boolean): Figure => ({
  name,
  share: true,
  of: { p, problems: 40, a, b, difference: a - b, interval: null, p_value, difference_shown: shown },
});
const told = (...figures: Figure[]) => {
  const said = conclusionOf(figures, ["one", "two"]);
  return said === null ? null : (said.answer + said.grounds + said.others).replaceAll("\u00a0", " ");
};

test("the better one, by which figure, on how many problems, and how sure that is", () => {
  assert.equal(
    told(figure("fast_1", 1, 0.25, 0.5, 0.0123, true)),
    "two is better: on the 40 problems that both attempted, the share of kernels that are correct and faster than the " +
      "baseline (fast_1) is 25.0% with one and 50.0% with two; p = 0.012.",
  );
  assert.match(told(figure("fast_1", 1, 0.9, 0.1, 1e-9, true))!, /^one is better.*; p < 0\.001\.$/);
});

test("a difference that is not shown makes neither better", () => {
  assert.match(told(figure("fast_1", 1, 0.6, 0.5, 0.4, false))!, /^Neither is shown to be better: .*p = 0\.400\.$/);
  assert.match(told(figure("fast_1", 1, 1, 0, null, false))!, /^Neither .*too few for a p-value\.$/);
});

test("other figures are told where they say something else", () => {
  const first = figure("fast_1", 1, 0.6, 0.5, 0.4, false);
  const against = figure("correct (fast_0)", 0, 0.5, 0.9, 0.001, true);
  assert.match(told(against, first)!, /By other figures, two is better by correct \(fast_0\)\.$/);
  const agrees = figure("correct (fast_0)", 0, 0.9, 0.5, 0.001, true);
  assert.doesNotMatch(told(agrees, figure("fast_1", 1, 0.6, 0.2, 0.01, true))!, /other figures/);
});

test("without fast_1 there is no sentence", () => {
  assert.equal(told(figure("fast_2", 2, 0.6, 0.5, 0.4, false)), null);
});
