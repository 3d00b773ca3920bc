// Every kind of page once: it is there, says what it is, and nothing goes wrong in it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { addressesOf, catalogOf, report, site } from "../data.mjs";
import { errorOf, go, openBrowser, openPage, overflow } from "../harness.mjs";
import { serve } from "../serve.mjs";

let browser, server;
const folder = site();
before(async () => {
  browser = await openBrowser();
  server = await serve([folder]);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

test("each kind of page", async (context) => {
  const page = await openPage(browser);
  for (const [kind, address] of Object.entries(addressesOf(await catalogOf(folder)))) {
    await context.test(kind, async () => {
      page.faults.length = 0;
      await go(page, server.url, address);
      assert.equal(await errorOf(page), null);
      assert.equal(await page.locator("#main h1").count(), 1, "a page has one heading");
      assert.match(await page.title(), /.+ · KernelBench/);
      assert.equal(await overflow(page), null);
      assert.deepEqual(page.faults, []);
    });
  }
  await page.context().close();
});

test("a report from a file", async () => {
  const page = await openPage(browser);
  await page.context().setOffline(true);
  const url = pathToFileURL(report()).href;
  await go(page, url, "");
  assert.equal(await errorOf(page), null);
  await go(page, url, "#/leaderboard");
  assert.equal(await errorOf(page), null);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
