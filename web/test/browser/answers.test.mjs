// Questions that readers come with: which model is better, what a correct kernel cost, what became of each problem.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parseCsv } from "../csv.mjs";
import { addressesOf, catalogOf, namePart, site } from "../data.mjs";
import { go, openBrowser, openPage } from "../harness.mjs";
import { serve } from "../serve.mjs";

let browser, server, catalog;
const folder = site();
const document = (name) => JSON.parse(readFileSync(`${folder}/data/${name}`, "utf8"));
before(async () => {
  browser = await openBrowser();
  server = await serve([folder]);
  catalog = await catalogOf(folder);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("a comparison begins with its answer, and says what the document says", async () => {
  const page = await openPage(browser);
  await go(page, server.url, addressesOf(catalog).compare);
  const [a, b] = catalog.values.model.filter((model) => model !== "");
  const { settings } = document(`compare/${namePart(a)}/${namePart(b)}.json`);
  const said = await page.$$eval("#main section", (sections) => sections.map((each) => each.querySelector("h2 + p.conclusion")?.textContent.replaceAll("\u00a0", " ")));
  assert.equal(said.length, settings.length);
  settings.forEach(({ fast_p }, at) => {
    const main = fast_p.find(({ p }) => p === 1);
    assert.ok(said[at].startsWith(main.difference_shown ? `${main.difference > 0 ? a : b} is better: ` : "Neither is shown to be better: "), said[at]);
    assert.match(said[at], new RegExp(`on the ${main.problems} problems that both attempted`));
    if (main.p_value >= 0.001) assert.ok(said[at].includes(`p = ${main.p_value.toFixed(3)}`), said[at]);
  });
  await page.context().close();
});

test("in a narrow window no table of a comparison scrolls sideways", async () => {
  const page = await openPage(browser, { width: 360, height: 800 });
  await go(page, server.url, addressesOf(catalog).compare);
  const wide = await page.$$eval("#main .scroll", (boxes) => boxes.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.getAttribute("aria-label")));
  assert.deepEqual(wide, []);
  const label = await page.$eval("#main .folding td", (cell) => getComputedStyle(cell, "::before").content);
  assert.match(label, /^"A: /, "values keep their names");
  await page.context().close();
});

test("what a correct kernel cost is what score says, and is not told under a filter", async () => {
  const page = await openPage(browser);
  const { models } = document("scores.json");
  await go(page, server.url, "#/leaderboard");
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#main .table-box button.csv").click()]);
  const [head, ...rows] = parseCsv(readFileSync(await download.path(), "utf8"));
  const setting = await page.$eval("#main .pickers select", (select) => select.value);
  const keys = ["device", "device_name", "protocol", "size", "baseline"];
  assert.ok(rows.length > 1);
  for (const row of rows) {
    const model = models.find((each) => each.model === row[head.indexOf("Model")] && keys.map((key) => each[key]).join("|") === setting);
    assert.equal(row[head.indexOf("US$ / correct")], String(model.spent.each_correct.usd));
    assert.equal(row[head.indexOf("Tokens / correct")], String(model.spent.each_correct.tokens));
  }
  const heads = () => page.$$eval("#main .table-box th", (cells) => cells.map((cell) => cell.textContent));
  assert.ok((await heads()).includes("US$ / correct"));
  await go(page, server.url, "#/leaderboard?level=1");
  assert.ok(!(await heads()).some((name) => name.includes("/ correct")));
  await page.context().close();
});

for (const by of ["model", "run"]) {
  test(`the map of problems by ${by} has a cell for each, which opens its entry`, async () => {
    const page = await openPage(browser);
    await go(page, server.url, by === "model" ? "#/problems" : "#/problems?map=run");
    await page.locator("#main .fold").evaluate((fold) => (fold.open = true));
    await page.locator("#main .chart-details > summary").click();
    const links = await page.$$eval("#main .chart-numbers tbody tr", (rows) => rows.map((row) => ({
      row: row.cells[0].textContent, problem: row.cells[1].textContent, id: row.querySelector("a")?.getAttribute("href").replace("#/entry/", ""),
    })));
    assert.ok(links.length > 20, `${links.length} cells`);
    assert.equal(new Set(links.map(({ row, problem }) => `${row} ${problem}`)).size, links.length, "one cell each");
    for (const { row, problem, id } of links.filter((each) => each.id)) {
      const at = catalog.entries.id.indexOf(decodeURIComponent(id));
      assert.equal(catalog.values.problem[catalog.entries.problem[at]], problem);
      assert.equal(catalog.values[by][catalog.entries[by][at]], row);
    }
    const holder = page.locator("#main .chart-body [role=group]");
    await holder.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    const said = await page.locator("#main .chart [role=status]").textContent();
    assert.match(said, /Enter opens it/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#/entry/"));
    assert.ok(said.startsWith(catalog.values.problem[catalog.entries.problem[catalog.entries.id.indexOf(decodeURIComponent(new URL(page.url()).hash.replace("#/entry/", "")))]]));
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}
