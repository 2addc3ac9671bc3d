// Times the page in Chromium and prints JSON. TILEMARK_URL=http://127.0.0.1:PORT/run/ID times a real
// server's run; without it a made-up 10-tile ladder is served. TILEMARK_REPORT=FILE times opening a
// report as well.
import { execFileSync, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '@playwright/test';

const PORT = 4174;
const VIEWS = 5;
const root = new URL('..', import.meta.url).pathname;
const quiet = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] };
execFileSync('npx', ['vite', 'build', '--logLevel', 'error', '--config', 'vite.bench.config.ts'], quiet);

const given = process.env.TILEMARK_URL;
const server = given ? null : spawn('npx', ['vite', 'preview', '--port', String(PORT), '--strictPort'], { cwd: root, stdio: 'ignore', detached: true });
const address = given ?? `http://localhost:${PORT}/run/ladder-10`;

async function there(url) {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  throw new Error(`nobody answers at ${url}`);
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});
/** From opening an address until the answer stands there in words and the first chart is drawn. */
async function opened(url) {
  const views = [];
  for (let i = 0; i < VIEWS; i += 1) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForFunction(() => document.querySelector('.lead .verdict') && document.querySelector('figure.chart .surface svg, figure.chart .surface canvas'), null, { polling: 'raf', timeout: 30_000 });
    views.push(await page.evaluate(() => performance.now()));
    await context.close();
  }
  return median(views);
}

try {
  await there(new URL('/healthz', address).href);
  const firstView = await opened(address);
  const report = process.env.TILEMARK_REPORT;
  const reportOpen = report ? { report_open_ms: await opened(pathToFileURL(resolve(report)).href) } : {};
  const page = await browser.newPage({ viewport: { width: 2040, height: 1000 } });
  page.on('pageerror', (error) => console.error(String(error)));
  await page.goto(pathToFileURL(`${root}dist-bench/index.html`).href);
  await page.waitForFunction(() => document.querySelectorAll('.surface canvas').length === 2);
  const frames = await page.evaluate(() => globalThis.bench());
  const rounded = Object.fromEntries(Object.entries({ first_view_ms: firstView, ...reportOpen, ...frames }).map(([name, ms]) => [name, Math.round(ms * 10) / 10]));
  console.log(JSON.stringify(rounded));
} finally {
  await browser.close();
  if (server?.pid) process.kill(-server.pid);
}
