// Tests of the pages: node web/test/run.mjs PART... [--binary KERNELBENCH] [--site DIR] [--only FILE]
//   unit   functions without a browser, and what holds of the sources and of dist/
//   smoke  every kind of page once, in Chromium
//   all    unit, smoke and all that the browser can be asked (minutes)
// --site: a folder that `kernelbench site` wrote, in place of one of made-up evaluations. --only: browser tests whose file has this in its name.
// KERNELBENCH_CHROMIUM: the browser. Exit status 0 all held, 1 not, 2 wrong arguments, 77 no Chromium or no node_modules here.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = resolve(here, "../..");

function readArguments(words) {
  const wanted = { parts: [], binary: join(root, "build/dev/bin/kernelbench"), site: "", only: "" };
  while (words.length > 0) {
    const word = words.shift();
    if (word.startsWith("--") && word.slice(2) in wanted && words.length > 0) wanted[word.slice(2)] = words.shift();
    else if (["unit", "smoke", "all"].includes(word)) wanted.parts.push(word);
    else {
      console.error(`run.mjs: ${word} is no part; give unit, smoke or all`);
      process.exit(2);
    }
  }
  if (wanted.parts.length === 0) wanted.parts.push("unit", "smoke");
  return wanted;
}

// Node cannot read TypeScript everywhere: each test becomes one script.
async function bundledUnits(folder) {
  const units = join(here, "unit");
  const files = readdirSync(units).filter((name) => /\.test\.(ts|mjs)$/.test(name)).map((name) => join(units, name));
  const typed = files.filter((name) => name.endsWith(".ts"));
  if (typed.length > 0) {
    await build({ entryPoints: typed, outdir: folder, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, logLevel: "error" });
  }
  return files.map((name) => (name.endsWith(".ts") ? join(folder, name.slice(units.length + 1).replace(/\.ts$/, ".mjs")) : name));
}

function runTests(what, files, environment = {}) {
  const began = Date.now();
  const done = spawnSync(process.execPath, ["--test", "--test-reporter=spec", "--test-concurrency=1", "--test-timeout=400000", "--test-force-exit", ...files], {
    stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...environment }, maxBuffer: 1 << 28, encoding: "utf8",
  });
  process.stdout.write(done.stdout);
  const count = (word) => Number(new RegExp(`^ℹ ${word} (\\d+)$`, "m").exec(done.stdout)?.[1] ?? 0);
  const result = { what, passed: count("pass"), failed: count("fail"), skipped: count("skipped"), seconds: (Date.now() - began) / 1000 };
  if (done.status !== 0 && result.failed === 0) result.failed = 1;
  return result;
}

const wanted = readArguments(process.argv.slice(2));
const has = (...parts) => parts.some((part) => wanted.parts.includes(part));
const chromium = [process.env.KERNELBENCH_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  .find((path) => path && existsSync(path));
const folder = mkdtempSync(join(tmpdir(), "kb-web-"));
const results = [];
let skipped = false;
try {
  if (has("unit", "all")) {
    mkdirSync(join(folder, "unit"));
    results.push(runTests("unit", await bundledUnits(join(folder, "unit"))));
  }
  if (has("smoke", "all") && !chromium) {
    console.log("left out: there is no Chromium here; install it or set KERNELBENCH_CHROMIUM");
    skipped = true;
  } else if (has("smoke", "all")) {
    const browser = join(here, "browser");
    const files = readdirSync(browser).filter((name) => name.endsWith(".test.mjs"))
      .filter((name) => has("all") || name === "smoke.test.mjs").filter((name) => name.includes(wanted.only)).map((name) => join(browser, name));
    results.push(runTests(has("all") ? "browser" : "smoke", files, {
      KB_BINARY: resolve(wanted.binary), KB_SITE: wanted.site && resolve(wanted.site), KB_SCRATCH: folder, KERNELBENCH_CHROMIUM: chromium,
    }));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const { what, passed, failed, skipped: left, seconds } of results) {
  console.log(`web ${what}: ${passed} held, ${failed} failed, ${left} left out, ${seconds.toFixed(0)} s`);
}
process.exit(results.some(({ failed }) => failed > 0) ? 1 : skipped && results.length === 0 ? 77 : 0);
