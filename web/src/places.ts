// Places by intervals: who is surely better has a better place; those whose intervals overlap share one.
export interface Placed {
  value: number | null; // null has no place
  low: number | null; // without an interval a value is its own
  high: number | null; // null beside a `low`: no bound
}

export interface Place {
  best: number; // from 1 on
  worst: number;
}

// How many of the sorted numbers are below the limit, or (`inclusive`) not above it.
function countBelow(sorted: number[], limit: number, inclusive: boolean): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle]! < limit || (inclusive && sorted[middle] === limit)) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function placesOf(all: readonly Placed[]): (Place | null)[] {
  const low = (each: Placed) => each.low ?? each.value!;
  const high = (each: Placed) => each.high ?? (each.low === null ? each.value! : Infinity);
  const known = all.filter((each) => each.value !== null);
  const lows = known.map(low).sort((a, b) => a - b);
  const highs = known.map(high).sort((a, b) => a - b);
  return all.map((each) =>
    each.value === null
      ? null
      : {
          best: 1 + known.length - countBelow(lows, high(each), true),
          worst: known.length - countBelow(highs, low(each), false),
        },
  );
}

export const placeLabel = (place: Place | null): string =>
  place === null ? "–" : place.best === place.worst ? String(place.best) : `${place.best}–${place.worst}`;
