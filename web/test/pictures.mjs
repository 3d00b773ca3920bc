// Pictures of every page, to look at: node web/test/pictures.mjs SITE FOLDER [WIDTH...]. SITE: a folder that `kernelbench site` wrote, or a
// report.html. Light and dark, at 360 and 1,280 px.
import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { addressesOf, catalogOf } from "./data.mjs";
import { go, openBrowser, openPage } from "./harness.mjs";
import { serve } from "./serve.mjs";

const [from, to, ...given] = process.argv.slice(2);
if (!from || !to) {
  console.error("usage: node web/test/pictures.mjs SITE FOLDER [WIDTH...]");
  process.exit(2);
}
const widths = given.length > 0 ? given.map(Number) : [360, 1280];
const server = statSync(from).isDirectory() ? await serve([from]) : null;
const url = server?.url ?? pathToFileURL(resolve(from)).href;
const browser = await openBrowser();
mkdirSync(to, { recursive: true });

async function catalog() {
  if (server) return catalogOf(from);
  const page = await openPage(browser);
  await page.goto(url);
  const text = await page.evaluate(() => document.getElementById("documents").textContent);
  await page.context().close();
  return JSON.parse(text)["catalog.json"];
}

for (const [kind, address] of Object.entries(addressesOf(await catalog()))) {
  for (const width of widths) {
    for (const dark of [false, true]) {
      const page = await openPage(browser, { dark, width, height: width < 500 ? 780 : 900 });
      const name = `${kind.replace(/\W+/g, "-")}-${width}-${dark ? "dark" : "light"}.png`;
      try {
        await go(page, url, address);
        // A window as high as the page, for charts are drawn when they are seen; what is longer is cut.
        for (let turn = 0; turn < 2; ++turn) {
          const height = await page.evaluate(() => document.documentElement.scrollHeight);
          await page.setViewportSize({ width, height: Math.min(Math.max(height, 700), 6000) });
          await page.waitForTimeout(400);
        }
        await page.screenshot({ path: join(to, name) });
      } catch (error) {
        console.log(`${name}: ${String(error).split("\n")[0]}`);
      }
      for (const fault of page.faults) console.log(`${name}: ${fault}`);
      await page.context().close();
    }
  }
}
await browser.close();
await server?.close();
