// The shares that a Run page shows, each with its range where verdicts or times are missing.
import type { Figures, Interval, Outcome, Score } from "../figures.ts";
import { isOwnWork, isSurelyFaster, passes, wilson } from "../figures.ts";
import { formatShare } from "../text.ts";

export interface Measure {
  key: string;
  title: string;
  meaning: string;
  count(score: Score, outcomes: readonly Outcome[]): number;
  // If all that lack a verdict or a time pass.
  most(score: Score, outcomes: readonly Outcome[]): number;
}

export interface Measured {
  count: number;
  most: number; // above count where something is missing
  total: number;
  interval: Interval; // low end of the first, high end of the last
}

const fastCount = (score: Figures | undefined, p: number): number | undefined =>
  score?.fast_p.find((each) => each.p === p)?.count;

const countOf = (outcomes: readonly Outcome[], holds: (outcome: Outcome) => boolean): number => outcomes.filter(holds).length;
const orMissing = (holds: (outcome: Outcome) => boolean) => (outcome: Outcome) => outcome.missing || holds(outcome);
const isFaster = (outcome: Outcome) => passes(outcome, 1);

export const compiled: Measure = {
  key: "compiled", title: "Compiled", meaning: "was built, whatever became of it then",
  count: (score) => score.compiled,
  most: (score) => score.if_all_pass?.compiled ?? score.compiled,
};
export const correct: Measure = {
  key: "correct", title: "Correct", meaning: "correct on every input, at any speed",
  count: (score) => score.correct,
  most: (score) => score.if_all_pass?.correct ?? score.correct,
};
export const faster: Measure = {
  key: "faster", title: "Faster than baseline", meaning: "correct, and its speedup is above 1 (fast_1)",
  count: (score, outcomes) => fastCount(score, 1) ?? countOf(outcomes, isFaster),
  most: (score, outcomes) => fastCount(score.if_all_pass, 1) ?? countOf(outcomes, orMissing(isFaster)),
};
export const surely: Measure = {
  key: "surely", title: "Surely faster", meaning: "correct, and the whole 95% interval of its speedup is above 1",
  count: (_, outcomes) => countOf(outcomes, isSurelyFaster),
  most: (_, outcomes) => countOf(outcomes, orMissing(isSurelyFaster)),
};
export const own: Measure = {
  key: "own", title: "Own work", meaning: "of all problems: correct, and the candidate's own kernels did all of the work (authorship custom)",
  count: (_, outcomes) => countOf(outcomes, isOwnWork),
  most: (_, outcomes) => countOf(outcomes, (outcome) => (outcome.missing && !outcome.settled) || isOwnWork(outcome)),
};

export const measures = [compiled, correct, faster, surely, own];

export function measure(which: Measure, score: Score, outcomes: readonly Outcome[]): Measured {
  const total = score.problems;
  const count = which.count(score, outcomes);
  const most = Math.max(count, which.most(score, outcomes));
  return { count, most, total, interval: [wilson(count, total)[0], wilson(most, total)[1]] };
}

const range = (low: string, high: string): string => (low === high ? low : `${low} to ${high}`);

export const shareText = ({ count, most, total }: Measured): string =>
  total ? range(formatShare(count / total), formatShare(most / total)) : "–";
export const countText = ({ count, most, total }: Measured): string => `${range(String(count), String(most))} of ${total}`;
export const intervalText = ({ interval, total }: Measured): string =>
  total ? `${formatShare(interval[0])} to ${formatShare(interval[1])}` : "no interval: no problem";

// "64–66%", where there is little room.
export const shortShareText = ({ count, most, total }: Measured): string => {
  if (!total) return "–";
  const [low, high] = [formatShare(count / total), formatShare(most / total)];
  return low === high ? low : `${low.slice(0, -1)}–${high}`;
};
