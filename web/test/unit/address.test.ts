import assert from "node:assert/strict";
import { test } from "node:test";
import { documentNames } from "../../src/documents.ts";
import { addressOf, parseAddress } from "../../src/router.ts";
import { fileName } from "../../src/save.ts";
import { sortRows } from "../../src/table.ts";

test("parts of any kind come back from an address", () => {
  for (const part of ["1/19", "a?b#c", "100%", "../x", "__proto__", "\u202e🙂", "a b"]) {
    const { page, parts, query } = parseAddress(addressOf("problem", [part], { text: "x&y=z?" }));
    assert.equal(page, "problem");
    assert.deepEqual(parts, [part]);
    assert.equal(query.get("text"), "x&y=z?");
  }
});

test("an address that nobody wrote does no harm", () => {
  assert.deepEqual(parseAddress(""), { page: "", parts: [], query: new URLSearchParams() });
  assert.deepEqual(parseAddress("#/run/%E0%A4%A").parts, ["%E0%A4%A"]);
  assert.equal(parseAddress("#run?x").page, "run");
});

test("documents' names are the program's", () => {
  assert.equal(documentNames.problem("1/19"), "problems/1~2f19.json");
  assert.equal(documentNames.run(""), "runs/~.json");
  assert.equal(documentNames.run(".hidden é"), "runs/~2ehidden~20~c3~a9.json");
});

test("saved files have plain names", () => {
  assert.equal(fileName("../../etc/passwd"), "etc-passwd");
  assert.equal(fileName("\u0000"), "kernelbench");
});

test("what has no value is last either way, and equal ones keep their order", () => {
  const rows = [
    { id: 1, of: 2 },
    { id: 2, of: null },
    { id: 3, of: 10 },
    { id: 4, of: 2 },
  ];
  const order = (descending: boolean) =>
    sortRows(rows, (row) => row.of, descending)
      .map((row) => row.id)
      .join("");
  assert.equal(order(false), "1432");
  assert.equal(order(true), "3142");
  assert.deepEqual(
    sortRows(["1/10", "1/9", "2/1"], (row) => row, false),
    ["1/9", "1/10", "2/1"],
  );
});
