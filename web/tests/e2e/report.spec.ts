import { expect, test } from '@playwright/test';
import { mkdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Model, SCENARIOS } from '../fixtures/model';
import { writeReport } from '../fixtures/report';
import { accessible, chart, errors, PAGES, printed, settled } from './pages';

const out = resolve('test-results/report.html');
const address = pathToFileURL(out).href;

test.beforeAll(() => {
  mkdirSync('test-results', { recursive: true });
  const scenario = SCENARIOS.find(({ id }) => id === 'ladder-10');
  if (!scenario) throw new Error('no such scenario');
  writeReport(new Model(scenario), 'dist-report/index.html', out);
  expect(statSync(out).size).toBeLessThan(2.5e6);
});

test('opens from a file, without network, on the answer', async ({ page }) => {
  const found = errors(page);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  const started = Date.now();
  await page.goto(address);
  await expect(page.locator('.answer .big').first()).toContainText('7 tiles');
  await settled(page);
  test.info().annotations.push({ type: 'opened in', description: `${Date.now() - started} ms` });
  expect(asked.filter((url) => !/^(file|data|blob):/.test(url))).toEqual([]);
  expect(found).toEqual([]);
  await accessible(page);
});

test('the lens follows the hash, and what is not stored falls back and says so', async ({ page }) => {
  await page.goto(`${address}#/run/ladder-10/workload?by=bs&m=lat`);
  await settled(page);
  await expect(page.getByRole('combobox', { name: 'Break down by' })).toHaveValue('bs');
  await page.getByRole('group', { name: 'Direction', exact: true }).getByRole('button', { name: 'Writes' }).click();
  await expect(page).toHaveURL(/#\/run\/ladder-10\/workload\?by=bs&dir=w&m=lat/);
  await expect(chart(page, 'Throughput')).toContainText('Not quite what was asked for');
  await expect(chart(page, 'Throughput')).toContainText('reads and writes');
  await page.getByRole('navigation').getByRole('link', { name: 'Latency' }).click();
  await expect(page.locator('h2', { hasText: 'Where it breaks' })).toBeVisible();
});

test('a short address leads to its page', async ({ page }) => {
  await page.goto(`${address}#latency?at=80`);
  await settled(page);
  await expect(page.locator('aside h2')).toContainText('01:20');
  await expect(page.locator('aside')).toContainText('nearest stored moment');
});

test('prints every section, light, without controls', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(address);
  await settled(page);
  await page.emulateMedia({ media: 'print' });
  await printed(page, 'Machine: ');
  // Verdicts of tiles are more than a page of a table holds: paper has them all.
  const folds = page.locator('details', { hasText: 'The same for each tile' });
  const counted = Number(/(\d[\d,]*) verdicts/.exec(await folds.locator('summary').innerText())?.[1]?.replace(',', ''));
  await expect(folds.locator('tbody tr')).toHaveCount(counted);
  const pdf = await page.pdf({ format: 'A4' });
  expect(pdf.length).toBeGreaterThan(20_000);
  await page.emulateMedia({ media: 'screen' });
  await expect(page.locator('.lens')).toBeVisible();
});

test('on paper no chart is wider than the page or cut through, and the lens is said', async ({ page }) => {
  // 186 mm between the margins of A4.
  await page.setViewportSize({ width: 703, height: 1000 });
  for (const [, path] of PAGES('ladder-10')) {
    await page.goto('about:blank');
    await page.emulateMedia({ media: 'screen' });
    await page.goto(`${address}#${path}?dir=w`);
    await settled(page);
    await page.emulateMedia({ media: 'print' });
    await expect(page.getByText(/^Shown: .*writes only/)).toBeVisible();
    const wide = await page.locator('figure.chart').evaluateAll((charts) => charts.filter((chart) =>
      getComputedStyle(chart).breakInside !== 'avoid' || [...chart.querySelectorAll('svg, canvas')].some((part) => part.getBoundingClientRect().right > chart.getBoundingClientRect().right + 1)).map((chart) => chart.textContent));
    expect(wide, path).toEqual([]);
  }
});

test('holds one run, so Compare says what to do', async ({ page }) => {
  const found = errors(page);
  await page.goto(address);
  await settled(page);
  await page.getByRole('navigation').getByRole('link', { name: 'Compare' }).click();
  await expect(page.locator('.lead')).toContainText('holds one run');
  await expect(page.locator('code').first()).toHaveText('tilemark compare ladder-10 vs OTHER-RUN');
  await accessible(page);
  await page.getByRole('navigation').getByRole('link', { name: 'Map' }).click();
  await expect(page).toHaveURL(/#\/run\/ladder-10\/map$/);
  await settled(page);
  await expect(chart(page, 'Who does how much').getByRole('application')).toBeVisible();
  await page.goto('about:blank');
  await page.goto(`${address}#/compare`);
  await expect(page.locator('.lead')).toContainText('holds one run');
  expect(found).toEqual([]);
});

test('the template alone says what it is', async ({ page }) => {
  await page.goto(pathToFileURL(resolve('dist-report/index.html')).href);
  await expect(page.locator('body')).toContainText('template of a report');
});
