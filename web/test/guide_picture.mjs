// The picture of a report in README.md: node web/test/guide_picture.mjs REPORT [ADDRESS [FILE]].
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { go, openBrowser, openPage } from "./harness.mjs";

const [report, address = "#/leaderboard", file = fileURLToPath(new URL("../../docs/guide/report.png", import.meta.url))] = process.argv.slice(2);
if (!report) {
  console.error("usage: node web/test/guide_picture.mjs REPORT [ADDRESS [FILE]]");
  process.exit(2);
}
const browser = await openBrowser();
const page = await openPage(browser, { width: 1120, height: 700 });
await go(page, pathToFileURL(resolve(report)).href, address);
await page.waitForTimeout(800); // what a chart draws when it is seen
const height = await page.evaluate(() => document.querySelector("#main").getBoundingClientRect().bottom);
await page.setViewportSize({ width: 1120, height: Math.min(700, Math.ceil(height)) });
await page.screenshot({ path: file });
await browser.close();
console.log(`${file}: ${Math.round(statSync(file).size / 1000)} kB`);
