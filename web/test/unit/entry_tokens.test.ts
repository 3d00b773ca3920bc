// Colours never change the text, and tell strings and comments from code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { highlight, languageOf, type Language, type Token } from "../../src/entry/tokens.ts";

const textOf = (lines: Token[][]) => lines.map((line) => line.map((token) => token.text).join("")).join("\n");
const kindsOf = (text: string, language: Language) =>
  highlight(text, language)
    .flat()
    .filter((token) => token.kind !== "")
    .map((token) => `${token.kind} ${token.text}`);

const texts = [
  "",
  "\n\n",
  'x = """never closed',
  "'",
  "/* never closed",
  'R"x(raw " )" )x" + y',
  "# comment 'no string'",
  '"\\',
  "a\r\nb\tc",
  "\u202e\ud800x",
  "1e-5f + 0xFFu + .5",
  "#include <torch/extension.h> // why",
  `${"x".repeat(5000)} "y"\nint z;`,
  "f\"{a}\" rb'''b'''",
];

test("every text comes back as it was", () => {
  for (const language of ["python", "cpp", "cuda", "text"] as const) {
    for (const text of texts) assert.equal(textOf(highlight(text, language)), text, JSON.stringify([language, text]));
  }
});

test("tokens of C++ and CUDA", () => {
  assert.deepEqual(kindsOf('int64_t n = 3; // "x"', "cpp"), ["type int64_t", "number 3", 'comment // "x"']);
  assert.deepEqual(kindsOf("__global__ void Apply(float* x)", "cuda"), [
    "gpu __global__",
    "type void",
    "call Apply",
    "type float",
  ]);
  assert.deepEqual(kindsOf('a = "/* no comment */";', "cpp"), ['string "/* no comment */"']);
});

test("C++ in a string of Python is C++", () => {
  const text = 'SOURCE = """\n#include <cmath>\nfloat f() { return 1; }\n"""\nplain = """float"""';
  assert.deepEqual(kindsOf(text, "python"), [
    'string """',
    "macro #include <cmath>",
    "type float",
    "call f",
    "keyword return",
    "number 1",
    'string """',
    'string """float"""',
  ]);
});

test("a language for a file", () => {
  assert.equal(languageOf("kernels/a.CU", true, "cpu"), "cuda");
  assert.equal(languageOf("a.h", true, "cuda"), "cuda");
  assert.equal(languageOf("", true, "cuda"), "python");
  assert.equal(languageOf("", false, "cpu"), "cpp");
  assert.equal(languageOf("notes.txt", true, "cpu"), "text");
});
