// The pages of a service: a run that goes on, a service that goes away and comes back, tokens, headers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { binary, command, namePart, scratch } from "../data.mjs";
import { go, openBrowser, openPage, ready } from "../harness.mjs";
import { policyOf } from "../serve.mjs";

// A program in place of PyTorch, which has one problem: max(x, 0).
const fake = join(dirname(binary), "../tests/fake_python");
const skip = existsSync(fake) ? false : `there is no ${fake}: build the target fake_python`;
const candidate = (number) => `#include <kernelbench/kernel.h>
KB_EXPORT int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  for (int i = 0; i < 64 * 64; ++i) y[i] = x[i] < ${number % 4 === 3 ? 1 : 0} ? 0.0f : x[i];  // ${number}
  return 0;
}
`;

// A service; resolves when it has said its address.
async function start(store, port, ...more) {
  const child = spawn(binary, ["serve", "--store", store, "--listen", `127.0.0.1:${port}`, ...more], {
    env: { ...process.env, KERNELBENCH_PYTHON: fake, KERNELBENCH_CACHE: join(scratch, "cache") }, stdio: ["ignore", "pipe", "pipe"],
  });
  const lines = [];
  const address = await new Promise((done, fail) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const found = /pages: (http:\S+)/.exec(line);
        if (found) done(found[1]);
      });
    }
    child.on("exit", (status) => fail(new Error(`serve ended with ${status}: ${lines.join("\n")}`)));
    setTimeout(() => fail(new Error(`serve says no address of its pages: ${lines.join("\n")}`)), 60_000).unref();
  });
  return {
    url: address.endsWith("/") ? address : `${address}/`,
    port: new URL(address).port,
    stop: () => new Promise((done) => {
      if (child.exitCode !== null) return done();
      child.removeAllListeners("exit");
      child.on("exit", done);
      child.kill("SIGTERM");
    }),
  };
}

async function judge(url, number, run, token = "") {
  const answer = await fetch(`${url}v1/evaluations?wait=60`, {
    method: "POST", headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ problem: "1/19", size: "small", protocol: "quick", name: `relu-${number}.cpp`, source: candidate(number), run, model: "somebody", sample: number }),
  });
  const said = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(said));
  return said;
}

let browser;
before(async () => (browser = await openBrowser()));
after(() => browser?.close());
const storeOf = (name) => {
  mkdirSync(join(scratch, name), { recursive: true });
  return join(scratch, name, "store.sqlite");
};
const text = (page) => page.locator("#main").innerText();
const shows = (page, pattern) => page.waitForFunction(([source, flags]) => new RegExp(source, flags).test(document.querySelector("#main")?.innerText ?? ""),
  [pattern.source, pattern.flags], { timeout: 20_000 });

test("what is judged while a page is open appears in it", { skip, timeout: 180_000 }, async () => {
  const service = await start(storeOf("live"), 0, "--no-auth");
  const runs = await openPage(browser), entries = await openPage(browser);
  await go(runs, service.url, "#/runs");
  await go(entries, service.url, "#/entries");
  assert.match(await text(runs), /kernelbench (run|eval|generate)/, "an empty store says what to run");
  let opened = 0;
  runs.on("framenavigated", () => ++opened);
  const first = await judge(service.url, 0, "tonight");
  await shows(runs, /tonight/);
  await shows(entries, /somebody/);
  for (let number = 1; number < 4; ++number) await judge(service.url, number, "tonight");
  await entries.waitForFunction(() => document.querySelectorAll("#main tbody tr").length >= 4, null, { timeout: 20_000 });
  assert.match(await text(entries), /incorrect|wrong/);
  assert.equal(opened, 0, "without a reload");
  const id = first.evaluation_id;
  await go(entries, service.url, `#/entry/${id}`);
  assert.match(await text(entries), /1\/19/);
  // A client's run is stored under the client's name, too.
  const { runs: lines } = await (await fetch(`${service.url}v1/pages/catalog.json`)).json();
  const { run } = lines.find((line) => line.run.endsWith("tonight"));
  await go(entries, service.url, `#/run/${encodeURIComponent(run)}`);
  await go(entries, service.url, "#/machine");
  assert.deepEqual([...runs.faults, ...entries.faults], []);
  // The same documents as the command line prints.
  const shown = await (await fetch(`${service.url}v1/pages/runs/${namePart(run)}.json`)).json();
  assert.deepEqual(shown.score, JSON.parse(command(binary, "score", run, "--json", "--store", storeOf("live"))));
  await runs.context().close();
  await entries.context().close();
  await service.stop();
});

test("a service that goes away and comes back", { skip, timeout: 180_000 }, async () => {
  const store = storeOf("away");
  let service = await start(store, 0, "--no-auth");
  const { port, url } = service;
  const page = await openPage(browser, { expected: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to load resource|ERR_NETWORK|ERR_CONNECTION_RESET|ERR_EMPTY/] });
  await go(page, url, "#/runs");
  await service.stop();
  await page.waitForFunction(() => /tried again/i.test(document.body.innerText), null, { timeout: 20_000 });
  service = await start(store, port, "--no-auth");
  await page.waitForFunction(() => !/tried again/i.test(document.body.innerText), null, { timeout: 45_000 });
  await judge(url, 0, "afterwards");
  await shows(page, /afterwards/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await service.stop();
});

test("a token is asked for; a wrong one is refused, and says so", { skip, timeout: 180_000 }, async () => {
  const store = storeOf("tokens");
  const token = command(binary, "token", "add", "viewer", "--store", store).trim();
  const other = command(binary, "token", "add", "other", "--store", store).trim();
  const service = await start(store, 0);
  await judge(service.url, 0, "mine", token);
  await judge(service.url, 1, "theirs", other);
  const page = await openPage(browser, { expected: [/40[13]/] });
  await page.goto(`${service.url}#/runs`);
  const dialog = page.locator("dialog[open]");
  await dialog.locator("input").fill("no-such-token");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /does not know|wrong|refused/i.test(document.querySelector("dialog[open]")?.innerText ?? ""));
  await dialog.locator("input").fill(token);
  await page.keyboard.press("Enter");
  await shows(page, /mine/);
  assert.doesNotMatch(await text(page), /theirs/, "a client sees its own runs");
  assert.ok(!page.url().includes(token) && !(await page.content()).includes(token), "the token is in no address and in no page");
  await page.reload();
  await ready(page);
  await shows(page, /mine/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await service.stop();
});

test("the service's headers", { skip, timeout: 60_000 }, async () => {
  const service = await start(storeOf("headers"), 0, "--no-auth");
  for (const [path, type] of [["", "text/html"], ["app.js", "text/javascript"], ["style.css", "text/css"]]) {
    const answer = await fetch(service.url + path);
    assert.equal(answer.status, 200, path);
    assert.ok(answer.headers.get("content-type").startsWith(type), path);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff", path);
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer", path);
    const policy = policyOf(readFileSync(new URL("../../dist/index.html", import.meta.url), "utf8"));
    if (path === "") assert.equal(answer.headers.get("content-security-policy")?.replace(/; *frame-ancestors 'none'/, ""), policy);
  }
  const document = await fetch(`${service.url}v1/pages/catalog.json`);
  assert.equal(document.status, 200);
  assert.equal(document.headers.get("x-content-type-options"), "nosniff");
  assert.equal((await fetch(`${service.url}v1/pages/entries/nobody.json`)).status, 404);
  for (const path of ["v1/pages/../../etc/passwd", "v1/pages/%2e%2e/tokens.json", "../index.html", "v1/pages/"]) assert.notEqual((await fetch(service.url + path)).status, 500, path);
  await service.stop();
});
