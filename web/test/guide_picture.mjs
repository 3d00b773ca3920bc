// The picture of a report in README.md: node web/test/guide_picture.mjs REPORT [ADDRESS [FILE]]. Without ADDRESS it shows the
// fastest entry without a flag whose interval is within 10% of its speedup.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { go, openBrowser, openPage } from "./harness.mjs";

const [report, given, file = fileURLToPath(new URL("../../docs/guide/report.png", import.meta.url))] = process.argv.slice(2);
if (!report) {
  console.error("usage: node web/test/guide_picture.mjs REPORT [ADDRESS [FILE]]");
  process.exit(2);
}

// By how much the interval's farther end differs from the speedup, relative.
const widthOf = ({ speedup, low, high }, row) => (low[row] === null || high[row] === null ? Infinity : Math.max(high[row] / speedup[row] - 1, 1 - low[row] / speedup[row]));

function tightEntry({ entries }) {
  const timed = entries.id.map((_, row) => row).filter((row) => entries.speedup[row] !== null && entries.flags[row].length === 0);
  const tight = timed.filter((row) => widthOf(entries, row) <= 0.1).sort((a, b) => entries.speedup[b] - entries.speedup[a]);
  if (tight.length > 0) return `#/entry/${encodeURIComponent(entries.id[tight[0]])}`;
  const least = Math.min(...timed.map((row) => widthOf(entries, row)));
  console.error(`${report}: no entry has an interval within 10% of its speedup, the tightest is ${timed.length === 0 ? "none" : `within ${(100 * least).toFixed(1)}%`}. ` +
    "Judge the examples while no other program runs, after kernelbench doctor --calibrate, or name an address.");
  process.exit(1);
}

const browser = await openBrowser();
const page = await openPage(browser, { width: 1120, height: 700 });
const url = pathToFileURL(resolve(report)).href;
await page.goto(url);
const catalog = JSON.parse(await page.evaluate(() => document.getElementById("documents").textContent))["catalog.json"];
const address = given || tightEntry(catalog);
await go(page, url, address);
await page.waitForTimeout(800); // what a chart draws when it is seen
const height = await page.evaluate(() => document.querySelector("#main").getBoundingClientRect().bottom);
await page.setViewportSize({ width: 1120, height: Math.min(700, Math.ceil(height)) });
await page.screenshot({ path: file });
await browser.close();
console.log(`${file}: ${address}, ${Math.round(statSync(file).size / 1000)} kB`);
