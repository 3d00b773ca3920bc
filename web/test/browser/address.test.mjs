// The address is the page: reload, back, forward and a copied link give the same.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addressesOf, catalogOf, site } from "../data.mjs";
import { errorOf, go, openBrowser, openPage, ready } from "../harness.mjs";
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

const shown = (page) => page.evaluate(() => document.querySelector("#main").innerText.replace(/\s+/g, " "));
const settled = async (page) => {
  await ready(page);
  await page.waitForTimeout(250);
};

async function chooseModel(page, place) {
  const menu = page.locator("#main details.menu").filter({ has: page.locator("summary", { hasText: /^Model/ }) });
  await menu.locator("summary").click();
  await menu.locator("input[type=checkbox]").nth(place).check();
  await page.keyboard.press("Escape");
  await settled(page);
}

for (const address of ["#/entries", "#/run", "#/leaderboard"]) {
  test(`a filter of ${address} holds through reload, back and forward, and in a copied link`, async () => {
    const page = await openPage(browser);
    await go(page, server.url, address);
    await settled(page);
    const whole = await shown(page);
    await chooseModel(page, 0);
    const one = await shown(page);
    assert.notEqual(one, whole, "the filter shows something else");
    assert.match(page.url(), /model=/);
    await chooseModel(page, 1);
    const two = await shown(page), copied = page.url();
    await page.reload();
    await settled(page);
    assert.equal(await shown(page), two, "after a reload");
    await page.goBack();
    await settled(page);
    assert.equal(await shown(page), one, "back");
    await page.goBack();
    await settled(page);
    assert.equal(await shown(page), whole, "back to no filter");
    await page.goForward();
    await page.goForward();
    await settled(page);
    assert.equal(await shown(page), two, "forward");
    const other = await openPage(browser);
    await other.goto(copied);
    await settled(other);
    assert.equal(await shown(other), two, "in another window");
    assert.deepEqual([...page.faults, ...other.faults], []);
    await page.context().close();
    await other.context().close();
  });
}

test("back returns to where a list was left", async () => {
  const page = await openPage(browser, { height: 500 });
  await go(page, server.url, "#/entries");
  await settled(page);
  await page.evaluate(() => scrollTo(0, 700));
  await page.waitForTimeout(100);
  const before = await page.evaluate(() => scrollY);
  await page.evaluate(() => document.querySelectorAll("#main a[href^='#/entry/']")[20].click());
  await settled(page);
  await page.goBack();
  await settled(page);
  assert.ok(Math.abs((await page.evaluate(() => scrollY)) - before) < 60, `was at ${before}`);
  await page.context().close();
});

test("every link leads somewhere", { timeout: 300_000 }, async () => {
  const page = await openPage(browser);
  const links = new Map();
  for (const address of Object.values(addressesOf(catalog))) {
    await go(page, server.url, address);
    await settled(page);
    for (const href of await page.evaluate(() => [...document.querySelectorAll("#app a[href]")].map((link) => link.getAttribute("href")))) {
      if (!href.startsWith("#")) assert.match(href, /^(https:|blob:)/, `${address} links to ${href}`);
      // One of each kind of address, by the keys of its filters.
      const kind = `${href.split("?")[0].split("/").slice(0, 2).join("/")}?${[...new URLSearchParams(href.split("?")[1] ?? "").keys()].sort().join("&")}`;
      if (!links.has(kind)) links.set(kind, []);
      if (href.startsWith("#/") && links.get(kind).length < 6 && !links.get(kind).some(([to]) => to === href)) links.get(kind).push([href, address]);
    }
  }
  for (const [href, from] of [...links.values()].flat()) {
    page.faults.length = 0;
    await go(page, server.url, href);
    assert.equal(await errorOf(page), null, `${from} links to ${href}`);
    assert.deepEqual(page.faults, [], href);
  }
  await page.context().close();
});

test("a filter that matches nothing says so, and leads back", async () => {
  const page = await openPage(browser);
  for (const address of ["#/entries?text=nothing-has-this-name", "#/run?text=nothing-has-this-name", "#/leaderboard?model=nobody"]) {
    await go(page, server.url, address);
    await settled(page);
    const text = await shown(page);
    assert.match(text, /no (evaluation|entr|model|result|candidate)|nothing|0 of/i, address);
    assert.ok(await page.getByRole("button", { name: /clear/i }).first().isVisible(), `${address} has a way to clear the filters`);
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("an entry that is gone says so", async () => {
  const page = await openPage(browser, { expected: [/404/] });
  for (const address of ["#/entry/20200101-000000-00000000", "#/run/no-such-run", "#/problem/9%2F99"]) {
    await go(page, server.url, address);
    assert.ok(await errorOf(page), address);
    assert.match(await shown(page), /not here|no file|does not hold|no such/i, address);
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
