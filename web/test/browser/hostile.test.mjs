// What candidates, compilers and models wrote is text, whatever it holds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { catalogOf, report, site } from "../data.mjs";
import { errorOf, go, openBrowser, openPage, overflow } from "../harness.mjs";
import { serve } from "../serve.mjs";

let browser, server, catalog;
const folder = site("hostile");
before(async () => {
  browser = await openBrowser();
  server = await serve([folder]);
  catalog = await catalogOf(folder);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

// What is not as it must be in the page as it stands.
function look(page) {
  return page.evaluate(() => {
    const found = [];
    if (window.kbHit !== undefined) found.push("a script of a candidate ran");
    const foreign = document.querySelectorAll('iframe, object, embed, base, link:not([rel=stylesheet], [href="data:,"]), form[action], body script[src]:not([src="app.js"]), img:not([src^="blob:"], [src^="data:"])');
    for (const element of foreign) found.push(`an element ${element.outerHTML.slice(0, 80)}`);
    for (const link of document.querySelectorAll("a[href]")) {
      const href = link.getAttribute("href");
      if (!/^(#|https:\/\/|blob:)/.test(href)) found.push(`a link to ${href.slice(0, 80)}`);
      if (href.startsWith("https:") && !(link.rel.includes("noopener") && link.textContent.includes("https:"))) found.push(`a link that hides ${href.slice(0, 80)}`);
    }
    for (const element of document.querySelectorAll("*")) {
      for (const name of element.getAttributeNames()) if (/^on/i.test(name)) found.push(`an attribute ${name}`);
    }
    const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;
    const walker = document.createTreeWalker(document.querySelector("#app"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const at = node.data.search(controls);
      if (at >= 0) found.push(`a control character in ${node.parentElement.tagName} ${JSON.stringify(node.data.slice(Math.max(0, at - 20), at + 20))}`);
    }
    for (const element of document.querySelectorAll("[title], [aria-label], option")) {
      for (const text of [element.getAttribute("title"), element.getAttribute("aria-label")]) {
        if (text && controls.test(text)) found.push(`a control character in a title ${JSON.stringify(text.slice(0, 40))}`);
      }
    }
    return found.slice(0, 5);
  });
}

// What is wrong with a page, as sentences.
async function faultsOf(page, url, address) {
  page.faults.length = 0;
  await go(page, url, address);
  const wide = await overflow(page);
  return [...page.faults, ...(await look(page)), ...(wide ? [wide] : [])].map((fault) => `${address.slice(0, 100)}: ${fault}`);
}

// The first faults of many pages. `mayFail`: the page may say that there is nothing to show.
async function visitAll(page, url, addresses, mayFail = true) {
  const found = [];
  for (const address of addresses) {
    found.push(...(await faultsOf(page, url, address)));
    const error = await errorOf(page);
    if (error && !mayFail) found.push(`${address.slice(0, 100)}: ${error}`);
    if (found.length >= 12) break;
  }
  assert.deepEqual(found, []);
}

const part = encodeURIComponent;

test("lists with hostile names", async () => {
  const page = await openPage(browser);
  await visitAll(page, server.url, ["#/runs", "#/entries", "#/problems", "#/leaderboard", "#/machine", "#/run", "#/run?text=%3Cscript%3E"], false);
  await page.context().close();
});

test("every hostile run", async () => {
  const page = await openPage(browser);
  await visitAll(page, server.url, catalog.runs.filter(({ run }) => run.length < 60).map(({ run }) => `#/run/${part(run)}`), false);
  await page.context().close();
});

test("every hostile model and problem", async () => {
  const page = await openPage(browser, { expected: [/404|431/] }); // a folder has comparisons of a few models alone
  const { model, problem } = catalog.values;
  await visitAll(page, server.url, [...model.map((name) => `#/compare/${part(model.at(-1))}/${part(name)}`), ...problem.map((name) => `#/problem/${part(name)}`)]);
  await page.context().close();
});

test("every hostile entry", { timeout: 300_000 }, async () => {
  const page = await openPage(browser);
  await visitAll(page, server.url, catalog.entries.id.filter((id) => !id.startsWith("job-")).map((id) => `#/entry/${part(id)}`), false);
  await page.context().close();
});

test("all that is folded away is text, too, in each part of an entry", { timeout: 400_000 }, async () => {
  const page = await openPage(browser);
  const found = [];
  const ids = catalog.entries.id.filter((id) => !id.startsWith("job-"));
  const others = ids.slice(-4); // with numbers, lines and outputs that are too long
  for (const id of [...ids.filter((_, row) => row % 4 === 0), ...others]) {
    for (const query of ["", "?tab=code", "?tab=made", "?tab=setting", `?tab=code&diff=${part(ids[1])}`]) {
      const address = `#/entry/${part(id)}${query}`;
      await go(page, server.url, address);
      await page.waitForTimeout(60);
      await page.evaluate(() => document.querySelectorAll("#main details").forEach((details) => (details.open = true)));
      await page.waitForTimeout(60);
      found.push(...(await look(page)).map((fault) => `${address}: ${fault}`));
      const wide = await overflow(page);
      if (wide) found.push(`${address}: ${wide}`);
    }
    if (found.length >= 12) break;
  }
  assert.deepEqual(found, []);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a search for a hostile name", async () => {
  const page = await openPage(browser);
  await go(page, server.url, "#/runs");
  for (const text of ["<script>", "__proto__", "constructor", "\u202e", "\\", "(", "[", "%00", "W".repeat(3000)]) {
    await page.keyboard.press("/");
    await page.keyboard.insertText(text);
    await page.waitForTimeout(120);
    assert.deepEqual(await look(page), [], text);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
  }
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("addresses that nobody made", async () => {
  const page = await openPage(browser);
  for (const address of ["#/entry/__proto__", "#/entry/", "#/run/%E0%A4%A", "#/compare/a", "#/compare/__proto__/constructor", "#/problem/%00", "#/__proto__", "#/constructor",
    "#/toString", "#/run/x?model=%3Cscript%3E&from=never&page=-1&sort=__proto__&p=NaN", "#/entries?page=1e9&sort=%3Cb%3E", "#//", "#javascript:1", "#/leaderboard?page=-3"]) {
    page.faults.length = 0;
    await go(page, server.url, address);
    assert.deepEqual(page.faults.filter((fault) => !/404/.test(fault)), [], address);
    assert.deepEqual(await look(page), [], address);
    assert.ok((await page.locator("#main").innerText()).trim().length > 10, `${address} says nothing`);
  }
  await page.context().close();
});

test("a report of it all", { timeout: 120_000 }, async () => {
  const page = await openPage(browser);
  const url = pathToFileURL(report("hostile")).href;
  await visitAll(page, url, ["", ...catalog.entries.id.filter((_, row) => row % 17 === 0).map((id) => `#/entry/${part(id)}`)], false);
  await page.context().close();
});
