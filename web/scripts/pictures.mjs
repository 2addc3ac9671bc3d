// Makes pictures of the documentation: node scripts/pictures.mjs [readme | hosts | lost]
// readme: a ladder is simulated, served, and looked at. TILEMARK_BIN names the program;
// TILEMARK_URL=http://127.0.0.1:PORT/run/ID is looked at instead, if it is given, and needed for the others:
// hosts is a run over several (scripts/demos/cluster-demo makes one), lost one that lost a host.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { png } from './png.mjs';

const root = new URL('../..', import.meta.url).pathname;
const LADDER = ['--array', 'vnx5500', '--tile', 'datacenter', '--tiles', '1..5', '--quick', '--seed', '1', '--duration', '30s', '--warm-up-min', '10s', '--warm-up-max', '15s'];
const SETS = {
  readme: [
    { name: 'overview', path: '', width: 1280, height: 1060 },
    { name: 'latency', path: '/latency', width: 1280, height: 1060 },
  ],
  hosts: [
    { name: 'hosts-overview', path: '', width: 1200, height: 1000 },
    { name: 'hosts-lines', path: '/workload?by=host', part: 'I/Os a second', width: 1200, height: 545 },
    { name: 'hosts-map', path: '/map', width: 1200, height: 860 },
  ],
  lost: [{ name: 'hosts-lost', path: '', width: 1200, height: 700 }],
};
const set = process.argv[2] ?? 'readme';
if (!SETS[set]) throw new Error(`there are no pictures "${set}": ${Object.keys(SETS).join(', ')}`);

/** A simulated ladder, served; what ends both. */
async function served() {
  const program = process.env.TILEMARK_BIN ?? ['release', 'debug'].map((kind) => join(root, 'target', kind, 'tilemark')).find(existsSync);
  if (!program) throw new Error('no program was built; TILEMARK_BIN names one');
  const runs = mkdtempSync(join(tmpdir(), 'tilemark-pictures-'));
  execFileSync(program, ['simulate', ...LADDER, '--out', runs], { stdio: ['ignore', 'ignore', 'inherit'] });
  const id = readdirSync(runs).find((name) => /^\d{8}T/.test(name));
  const server = spawn(program, ['serve', runs, '--listen', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const origin = await new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (part) => {
      text += part;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(new URL(found[0]).origin);
    });
    server.on('exit', (code) => reject(new Error(`serve ended with ${code}`)));
  });
  const stop = () => {
    server.removeAllListeners('exit');
    server.kill();
    rmSync(runs, { recursive: true, force: true });
  };
  return { address: `${origin}/run/${id}`, stop };
}

const given = process.env.TILEMARK_URL;
if (set !== 'readme' && !given) throw new Error('TILEMARK_URL names the run to look at');
const { address, stop } = given ? { address: given, stop: () => undefined } : await served();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
});

/** The pixels of a PNG; the browser decodes it. */
async function pixels(page, file) {
  const text = await page.evaluate(async (data) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
    context.drawImage(image, 0, 0);
    const found = context.getImageData(0, 0, image.width, image.height).data;
    let binary = '';
    for (let at = 0; at < found.length; at += 32768) binary += String.fromCharCode(...found.subarray(at, at + 32768));
    return btoa(binary);
  }, file.toString('base64'));
  return Buffer.from(text, 'base64');
}

try {
  const out = join(root, 'docs/pictures');
  mkdirSync(out, { recursive: true });
  const blank = await browser.newPage();
  for (const { name, path, part, width, height } of SETS[set]) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: 'light' });
    await page.goto(`${address}${path}`);
    // A run that lost a host before anything was measured has no chart.
    await page.waitForFunction(
      (isAlone) => (isAlone || document.querySelector('figure.chart .surface, figure.chart svg')) && !document.querySelector('[aria-busy="true"]'),
      set === 'lost',
    );
    // Some show what stands further down.
    if (part) {
      await page.getByRole('heading', { name: part }).first().evaluate((heading) => {
        window.scrollBy(0, heading.getBoundingClientRect().top - 80);
      });
    }
    await page.waitForTimeout(500);
    const file = png(await pixels(blank, await page.screenshot()), width, height);
    writeFileSync(join(out, `${name}.png`), file);
    console.log(`docs/pictures/${name}.png: ${Math.round(file.length / 1000)} kB`);
    await page.close();
  }
} finally {
  await browser.close();
  stop();
}
