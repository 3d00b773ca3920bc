// What is said when something is not there.
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { scratch, site } from "../data.mjs";
import { errorOf, go, openBrowser, openPage, ready } from "../harness.mjs";
import { serve } from "../serve.mjs";

let browser;
const folder = site(), servers = [];
before(async () => (browser = await openBrowser()));
after(async () => {
  await browser?.close();
  for (const server of servers) await server.close();
});

async function start(...words) {
  const server = await serve(...words);
  servers.push(server);
  return server;
}

test("a site opened as a file says what to do", async () => {
  const page = await openPage(browser, { expected: [/file:|CORS|ERR_FAILED/] });
  await page.goto(pathToFileURL(join(folder, "index.html")).href);
  await page.waitForTimeout(500);
  const text = await page.locator("body").innerText();
  assert.match(text, /http\.server/);
  assert.match(text, /kernelbench report/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a server that goes away and comes back", async () => {
  const page = await openPage(browser, { expected: [/ERR_CONNECTION_REFUSED|Failed to load resource/] });
  let server = await start([folder]);
  const port = new URL(server.url).port;
  await go(page, server.url, "#/runs");
  await server.close();
  await page.evaluate((id) => (location.hash = `#/entry/${id}`), catalog().entries.id.find((each) => !each.startsWith("job-")));
  await page.waitForSelector("#main > .error");
  assert.match(await errorOf(page), /does not answer/);
  assert.match(await errorOf(page), /tried again/i);
  server = await start([folder], port);
  await page.waitForFunction(() => !document.querySelector("#main > .error"), null, { timeout: 20_000 });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

// A copy of the site whose catalog is something else.
async function withCatalog(text) {
  const copy = join(scratch, "changed-site");
  rmSync(copy, { recursive: true, force: true });
  cpSync(folder, copy, { recursive: true, dereference: true });
  writeFileSync(join(copy, "data/catalog.json"), text);
  return start([copy]);
}

const catalog = () => JSON.parse(readFileSync(join(folder, "data/catalog.json"), "utf8"));

for (const [what, text, says] of [
  ["no JSON", () => "<html>", /not JSON|not whole/i],
  ["half of it", () => JSON.stringify(catalog()).slice(0, 1000), /not JSON|not whole/i],
  ["another version", () => JSON.stringify({ ...catalog(), schema: 2 }), /version|schema/i],
  ["nothing of what is needed", () => "{}", /version|schema|whole/i],
]) {
  test(`a catalog that is ${what}`, async () => {
    const server = await withCatalog(text());
    const page = await openPage(browser);
    await page.goto(`${server.url}#/runs`);
    await page.waitForTimeout(600);
    assert.match(await page.locator("body").innerText(), says);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

test("an empty store says what to run", async () => {
  const whole = catalog();
  const empty = (columns) => Object.fromEntries(Object.keys(columns).map((key) => [key, []]));
  const server = await withCatalog(JSON.stringify({ ...whole, values: empty(whole.values), entries: empty(whole.entries), runs: [] }));
  const page = await openPage(browser);
  for (const address of ["#/runs", "#/entries", "#/run", "#/leaderboard", "#/problems"]) {
    await go(page, server.url, address);
    assert.equal(await errorOf(page), null, address);
    if (address !== "#/problems") assert.match(await page.locator("#main").innerText(), /kernelbench (run|eval|generate)/, address);
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a browser that keeps nothing", async () => {
  const page = await openPage(browser);
  await page.addInitScript(() => {
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException("refused", "SecurityError"); } });
    }
  });
  const server = await start([folder]);
  await go(page, server.url, "#/runs");
  await page.getByRole("button", { name: /colours/i }).click();
  await ready(page);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
