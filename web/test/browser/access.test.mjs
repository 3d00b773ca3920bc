// For everybody: axe's rules in light and dark, narrow and wide windows, the keyboard alone, paper.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { addressesOf, catalogOf, site } from "../data.mjs";
import { go, openBrowser, openPage, overflow } from "../harness.mjs";
import { serve } from "../serve.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser, server;
const folder = site();
const addresses = Object.entries(addressesOf(await catalogOf(folder)));
before(async () => {
  browser = await openBrowser();
  server = await serve([folder]);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

for (const dark of [false, true]) {
  test(`axe finds nothing serious, ${dark ? "dark" : "light"}`, { timeout: 300_000 }, async (context) => {
    const page = await openPage(browser, { dark });
    for (const [kind, address] of addresses) {
      await context.test(kind, async () => {
        await go(page, server.url, address);
        await page.evaluate(axe); // by the debugger, which the page's policy does not bind
        const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        const serious = found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
        assert.deepEqual(serious.map(({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0].html.slice(0, 160)} ${nodes[0].any[0]?.message ?? ""}`), []);
      });
    }
    await page.context().close();
  });
}

for (const width of [360, 768, 1280, 2560]) {
  test(`no page scrolls sideways at ${width} px`, { timeout: 120_000 }, async (context) => {
    const page = await openPage(browser, { width, height: 800 });
    for (const [kind, address] of addresses) {
      await context.test(kind, async () => {
        await go(page, server.url, address);
        await page.waitForTimeout(100);
        assert.equal(await overflow(page), null);
        if (width > 400) return;
        await page.evaluate(() => document.querySelectorAll("#main details").forEach((details) => !details.matches(".menu") && (details.open = true)));
        await page.waitForTimeout(100);
        assert.equal(await overflow(page), null, "with all unfolded");
      });
    }
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

// The colour behind everything.
const paperOf = (page) => page.evaluate(() => [document.body, document.documentElement].map((element) => getComputedStyle(element).backgroundColor)
  .find((colour) => colour !== "rgba(0, 0, 0, 0)") ?? "rgb(255, 255, 255)");

const focused = (page) => page.evaluate(() => {
  const element = document.activeElement;
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const label = element.closest("label") ?? element;
  return {
    what: `${element.tagName.toLowerCase()} ${(element.getAttribute("aria-label") ?? element.textContent ?? "").trim().slice(0, 30)}`,
    // A browser marks the part of a date that has the focus by itself.
    seen: element.matches("input[type=date]") || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none" || getComputedStyle(label).outlineStyle !== "none",
    body: element === document.body,
    size: box.width * box.height,
  };
});

test("the keyboard alone reaches an entry and comes back", async () => {
  const page = await openPage(browser);
  await go(page, server.url, "#/entries");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#/entry/"));
  await page.goBack();
  await page.waitForFunction(() => location.hash.startsWith("#/entries"));
  await page.keyboard.press("/");
  await page.keyboard.type("alder");
  await page.waitForTimeout(150);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !location.hash.startsWith("#/entries") || location.hash.includes("alder"));
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog[open]").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("what has the focus can be seen", { timeout: 120_000 }, async (context) => {
  const page = await openPage(browser);
  for (const [kind, address] of addresses) {
    await context.test(kind, async () => {
      await go(page, server.url, address);
      for (let step = 0; step < 40; ++step) {
        await page.keyboard.press("Tab");
        const at = await focused(page);
        if (at.body) break;
        assert.ok(at.seen, `${at.what} shows no focus`);
      }
    });
  }
  await page.context().close();
});

test("on paper there are no controls, and nothing is cut off", { timeout: 120_000 }, async (context) => {
  const page = await openPage(browser, { dark: true, width: 1000 });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const [kind, address] of addresses) {
    await context.test(kind, async () => {
      await go(page, server.url, address);
      const bad = await page.evaluate(() => {
        const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
        const controls = [...document.querySelectorAll("header.head nav, .filters, footer button")].filter(shown).map((element) => element.className || element.tagName);
        return controls;
      });
      assert.deepEqual(bad, []);
      const paper = await paperOf(page);
      assert.ok(paper.match(/\d+/g).slice(0, 3).every((part) => Number(part) > 230), `the paper is ${paper}`);
      assert.ok((await page.pdf()).length > 2000);
    });
  }
  await page.context().close();
});

test("the switch of colours is kept", async () => {
  const page = await openPage(browser);
  await go(page, server.url, "#/runs");
  const paper = () => paperOf(page);
  const before = await paper();
  const button = page.getByRole("button", { name: /colours/i });
  await button.click();
  if ((await paper()) === before) await button.click();
  const after = await paper();
  assert.notEqual(after, before);
  await page.reload();
  await page.waitForSelector("#main");
  assert.equal(await paper(), after);
  await page.context().close();
});
