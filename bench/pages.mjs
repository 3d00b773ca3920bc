// What do the pages take with many entries? Prints a table for results/pages.md.
//   node bench/pages.mjs --binary build/release/bin/kernelbench [--count 10000] [--site DIR]
// Times are medians of five: of a page from its address to what it shows, in a new window of Chromium; of a filter from the click until it is drawn.
// --site: a folder that is there already, which is then not timed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { go, openBrowser, openPage, ready } from "../web/test/harness.mjs";
import { serve } from "../web/test/serve.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const given = { binary: join(root, "build/release/bin/kernelbench"), count: "10000", site: "" };
for (let at = 2; at + 1 < process.argv.length; at += 2) given[process.argv[at].replace(/^--/, "")] = process.argv[at + 1];

const rows = [];
const add = (what, value) => {
  rows.push([what, value]);
  console.error(`${what}: ${value}`);
};
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const milliseconds = (values) => `${median(values).toFixed(0)} ms`;
const bytesOf = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0) : statSync(path).size);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

function timed(program, ...words) {
  const began = performance.now();
  const done = spawnSync(program, words, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`${program} ${words.join(" ")}: ${done.stderr}`);
  return `${((performance.now() - began) / 1000).toFixed(1)} s`;
}

function makeSite(folder) {
  const store = join(folder, "store.sqlite"), site = join(folder, "site");
  timed(process.env.KERNELBENCH_PYTHON ?? "python3", join(root, "web/test/store.py"), store, "--count", given.count, "--binary", given.binary);
  add("`kernelbench site`", timed(given.binary, "site", site, "--store", store));
  const data = join(site, "data"), heavy = ["sources", "conversations", "rounds"];
  add("… its size", megabytes(bytesOf(site)));
  add("… without sources, conversations and rounds", megabytes(readdirSync(data).filter((name) => !heavy.includes(name)).reduce((sum, name) => sum + bytesOf(join(data, name)), 0)));
  add("`kernelbench report`", timed(given.binary, "report", "--store", store, "-o", join(folder, "report.html")));
  add("… its size", megabytes(bytesOf(join(folder, "report.html"))));
  return site;
}

async function firstPage(browser, url, address) {
  const times = [];
  for (let turn = 0; turn < 5; ++turn) {
    const page = await openPage(browser);
    const began = performance.now();
    await go(page, url, address);
    times.push(performance.now() - began);
    await page.context().close();
  }
  return milliseconds(times);
}

// From a choice in the menu of models until two frames later.
async function filter(browser, url, address) {
  const page = await openPage(browser);
  await go(page, url, address);
  await page.waitForTimeout(500);
  await page.locator("#main details.menu summary", { hasText: /^Model/ }).first().click();
  const times = [];
  for (let turn = 0; turn < 5; ++turn) {
    times.push(await page.evaluate((place) => new Promise((done) => {
      const menu = [...document.querySelectorAll("#main details.menu")].find((each) => each.querySelector("summary").textContent.startsWith("Model"));
      menu.open = true;
      const boxes = menu.querySelectorAll("input[type=checkbox]");
      const began = performance.now();
      boxes[place % boxes.length].click();
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
    }), turn));
    await ready(page);
    await page.waitForTimeout(300);
  }
  await page.context().close();
  return milliseconds(times);
}

const folder = mkdtempSync(join(tmpdir(), "kb-pages-"));
try {
  const dist = join(root, "web/dist");
  const zipped = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;
  add("app.js and style.css, gzip", `${((zipped("app.js") + zipped("style.css")) / 1000).toFixed(0)} kB`);
  const site = given.site || makeSite(folder);
  const catalog = readFileSync(join(site, "data/catalog.json"));
  add("catalog.json", `${megabytes(catalog.length)}, gzip ${megabytes(gzipSync(catalog).length)}`);
  const server = await serve([site]);
  const browser = await openBrowser();
  const warm = await openPage(browser);
  await go(warm, server.url, "#/runs");
  await warm.context().close();
  for (const address of ["#/runs", "#/entries", "#/run", "#/leaderboard", "#/problems"]) add(`first page ${address}`, await firstPage(browser, server.url, address));
  for (const address of ["#/entries", "#/run", "#/leaderboard"]) add(`a filter of ${address}`, await filter(browser, server.url, address));
  await browser.close();
  await server.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`| ${given.count} entries | |\n|---|---|`);
for (const [what, value] of rows) console.log(`| ${what} | ${value} |`);
