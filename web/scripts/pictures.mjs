// Makes the README's two pictures: a ladder is simulated, served, and looked at. TILEMARK_BIN names
// the program; TILEMARK_URL=http://127.0.0.1:PORT/run/ID is looked at instead, if it is given.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { png } from './png.mjs';

const root = new URL('../..', import.meta.url).pathname;
const LADDER = ['--array', 'vnx5500', '--tile', 'datacenter', '--tiles', '1..5', '--quick', '--seed', '1', '--duration', '30s', '--warm-up-min', '10s', '--warm-up-max', '15s'];
const PICTURES = [
  { name: 'overview', path: '', height: 1060 },
  { name: 'latency', path: '/latency', height: 1060 },
];

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
  for (const { name, path, height } of PICTURES) {
    const page = await browser.newPage({ viewport: { width: 1280, height }, colorScheme: 'light' });
    await page.goto(`${address}${path}`);
    await page.waitForFunction(() => document.querySelector('figure.chart .surface') && !document.querySelector('[aria-busy="true"]'));
    await page.waitForTimeout(500);
    const file = png(await pixels(blank, await page.screenshot()), 1280, height);
    writeFileSync(join(out, `${name}.png`), file);
    console.log(`docs/pictures/${name}.png: ${Math.round(file.length / 1000)} kB`);
    await page.close();
  }
} finally {
  await browser.close();
  stop();
}
