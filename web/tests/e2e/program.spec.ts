// The program itself: TILEMARK_BIN serves a run of its own with the page that it carries. A short
// simulated run is made once; TILEMARK_TEST_RUNS names a directory of runs to take instead.
import { expect, test, type Page } from '@playwright/test';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Series } from '../../src/lib/api/types';
import { accessible, chart, errors, PAGES, printed, settled } from './pages';

const program = process.env['TILEMARK_BIN'] ?? '';
const can = (command: string): boolean => {
  try {
    execFileSync(program, [command, '--help'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

test.describe.configure({ mode: 'serial' });
test.skip(!program || !existsSync(program) || !can('serve'), 'TILEMARK_BIN names no program that can serve');

let runs = '';
let id = '';
let server: ChildProcess | null = null;
let base = '';
/** Where the page is; the program's own address unless TILEMARK_TEST_PAGE stands before it. */
let pages = '';
let carries = false;

/** Starts serving; the address is what the program prints. */
async function serve(listen: string): Promise<string> {
  const child = spawn(program, ['serve', runs, '--listen', listen], { stdio: ['ignore', 'pipe', 'ignore'] });
  server = child;
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (part: Buffer) => {
      text += String(part);
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(new URL(found[0]).origin);
    });
    child.on('exit', (code) => reject(new Error(`serve ended with ${code}`)));
  });
}

const open = async (page: Page, path: string): Promise<void> => {
  await page.goto(pages + path);
  await settled(page);
};

test.beforeAll(async () => {
  test.setTimeout(240_000);
  runs = process.env['TILEMARK_TEST_RUNS'] ?? '';
  if (!runs) {
    runs = mkdtempSync(join(tmpdir(), 'tilemark-page-'));
    const options = ['--tiles', '1..2', '--array', 'nvme-local', '--tile', 'datacenter', '--quick', '--duration', '20s', '--warm-up-max', '30s', '--out', runs];
    execFileSync(program, ['simulate', ...options], { stdio: 'ignore' });
  }
  id = readdirSync(runs).filter((name) => /^\d{8}T/.test(name)).sort().at(-1) ?? '';
  base = await serve(process.env['TILEMARK_TEST_LISTEN'] ?? '0');
  pages = process.env['TILEMARK_TEST_PAGE'] ?? base;
  carries = (await (await fetch(pages)).text()).includes('id="app"');
});

test.afterAll(() => {
  server?.kill('SIGKILL');
  if (!process.env['TILEMARK_TEST_RUNS'] && runs) rmSync(runs, { recursive: true, force: true });
});

test.beforeEach(() => {
  test.skip(!carries, 'the program was built without the page');
});

test('every page of a run', async ({ page }) => {
  const found = errors(page);
  for (const [, path] of [...PAGES(id), ['runs', '/'], ['compare', `/compare?a=${id}&b=${id}`], ['study', '/study']]) {
    await open(page, path ?? '/');
    await expect(page.locator('main')).not.toBeEmpty();
    expect(await page.locator('main').innerText(), path).not.toMatch(/NaN|Infinity|undefined/);
    await accessible(page);
  }
  expect(found).toEqual([]);
});

test('the table is the answer of the interface', async ({ page, request }) => {
  await open(page, `/run/${id}`);
  const doc = (await (await request.get(`${base}/api/v1/runs/${id}/series`)).json()) as Series;
  const frame = chart(page, 'I/Os a second');
  await frame.getByRole('button', { name: 'Table' }).click();
  const first = await frame.locator('tbody tr').first().locator('td').evaluateAll((cells) => cells.map((cell) => (cell as HTMLElement).dataset['value'] ?? ''));
  expect(first.slice(0, 1 + doc.groups.length)).toEqual([doc.at_ns[0], ...doc.groups.map((group) => group.mean[0] ?? '')].map(String));
});

test('a recorded trace that comes to lie beside the runs is listed and opens', async ({ page }) => {
  test.skip(!!process.env['TILEMARK_TEST_RUNS'], 'nothing is put into runs of somebody else');
  cpSync(join(import.meta.dirname, '../../../crates/see/capture/samples/mixed.tmt'), join(runs, 'mixed.tmt'), { recursive: true });
  await open(page, '/');
  await expect(page.locator('.lead')).toContainText('1 run and 1 trace');
  await page.getByRole('link', { name: 'mixed on loop0' }).click();
  await settled(page);
  await expect(page.locator('.lead').first()).toContainText('Observed: ');
});

test('the report of the run opens without the program', async ({ page }) => {
  const report = join(runs, id, 'report.html');
  test.skip(!existsSync(report), 'the run has no report');
  await page.goto(pathToFileURL(report).href);
  test.skip((await page.locator('#app').count()) === 0, 'the report was written without the page');
  await settled(page);
  await expect(page.locator('.lead, .answer .big').first()).not.toBeEmpty();
  await accessible(page);
  const found = errors(page);
  for (const [name, path] of PAGES(id)) {
    await page.goto(`${pathToFileURL(report).href}#${path}`);
    await expect(page.getByRole('navigation').getByRole('link', { name, exact: false }).and(page.locator('[aria-current="page"]'))).toBeVisible();
    await settled(page);
    await expect(page.getByRole('alert')).toHaveCount(0);
    expect(await page.locator('main').innerText(), name).not.toMatch(/NaN|Infinity|undefined|Not quite what was asked for/);
  }
  await page.goto(`${pathToFileURL(report).href}#/compare`);
  await expect(page.locator('.lead')).toContainText('This report holds one run');
  expect(found).toEqual([]);
  await page.goto(`${pathToFileURL(report).href}#/`);
  await settled(page);
  await page.emulateMedia({ media: 'print' });
  await printed(page, 'Model of the array, SHA-256');
  expect((await page.pdf({ format: 'A4' })).length).toBeGreaterThan(20_000);
});

test('killed in the middle: a banner, the data stays; started again: it goes on', async ({ page }) => {
  test.skip(pages !== base, 'something else stands before the program');
  await open(page, `/run/${id}`);
  const frame = chart(page, 'I/Os a second');
  await expect(frame.getByRole('application')).toBeVisible();
  server?.removeAllListeners('exit');
  server?.kill('SIGKILL');
  await page.getByRole('group', { name: 'Direction', exact: true }).getByRole('button', { name: 'Reads' }).click();
  const banner = page.getByRole('alert').filter({ hasText: 'The server has not answered since' });
  await expect(banner).toBeVisible({ timeout: 15_000 });
  await expect(frame.getByRole('application')).toBeVisible();
  await serve(new URL(base).port);
  await expect(banner).toHaveCount(0, { timeout: 20_000 });
});
