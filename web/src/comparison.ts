// Which of two models is better, in words. No elements here.
import { formatShare, plural } from "./text.ts";

export interface Comparison {
  p?: number;
  problems: number;
  a: number | null;
  b: number | null;
  difference?: number | null;
  ratio?: number | null;
  interval: [number | null, number | null] | null;
  p_value: number | null;
  difference_shown: boolean;
}

export interface Figure {
  name: string;
  of: Comparison;
  share: boolean; // else a speedup
}

export const aIsBetter = (of: Comparison): boolean => (of.difference ?? Math.log(of.ratio ?? 1)) > 0;

export const pValueText = (p: number | null): string | null =>
  p === null ? null : p < 0.001 ? "< 0.001" : p.toFixed(3);

// By fast_1, which asks for both: correct, and faster than the baseline. Null where it was not computed. `others` tells
// of other figures that say something else.
export function conclusionOf(
  figures: Figure[],
  [a, b]: readonly [string, string],
): { answer: string; grounds: string; others: string } | null {
  const main = figures.find(({ of }) => of.p === 1);
  if (!main) return null;
  const { of } = main;
  const winner = (each: Comparison) => (aIsBetter(each) ? a : b);
  const p = pValueText(of.p_value);
  const others = figures.filter(
    (each) => each.of.difference_shown && !(of.difference_shown && winner(each.of) === winner(of)),
  );
  const better = (name: string) => others.filter((each) => winner(each.of) === name).map((each) => each.name);
  const said = [a, b]
    .filter((name) => better(name).length > 0)
    .map((name) => `${name} is better by ${better(name).join(" and ")}`);
  return {
    answer: of.difference_shown ? `${winner(of)} is better` : "Neither is shown to be better",
    grounds:
      `: on the ${plural(of.problems, "problem")} that both attempted, the share of kernels that are correct and faster than ` +
      `the baseline (fast_1) is ${formatShare(of.a, 1)} with ${a} and ${formatShare(of.b, 1)} with ${b}` +
      `${p === null ? ", too few for a p-value" : `; p\u00a0${(p.startsWith("<") ? p : `= ${p}`).replace(" ", "\u00a0")}`}.`,
    others: said.length === 0 ? "" : ` By other figures, ${said.join("; ")}.`,
  };
}
