// What must hold of the sources and of dist/, which is in the repository.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const web = fileURLToPath(new URL("../..", import.meta.url));
const MOST_BYTES = 200_000; // of the script and the style sheet, as gzip makes them

function filesIn(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

test("no source makes markup or code out of text, or asks another host", () => {
  const forbidden = [
    /\b(innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|srcdoc|setHTMLUnsafe|parseHTMLUnsafe)\b/,
    /\bdocument\s*\.\s*write/, /\beval\s*\(/, /\bnew\s+Function\b/, /\bXMLHttpRequest\b|\bWebSocket\b|\bsendBeacon\b|\bEventSource\b/,
    /setTimeout\(\s*["'`]/, /setAttribute\(\s*["'`](style|on)/, /\bstyle:\s*["'`]/,
  ];
  const found = [];
  for (const path of filesIn(join(web, "src")).filter((name) => name.endsWith(".ts"))) {
    readFileSync(path, "utf8").split("\n").forEach((line, at) => {
      const code = line.replace(/\/\/.*$/, "");
      if (forbidden.some((pattern) => pattern.test(code))) found.push(`${path.slice(web.length)}:${at + 1}: ${line.trim()}`);
    });
  }
  assert.deepEqual(found, []);
});

test("the page's policy allows its own files alone", () => {
  const html = readFileSync(join(web, "src/index.html"), "utf8");
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
});

test("dist/ is what the sources make", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "kb-dist-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["src", "build.mjs", "package.json", "tsconfig.json"]) cpSync(join(web, name), join(folder, name), { recursive: true });
  symlinkSync(join(web, "node_modules"), join(folder, "node_modules"));
  const made = spawnSync(process.execPath, ["build.mjs"], { cwd: folder, encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  assert.deepEqual(filesIn(join(folder, "dist")).map((name) => name.slice(folder.length)).sort(),
    filesIn(join(web, "dist")).map((name) => name.slice(web.length - 1)).sort());
  for (const path of filesIn(join(folder, "dist"))) {
    const name = path.slice(folder.length);
    assert.ok(readFileSync(path).equals(readFileSync(join(web, name))), `${name} is not what its sources make: npm run build, and commit dist/`);
  }
});

test("the script and the style sheet are small", () => {
  const bytes = ["app.js", "style.css"].reduce((sum, name) => sum + gzipSync(readFileSync(join(web, "dist", name)), { level: 9 }).length, 0);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes, and ${MOST_BYTES} are the most`);
});

test("the types hold", () => {
  const checked = spawnSync(process.execPath, [join(web, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", web], { encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout);
});
