// Opens `inspect view` in Chromium and says what it shows: view.mjs URL CHROMIUM SCREENSHOTS. Prints the texts of three pages as JSON: the samples of the only log, the
// messages of the first sample, and its score.
import { createRequire } from 'node:module';

const { chromium } = createRequire(process.cwd() + '/')('playwright-core');
const [url, executablePath, screenshots] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
const page = await browser.newPage({ viewport: { width: 1500, height: 1000 } });
const failures = [];
page.on('pageerror', (error) => failures.push(String(error)));

async function look(name, needle) {
  await page.getByText(needle).first().waitFor({ timeout: 30000 });
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${screenshots}/${name}.png` });
  return page.evaluate(() => document.body.innerText);
}

await page.goto(url);  // which shows the only log there is
const samples = await look('samples', 'fast_1');
await page.getByText('1/19').first().click();
const sample = await look('sample', 'kb_forward');
await page.getByText('Scoring', { exact: true }).first().click();
const score = await look('score', /times as fast as|without a speedup: machine_busy/);
console.log(JSON.stringify({ samples, sample, score, failures }));
await browser.close();
