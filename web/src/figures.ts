// Scores of outcomes, as docs/reference/scores.md defines them: pure functions, each equal to what `score --json` says of the
// same samples. Outcomes of several settings must not be mixed by the caller.

export interface Outcome {
  problem: string;
  entry: number | null; // its place among the catalog's entries; null where there is none
  correct: boolean;
  compiled: boolean;
  speedup: number | null;
  low: number | null; // the interval of its speedup
  high: number | null;
  missing: boolean; // a verdict or a time is missing that could make it correct, and faster than anything
  authorship: string;
  own: number | null;
  settled?: boolean; // its only sample is correct, and whose work it is is known, whatever else is missing
}

export type Interval = [number, number];

export interface Share {
  count: number;
  total: number;
  value: number | null; // null where total is 0
  interval: Interval | null;
}

export interface FastP extends Share {
  p: number;
}

// "A score" of `score --json`.
export interface Figures {
  compiled: number;
  correct: number;
  measured: number;
  fast_p: FastP[];
  geometric_mean: number | null;
  geometric_mean_interval: Interval | null;
  geometric_mean_faster: number | null;
  geometric_mean_incorrect_as_1: number | null;
  mean: number | null;
  median: number | null;
}

export interface Score extends Figures {
  problems: number;
  missing?: number; // how many could change it; then these figures are those if all of them fail
  if_all_pass?: Figures;
}

// The speedup of what may be as fast as it likes. No mean may be made of it.
const unbounded = Number.MAX_VALUE;
const normalQuantile = 1.959963984540054; // of 97.5%

export function measured(outcome: Outcome): boolean {
  return outcome.correct && outcome.speedup !== null && Number.isFinite(outcome.speedup) && outcome.speedup > 0;
}

export function passes(outcome: Outcome, p: number): boolean {
  return p <= 0 ? outcome.correct : measured(outcome) && (outcome.speedup ?? 0) > p;
}

// Wilson's score interval at 95%.
export function wilson(count: number, total: number): Interval {
  if (total === 0) return [0, 1];
  const z = normalQuantile;
  const share = count / total;
  const denominator = 1 + (z * z) / total;
  const centre = share + (z * z) / (2 * total);
  const half = z * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total));
  return [
    count === 0 ? 0 : Math.max(0, (centre - half) / denominator),
    count === total ? 1 : Math.min(1, (centre + half) / denominator),
  ];
}

export function shareOf<T>(items: readonly T[], holds: (item: T) => boolean): Share {
  const total = items.length;
  const count = items.reduce((sum, item) => sum + (holds(item) ? 1 : 0), 0);
  return { count, total, value: total ? count / total : null, interval: total ? wilson(count, total) : null };
}

export function fastP(outcomes: readonly Outcome[], p: number): FastP {
  return { p, ...shareOf(outcomes, (outcome) => passes(outcome, p)) };
}

// Correct, and the whole interval of the speedup lies above 1.
export const isSurelyFaster = (outcome: Outcome): boolean =>
  passes(outcome, 1) && outcome.low !== null && outcome.low > 1;

// Correct, and all of the work is done by the candidate's own kernels.
export const isOwnWork = (outcome: Outcome): boolean => outcome.correct && outcome.authorship === "custom";

export const surelyFaster = (outcomes: readonly Outcome[]): Share => shareOf(outcomes, isSurelyFaster);
export const ownWork = (outcomes: readonly Outcome[]): Share => shareOf(outcomes, isOwnWork);

export function meanOf(values: readonly number[]): number | null {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function medianOf(values: readonly number[]): number | null {
  if (!values.length) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  if (sorted.length % 2) return upper;
  const lower = sorted[middle - 1] as number;
  return lower + (upper - lower) / 2;
}

export function geometricMean(values: readonly number[]): number | null {
  const mean = meanOf(values.map(Math.log));
  return mean === null ? null : Math.exp(mean);
}

// P(|T| <= t) for t = sqrt(degrees) tan(theta): the finite series for whole degrees of freedom, Abramowitz and Stegun
// 26.7.3 and 26.7.4.
function studentCentral(theta: number, degrees: number): number {
  const odd = degrees % 2 === 1;
  const square = Math.cos(theta) ** 2;
  let term = odd ? Math.cos(theta) : 1;
  let sum = 0;
  for (let exponent = odd ? 1 : 0; exponent <= degrees - 2; exponent += 2) {
    sum += term;
    term *= (square * (exponent + 1)) / (exponent + 2);
  }
  return odd ? (2 / Math.PI) * (theta + Math.sin(theta) * sum) : Math.sin(theta) * sum;
}

const quantiles = new Map<number, number>();

// The t with P(T <= t) = 97.5% for Student's T.
export function studentQuantile(degrees: number): number {
  const known = quantiles.get(degrees);
  if (known !== undefined) return known;
  let low = 0;
  let high = Math.PI / 2;
  for (let i = 0; i < 60; ++i) {
    const middle = (low + high) / 2;
    if (studentCentral(middle, degrees) < 0.95) low = middle;
    else high = middle;
  }
  const quantile = Math.sqrt(degrees) * Math.tan(low);
  quantiles.set(degrees, quantile);
  return quantile;
}

export function geometricMeanInterval(values: readonly number[]): Interval | null {
  const n = values.length;
  if (n < 2) return null;
  const logs = values.map(Math.log);
  const mean = meanOf(logs) ?? 0;
  const squares = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0);
  const half = Math.sqrt(squares / (n - 1) / n) * studentQuantile(n - 1);
  return [Math.exp(mean - half), Math.exp(mean + half)];
}

function figuresOf(outcomes: readonly Outcome[], thresholds: readonly number[], cap: number | null): Figures {
  const speedups = outcomes.filter(measured).map((each) => Math.min(each.speedup ?? 0, cap ?? unbounded));
  const bounded = !speedups.includes(unbounded);
  const median = medianOf(speedups);
  const all = bounded ? speedups : [];
  const faster = all.filter((speedup) => speedup > 1);
  const orOne = [...all, ...new Array<number>(outcomes.length - speedups.length).fill(1)];
  return {
    compiled: outcomes.filter((outcome) => outcome.compiled).length,
    correct: outcomes.filter((outcome) => outcome.correct).length,
    measured: speedups.length,
    fast_p: thresholds.map((p) => fastP(outcomes, p)),
    geometric_mean: geometricMean(all),
    geometric_mean_interval: geometricMeanInterval(all),
    geometric_mean_faster: geometricMean(faster),
    geometric_mean_incorrect_as_1: bounded ? geometricMean(orOne) : null,
    mean: meanOf(all),
    median: median !== null && median >= unbounded / 2 ? null : median,
  };
}

export function ifAllPass(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.map((each) =>
    each.missing ? { ...each, correct: true, compiled: true, speedup: unbounded, missing: false } : each);
}

export function scoreOf(outcomes: readonly Outcome[], thresholds: readonly number[], cap: number | null): Score {
  const score: Score = { problems: outcomes.length, ...figuresOf(outcomes, thresholds, cap) };
  const missing = outcomes.filter((outcome) => outcome.missing).length;
  if (missing) {
    score.missing = missing;
    score.if_all_pass = figuresOf(ifAllPass(outcomes), thresholds, cap);
  }
  return score;
}

// fast_p at every p where it changes, for a curve: from 0 to the largest speedup, at most `last`.
export function fastPSteps(outcomes: readonly Outcome[], last: number): { p: number; value: number }[] {
  const n = outcomes.length;
  if (!n) return [];
  const speedups = outcomes.filter(measured).map((outcome) => outcome.speedup ?? 0).sort((a, b) => a - b);
  const steps = [{ p: 0, value: outcomes.filter((outcome) => outcome.correct).length / n }];
  let passing = speedups.length;
  steps.push({ p: 0, value: passing / n });
  for (const speedup of speedups) {
    --passing;
    if (speedup > last) break;
    steps.push({ p: speedup, value: passing / n });
  }
  const end = steps[steps.length - 1] as { p: number; value: number };
  steps.push({ p: last, value: end.value });
  return steps;
}
