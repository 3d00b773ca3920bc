// A browser whose pages note all that goes wrong in them.
import { chromium } from "playwright-core";

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.KERNELBENCH_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
      "--disable-sync"],
  });
}

// A page with `faults`, a list of sentences. `expected`: patterns of those that a test provokes.
export async function openPage(browser, { dark = false, width = 1280, height = 900, expected = [], ...more } = {}) {
  const context = await browser.newContext({ colorScheme: dark ? "dark" : "light", viewport: { width, height }, serviceWorkers: "block", ...more });
  const page = await context.newPage();
  page.faults = [];
  const note = (fault) => {
    if (!expected.some((pattern) => pattern.test(fault))) page.faults.push(fault);
  };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) note(`console ${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(`exception: ${error.stack ?? error}`));
  page.on("dialog", (dialog) => {
    note(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["127.0.0.1", "localhost", ""].includes(url.hostname)) note(`asks the network: ${url}`);
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} refuses ${event.blockedURI} ${event.sample}`));
  });
  return page;
}

// Goes to an address of the app and waits until its page is there.
export async function go(page, url, address) {
  const target = new URL(address, url).href;
  if (page.url().split("#")[0] === url.split("#")[0] && page.url() !== "about:blank") {
    await page.evaluate((to) => (location.href = to), target);
    await page.waitForTimeout(30);
  } else await page.goto(target);
  await ready(page);
}

export async function ready(page, timeout = 40_000) {
  await page.waitForFunction(() => {
    const main = document.querySelector("#main");
    return main && !main.hasAttribute("aria-busy") && !main.querySelector(":scope > .loading") && main.childElementCount > 0;
  }, null, { timeout });
  // What is drawn after the page is there.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

export const errorOf = (page) => page.evaluate(() => document.querySelector("#main > .error")?.innerText ?? null);

// By how many pixels the page is wider than its window, and what sticks out.
export function overflow(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const over = document.documentElement.scrollWidth - width;
    if (over <= 0) return null;
    const clipped = (element) => {
      for (let parent = element.parentElement; parent; parent = parent.parentElement) {
        if (parent !== document.body && parent !== document.documentElement && getComputedStyle(parent).overflowX !== "visible") return true;
      }
      return false;
    };
    const worst = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > width + 0.5 && !clipped(element));
    const say = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`;
    return `${over} px wider than the window: ${worst.slice(0, 4).map(say).join(", ")}`;
  });
}
