// The lines that differ between two texts, by Myers' algorithm in its linear form for short differences.

export type Edit = { kind: "same" | "removed" | "added"; old: number; now: number; count: number }; // lines from 0

const kMostSteps = 2000; // differences that are looked for; beyond, the middle counts as replaced whole

// `old` and `now` are lines. Edits are in order and cover both texts.
export function diffLines(old: string[], now: string[]): Edit[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) ++head;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  ) {
    ++tail;
  }
  const edits: Edit[] = [];
  const add = (kind: Edit["kind"], at: number, to: number, count: number) => {
    const last = edits[edits.length - 1];
    if (count === 0) return;
    if (last?.kind === kind) last.count += count;
    else edits.push({ kind, old: at, now: to, count });
  };
  add("same", 0, 0, head);
  const a = numbered(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  for (const step of shortest(a.old, a.now)) add(step.kind, head + step.old, head + step.now, step.count);
  add("same", old.length - tail, now.length - tail, tail);
  return edits;
}

// Lines as numbers, equal where the lines are.
function numbered(old: string[], now: string[]): { old: Int32Array; now: Int32Array } {
  const numbers = new Map<string, number>();
  const number = (line: string) => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  };
  return { old: Int32Array.from(old, number), now: Int32Array.from(now, number) };
}

function shortest(old: Int32Array, now: Int32Array): Edit[] {
  const n = old.length;
  const m = now.length;
  const replaced: Edit[] = [
    { kind: "removed", old: 0, now: 0, count: n },
    { kind: "added", old: n, now: 0, count: m },
  ];
  if (n === 0 || m === 0) return replaced;
  const most = Math.min(n + m, kMostSteps);
  const reached = new Int32Array(2 * most + 3); // by diagonal the furthest old line
  const middle = most + 1;
  const trace: Int32Array[] = []; // diagonals -d to d of each step d
  for (let d = 0; d <= most; ++d) {
    trace.push(reached.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reached[middle + k - 1]! < reached[middle + k + 1]!);
      let x = down ? reached[middle + k + 1]! : reached[middle + k - 1]! + 1;
      while (x < n && x - k < m && old[x] === now[x - k]) ++x;
      reached[middle + k] = x;
      if (x >= n && x - k >= m) return walkedBack(trace, n, m);
    }
  }
  return replaced;
}

function walkedBack(trace: Int32Array[], n: number, m: number): Edit[] {
  const steps: Edit[] = [];
  let x = n;
  let y = m;
  for (let d = trace.length - 1; d >= 0; --d) {
    const reached = trace[d]!;
    const at = (k: number) => reached[k + d + 1]!;
    const k = x - y;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const from = d === 0 ? 0 : down ? at(k + 1) : at(k - 1);
    const fromY = d === 0 ? 0 : from - (down ? k + 1 : k - 1);
    const startX = d === 0 ? 0 : down ? from : from + 1;
    const same = x - startX;
    if (same > 0) steps.push({ kind: "same", old: startX, now: y - same, count: same });
    if (d > 0) {
      steps.push(
        down
          ? { kind: "added", old: from, now: fromY, count: 1 }
          : { kind: "removed", old: from, now: fromY, count: 1 },
      );
    }
    x = from;
    y = fromY;
  }
  return steps.reverse();
}
