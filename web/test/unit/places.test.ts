import assert from "node:assert/strict";
import { test } from "node:test";
import { placeLabel, placesOf, type Placed } from "../../src/places.ts";

const of = (value: number | null, low: number | null = null, high: number | null = null): Placed => ({
  value,
  low,
  high,
});
const labels = (all: Placed[]): string[] => placesOf(all).map(placeLabel);

test("who is surely better has a better place", () => {
  assert.deepEqual(labels([of(1, 0.9, 1.1), of(3, 2.9, 3.1), of(2, 1.9, 2.1)]), ["3", "1", "2"]);
});

test("those whose intervals overlap share places", () => {
  assert.deepEqual(labels([of(2, 1, 3), of(2.5, 1.5, 3.5), of(0.5, 0.4, 0.6)]), ["1–2", "1–2", "3"]);
  // The first and the last do not overlap, but both do with the second.
  assert.deepEqual(labels([of(3, 2.5, 3.5), of(2, 1.4, 2.6), of(1, 0.5, 1.5)]), ["1–2", "1–3", "2–3"]);
});

test("intervals that touch overlap", () => {
  assert.deepEqual(labels([of(2, 1, 3), of(4, 3, 5)]), ["1–2", "1–2"]);
});

test("without an interval a value is its own, without a bound it may be the best, and without a value it has no place", () => {
  assert.deepEqual(labels([of(2), of(2), of(3), of(null)]), ["2–3", "2–3", "1", "–"]);
  assert.deepEqual(labels([of(1, 0.9, null), of(3, 2.9, 3.1)]), ["1–2", "1–2"]);
});

test("as counted one by one", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const all = Array.from({ length: 200 }, () => {
    const value = random() * 10;
    return of(value, value - random(), value + random());
  });
  placesOf(all).forEach((place, at) => {
    assert.equal(place!.best, 1 + all.filter((each) => each.low! > all[at]!.high!).length);
    assert.equal(place!.worst, all.length - all.filter((each) => each.high! < all[at]!.low!).length);
  });
});
