// What is saved is what is shown, and what the command line says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parseCsv } from "../csv.mjs";
import { addressesOf, binary, catalogOf, command, namePart, site, store } from "../data.mjs";
import { go, openBrowser, openPage } from "../harness.mjs";
import { serve } from "../serve.mjs";

let browser, server, catalog;
const folder = site();
before(async () => {
  browser = await openBrowser();
  server = await serve([folder]);
  catalog = await catalogOf(folder);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

// Of a page that saves many files in a row Chromium drops each eleventh: then once more.
async function saved(page, press, tries = 3) {
  try {
    const [download] = await Promise.all([page.waitForEvent("download", { timeout: 5000 }), press()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  } catch (error) {
    if (tries === 1 || error.name !== "TimeoutError") throw error;
    return saved(page, press, tries - 1);
  }
}

const json = (page) => saved(page, () => page.getByRole("button", { name: "Download JSON" }).click());
const said = (...words) => command(binary, ...words, "--json", "--store", store());

test("every page that shows results offers them", async (context) => {
  const page = await openPage(browser);
  for (const [kind, address] of Object.entries(addressesOf(catalog))) {
    await context.test(kind, async () => {
      await go(page, server.url, address);
      const { name, text } = await json(page);
      assert.match(name, /^[A-Za-z0-9._-]+\.json$/);
      JSON.parse(text);
    });
  }
  await page.context().close();
});

test("every table can be saved as CSV, with the columns of its head", { timeout: 200_000 }, async (context) => {
  const page = await openPage(browser);
  for (const [kind, address] of Object.entries(addressesOf(catalog))) {
    await context.test(kind, async () => {
      await go(page, server.url, address);
      await page.evaluate(() => document.querySelectorAll("#main details:not(.menu)").forEach((each) => (each.open = true)));
      await page.waitForTimeout(100);
      const without = await page.$$eval("#main table", (tables) =>
        tables.filter((each) => !each.closest(".with-csv, .table-box")?.querySelector("button.csv")).map((each) => each.className || each.textContent.slice(0, 60)));
      assert.deepEqual(without, []);
      const buttons = page.locator("#main button.csv");
      for (let place = 0; place < (await buttons.count()); ++place) {
        const { name, text } = await saved(page, () => buttons.nth(place).click());
        assert.match(name, /^[A-Za-z0-9._-]+\.csv$/);
        const rows = parseCsv(text);
        assert.ok(rows.length > 1, `${name} has rows`);
        assert.deepEqual([...new Set(rows.map((row) => row.length))], [rows[0].length], `${name} has as many fields in each row`);
      }
    });
  }
  await page.context().close();
});

test("the CSV of a table has all rows that pass the filters, on all its pages, with plain numbers", async () => {
  const page = await openPage(browser);
  await go(page, server.url, "#/entries?verdict=correct&sort=-speedup");
  const { text } = await saved(page, () => page.locator("#main .table-box button.csv").click());
  const [head, ...rows] = parseCsv(text);
  const { entries, values } = catalog;
  const expected = entries.id.map((_, row) => row).filter((row) => entries.counts[row] && values.verdict[entries.verdict[row]] === "correct");
  assert.ok(expected.length > 50, "more than a page");
  const column = (name) => rows.map((row) => row[head.indexOf(name)]);
  assert.deepEqual(column("ID").sort(), expected.map((row) => entries.id[row]).sort());
  const speedups = column("Speedup").filter((each) => each !== "").map(Number);
  assert.deepEqual(speedups, [...speedups].sort((a, b) => b - a));
  assert.deepEqual([...speedups].sort(), expected.map((row) => entries.speedup[row]).filter((each) => each !== null).sort());
  await page.context().close();
});

test("documents are what --json prints", { skip: process.env.KB_SITE ? "a site of another store" : false }, () => {
  const document = (name) => JSON.parse(readFileSync(`${folder}/data/${name}`, "utf8"));
  const id = catalog.entries.id.find((_, row) => catalog.entries.speedup[row] !== null);
  const { samples, measurements, ...whole } = JSON.parse(said("show", id));
  const { source, ...candidate } = whole.candidate;
  assert.deepEqual(document(`entries/${id}.json`), { ...whole, candidate });
  assert.deepEqual(document(`rounds/${id}.json`).samples, samples);
  assert.equal(document(`sources/${candidate.sha256}.json`).files[0].text, source);
  assert.deepEqual(document("scores.json"), JSON.parse(said("score")));
  const { run } = catalog.runs.find((line) => line.strategy === "refine");
  const shown = document(`runs/${namePart(run)}.json`);
  assert.deepEqual(shown.score, JSON.parse(said("score", run)));
  assert.deepEqual(shown.trajectory, JSON.parse(said("trajectory", run)));
  const [a, b] = catalog.values.model.filter((model) => model !== "");
  const { levels, ...compared } = document(`compare/${namePart(a)}/${namePart(b)}.json`);
  assert.deepEqual(compared, JSON.parse(said("compare", a, b, "--ranges")));
  assert.ok(Object.keys(levels).length > 1);
  for (const [level, settings] of Object.entries(levels)) assert.deepEqual(settings, JSON.parse(said("compare", a, b, "--ranges", "--level", level)).settings, level);
});

test("the rows of the list are those that list --json prints", { skip: process.env.KB_SITE ? "a site of another store" : false }, async () => {
  const listed = said("list", "--limit", "0").trim().split("\n").map((line) => JSON.parse(line));
  const { entries, values } = catalog;
  const mine = entries.id.map((id, row) => ({ id, problem: values.problem[entries.problem[row]], verdict: values.verdict[entries.verdict[row]],
    speedup: entries.speedup[row], model: values.model[entries.model[row]], run: values.run[entries.run[row]] })).filter(({ id }) => !id.startsWith("job-"));
  const theirs = listed.reverse().map(({ id, problem, verdict, speedup, model, run }) => ({ id, problem, verdict, speedup, model: model ?? "", run: run ?? "" }));
  assert.deepEqual(mine, theirs);
});

test("each picture of a chart can be saved", { timeout: 120_000 }, async () => {
  const page = await openPage(browser);
  await go(page, server.url, addressesOf(catalog).all);
  const buttons = page.getByRole("button", { name: /svg/i });
  const count = await buttons.count();
  assert.ok(count >= 5, `${count} pictures`);
  for (let place = 0; place < count; ++place) {
    const { name, text } = await saved(page, () => buttons.nth(place).click());
    assert.match(name, /\.svg$/);
    assert.match(text, /^(<\?xml[^>]*>\s*)?<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.doesNotMatch(text, /<script|var\(--|\bNaN\b/, `${name} stands by itself`);
  }
  const png = page.getByRole("button", { name: /png/i }).first();
  const [download] = await Promise.all([page.waitForEvent("download"), png.click()]);
  assert.equal(readFileSync(await download.path()).subarray(1, 4).toString(), "PNG");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
