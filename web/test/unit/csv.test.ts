// Files of comma-separated values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../src/csv.ts";

test("fields with commas, quotes or line ends are quoted, and what has no value is empty", () => {
  assert.equal(csvOf([["a", "b,c", 'd"e'], [1.5, null, true], ["x\ny", "", -2]]), 'a,"b,c","d""e"\r\n1.5,,true\r\n"x\ny",,-2\r\n');
});

test("a name is no formula of a spreadsheet, and a number stays one", () => {
  const formulas = ["=1+1", "+cmd", "-cmd", "@sum", " =1", "\t=1"];
  for (const text of formulas) assert.match(csvOf([[text]]), /^"?'/, JSON.stringify(text));
  for (const text of ["-0.5", "+2", "model-a", "a=b"]) assert.equal(csvOf([[text]]), `${text}\r\n`);
});
