import { expect, test } from '@playwright/test';
import type { ComparePage, MapPage, TierPage } from '../../src/lib/api/types';
import { accessible, chart, FINISHED, open } from './pages';
import { tableOf } from './tables';

const text = (value: number | string | null | undefined): string => (value === null || value === undefined ? '' : String(value));

test('the map is read and opened with keys alone, Tab goes from one to the next', async ({ page }) => {
  await open(page, `/run/${FINISHED}/map`);
  const frame = chart(page, 'Who does how much');
  const surface = frame.getByRole('application');
  await surface.focus();
  await page.keyboard.press('ArrowRight');
  const said = frame.locator('[aria-live]');
  await expect(said).toContainText('tile-1/shop:');
  await expect(said).toContainText('IOPS');
  await page.keyboard.press('Tab');
  await expect(surface).toBeFocused();
  await expect(said).not.toContainText('tile-1/shop:');
  await page.keyboard.press('Shift+Tab');
  await expect(said).toContainText('tile-1/shop:');
  // Without a cursor Tab leads out of the chart: it is no trap.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  await expect(surface).not.toBeFocused();
  await surface.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/workload\?tile=1&wl=shop$/);
  await page.goBack();
  await expect(page).toHaveURL(/map$/);
});

test('dots are reached one by one, axes are in the address', async ({ page }) => {
  await open(page, `/run/${FINISHED}/map`);
  const frame = chart(page, 'p99 service time by IOPS');
  await frame.getByRole('combobox', { name: 'Across' }).selectOption('bw');
  await expect(page).toHaveURL(/map\?x=bw$/);
  const surface = chart(page, 'p99 service time by Throughput').getByRole('application');
  await surface.focus();
  await page.keyboard.press('ArrowRight');
  const said = chart(page, 'p99 service time by Throughput').locator('[aria-live]');
  await expect(said).toContainText('Throughput');
  const first = await said.textContent();
  await page.keyboard.press('Tab');
  await expect(said).not.toHaveText(first ?? '');
});

test('the search narrows the list as it is typed, four are pinned at most, pins are in the address', async ({ page }) => {
  await open(page, `/run/${FINISHED}/map`);
  await page.keyboard.press('/');
  await page.keyboard.type('web');
  const list = page.getByRole('group', { name: 'The same, sorted' });
  await expect(list.locator('caption')).toContainText('10 workloads found by “web”');
  for (const tile of [1, 2, 3, 4, 5]) await list.getByRole('button', { name: `Pin tile-${tile}/web`, exact: true }).click();
  await expect(page).toHaveURL(/pin=tile-2%2Fweb,tile-3%2Fweb,tile-4%2Fweb,tile-5%2Fweb/);
  await expect(page.getByRole('heading', { name: 'Pinned: 4 of 4' })).toBeVisible();
  const address = page.url();
  await page.goto('about:blank');
  await open(page, address);
  await expect(page.getByRole('heading', { name: 'Pinned: 4 of 4' })).toBeVisible();
  await page.getByRole('button', { name: 'Unpin tile-2/web' }).click();
  await expect(page.getByRole('heading', { name: 'Pinned: 3 of 4' })).toBeVisible();
});

test('the map: the table is the answer of the interface', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}/map?step=8`);
  const doc = (await (await request.get(`/api/v1/runs/${FINISHED}/map?step=8`)).json()) as MapPage;
  const rows = await tableOf(page, 'Who does how much');
  const wanted = [...doc.items].sort((a, b) => b.operations_per_s - a.operations_per_s).map((item) => [
    item.name, text(item.host), text(item.count), text(item.operations_per_s), text(item.bytes_per_s), text(item.bytes), text(item.read_share), text(item.p50_ns),
    text(item.p99_ns), text(item.limit?.name), text(item.limit?.measured_ns), text(item.limit?.limit_ns), text(item.limit?.ratio), text(item.limit?.samples), text(item.limit?.verdict),
  ]);
  expect(rows).toEqual(wanted);
});

test('the tier: tables are the answer of the interface, heroes lead to their proof', async ({ page, request }) => {
  await open(page, '/run/tier-4/tier');
  const doc = (await (await request.get('/api/v1/runs/tier-4/tier?points=300')).json()) as TierPage;
  const tier = doc.tiers[0];
  if (!tier) throw new Error('there is no tier');
  const moved = await tableOf(page, 'Population and eviction');
  expect(moved).toEqual(tier.at_ns.map((at, i) => [at, tier.placed_bytes[i], tier.filled_bytes[i], tier.evicted_bytes[i]].map(text)));
  const rates = await tableOf(page, 'Acceleration rate');
  expect(rates.map((row) => [row[1], row[2], row[4], row[5]])).toEqual(
    tier.at_ns.map((_at, i) => [tier.reads[i], tier.read_hits[i], tier.writes[i], tier.writes_absorbed[i]].map(text)));
  const gap = await tableOf(page, 'Reads: what is seen');
  expect(gap).toEqual(tier.at_ns.map((at, i) => [at, tier.observed_read_p99_ns[i], tier.backing_read_p99_ns[i]].map(text)));
  await page.getByRole('button', { name: 'Latency saved' }).click();
  await expect(chart(page, 'Reads: what is seen').getByRole('application')).toBeFocused();
});

test('without a tier the page explains itself', async ({ page }) => {
  await open(page, `/run/${FINISHED}/tier`);
  await expect(page.locator('.lead')).toContainText('No acceleration tier took part');
  await expect(page.locator('figure.chart')).toHaveCount(0);
});

test('two runs: differences come first, the table is the answer, the address reopens it', async ({ page, request }) => {
  await open(page, '/compare');
  await page.getByRole('combobox', { name: 'A, the baseline' }).selectOption('ladder-10');
  await page.getByRole('combobox', { name: 'B, held against it' }).selectOption('tier-4');
  await expect(page).toHaveURL(/compare\?a=ladder-10&b=tier-4$/);
  const doc = (await (await request.get('/api/v1/compare?a=ladder-10&b=tier-4')).json()) as ComparePage;
  await expect(page.locator('.lead')).toContainText(doc.sentence);
  const places = await page.locator('h2').allTextContents();
  expect(places.indexOf('What differs around them')).toBeLessThan(places.indexOf('Figure by figure'));
  await expect(page.getByRole('group', { name: 'Machine, target and program' })).toContainText('mq-deadline');
  const rows = await tableOf(page, 'Figure by figure');
  expect(new Set(rows.map((row) => `${row[0]} ${row[8]}`))).toEqual(new Set(doc.metrics.map((metric) => `${metric.name} ${metric.verdict}`)));
  expect(rows[0]?.[8]).toBe('worse');
  const moved = await tableOf(page, 'What moved');
  expect(moved).toHaveLength(doc.difference.flat().filter((value) => value !== 0).length);
  const surface = chart(page, 'What moved').getByRole('application');
  await surface.focus();
  await page.keyboard.press('ArrowRight');
  await expect(chart(page, 'What moved').locator('[aria-live]')).toContainText('below 4 KiB');
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await expect(page).toHaveURL(/compare\?a=tier-4&b=ladder-10$/);
});

test('runs are found, chosen by keys, and compared; nothing can be started or removed', async ({ page }) => {
  await open(page, '/');
  await expect(page.locator('.lead')).toContainText('5 runs and 2 traces');
  await page.getByRole('searchbox', { name: 'Find' }).fill('simulated');
  await expect(page).toHaveURL(/\?name=simulated$/);
  await expect(page.getByRole('group', { name: 'Stored runs' }).locator('tbody tr')).toHaveCount(1);
  await page.getByRole('searchbox', { name: 'Find' }).fill('');
  await page.getByRole('checkbox', { name: 'Choose ladder-10 to compare' }).press('Space');
  await page.getByRole('checkbox', { name: 'Choose tier-4 to compare' }).press('Space');
  await page.getByRole('link', { name: 'Compare the two chosen' }).press('Enter');
  await expect(page).toHaveURL(/compare\?a=.*&b=/);
  await page.goBack();
  const names = await page.getByRole('button').allTextContents();
  expect(names.filter((name) => /delete|remove|start|run now/i.test(name) && !/^Copy/.test(name))).toEqual([]);
  await expect(page.getByText('tilemark run --quick .').first()).toBeVisible();
});

test('without runs of one’s own the sample is shown, and what to type', async ({ page }) => {
  const list = await (await page.request.get('/api/v1/runs')).json() as { base: string; runs: { kind: string }[] };
  await page.route('**/api/v1/runs', (route) => route.fulfill({ json: { ...list, runs: [{ ...list.runs[0], kind: 'sample' }] } }));
  await open(page, '/');
  await expect(page.locator('.lead')).toContainText('no runs of your own yet');
  await expect(page.getByRole('heading', { name: 'Measure your own storage' })).toBeVisible();
  await expect(page.getByRole('group', { name: 'Stored runs' })).toContainText('Sample');
});

test('claims are filtered, the filter is in the address', async ({ page }) => {
  await open(page, '/study');
  await page.getByRole('link', { name: 'A published cluster, simulated' }).click();
  await expect(page.locator('.lead')).toContainText('2 of 3 predicted ones met');
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('predicted');
  await page.getByRole('combobox', { name: 'Outcome' }).selectOption('not-met');
  await expect(page).toHaveURL(/study\/vsan-6\?kind=predicted&sort=not-met$/);
  await expect(page.getByRole('group', { name: 'Published and ours' }).locator('tbody tr')).toHaveCount(1);
  await expect(page.getByRole('group', { name: 'Published and ours' })).toContainText('computes checksums on idle cores');
  await page.reload();
  await expect(page.getByRole('group', { name: 'Published and ours' }).locator('tbody tr')).toHaveCount(1);
});

test('the details of a run open with a key, are in the address, and close', async ({ page }) => {
  await open(page, `/run/${FINISHED}/latency`);
  await page.keyboard.press('i');
  await expect(page).toHaveURL(/latency\?panel=details$/);
  const panel = page.getByRole('dialog', { name: 'Details of this run' });
  await expect(panel).toContainText('same-device');
  await panel.getByText('Every verdict with its samples and interval: 10 verdicts').click();
  await expect(panel.getByRole('group', { name: 'Every verdict' }).locator('tbody tr')).toHaveCount(10);
  await panel.getByText('How it was measured').click();
  await expect(panel).toContainText('5974488841028774123');
  await page.reload();
  await expect(panel).toBeVisible();
  await accessible(page);
  await page.keyboard.press('Escape');
  await expect(panel).toHaveCount(0);
  await expect(page).toHaveURL(/latency$/);
});
