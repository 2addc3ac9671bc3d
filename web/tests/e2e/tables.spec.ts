import { expect, test } from '@playwright/test';
import { readFileSync } from 'node:fs';
import type { HeatMap, LatencyMatrix, LoadMatrix, Overview, Series, TileCurve } from '../../src/lib/api/types';
import { accessible, chart, FINISHED, open } from './pages';
import { tableOf } from './tables';

const text = (value: number | string | null | undefined): string => (value === null || value === undefined ? '' : String(value));

test('lines: the table is the answer of the interface', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}?t=60-160`);
  const doc = (await (await request.get(`/api/v1/runs/${FINISHED}/series?t=60-160`)).json()) as Series;
  const rows = await tableOf(page, 'I/Os a second');
  expect(rows).toEqual(doc.at_ns.map((at, i) => [text(at), ...doc.groups.map((group) => text(group.mean[i]))]));
});

test('of many sizes the lines that make up the latency are drawn, others on demand, and the table has all', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}/latency?by=bs`);
  const doc = (await (await request.get(`/api/v1/runs/${FINISHED}/series?by=bs&m=lat`)).json()) as Series;
  const legend = chart(page, 'Latency over time').getByRole('group', { name: 'Lines that are drawn' });
  const pressed = legend.locator('button[aria-pressed="true"]');
  const all = doc.groups.length;
  const few = await pressed.count();
  expect(few).toBeGreaterThan(0);
  expect(few).toBeLessThan(all);
  await expect(legend).toContainText(`${few} of ${all} are drawn, with`);
  await legend.locator('button[aria-pressed="false"]').first().press('Enter');
  await expect(pressed).toHaveCount(few + 1);
  await expect(page).toHaveURL(/lines=/);
  await legend.getByRole('button', { name: 'Draw all' }).click();
  await expect(pressed).toHaveCount(all);
  await accessible(page);
  await legend.getByRole('button', { name: 'Those that wait most' }).click();
  await expect(pressed).toHaveCount(few);
  const head = await chart(page, 'Latency over time').getByRole('button', { name: 'Table' }).click().then(() => chart(page, 'Latency over time').locator('thead th').count());
  expect(head).toBe(1 + 2 * all);
});

test('heat map', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}?t=60-160`);
  const doc = (await (await request.get(`/api/v1/runs/${FINISHED}/heatmap?rows=60&t=60-160`)).json()) as HeatMap;
  const rows = await tableOf(page, 'Latency of every I/O');
  const count = (cells: number[]): number => cells.filter((_, i) => i % 2).reduce((sum, one) => sum + one, 0);
  expect(rows).toEqual(doc.at_ns.map((at, i) => [text(at), text(count(doc.columns[i] ?? [])), text(doc.p99_ns[i]), text(doc.max_ns[i])]));
});

test('sizes, and the tile curve', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}`);
  const overview = (await (await request.get(`/api/v1/runs/${FINISHED}/overview`)).json()) as Overview;
  const sizes = await tableOf(page, 'Block sizes: reads up');
  expect(sizes.map((row) => row.slice(1, 5))).toEqual(
    overview.sizes.map((row) => [row.direction, text(row.count), text(row.bytes), text(row.share_of_count)]));
  const curve = (await (await request.get(`/api/v1/runs/${FINISHED}/curve`)).json()) as TileCurve;
  const rows = await tableOf(page, 'How many tiles it holds');
  expect(rows.map((row) => [row[0], row[3], row[7]])).toEqual(
    curve.points.map((point) => [text(point.tiles), text(point.operations_per_s), text(point.limits[0]?.measured_ns)]));
});

test('matrices', async ({ page, request }) => {
  await open(page, `/run/${FINISHED}/latency`);
  // Both before turning pages: a connection left alone is closed, which the next question would meet.
  const matrix = (await (await request.get(`/api/v1/runs/${FINISHED}/matrix`)).json()) as LatencyMatrix;
  const breaks = (await (await request.get(`/api/v1/runs/${FINISHED}/breaks`)).json()) as LoadMatrix;
  const rows = await tableOf(page, 'Where time goes');
  expect(rows.map((row) => Number(row[3]))).toEqual(matrix.panels.flatMap((panel) => panel.cells.flat().filter((count) => count > 0)));
  const cells = await tableOf(page, 'Where it breaks');
  expect(cells.map((row) => [row[0], Number(row[3]), Number(row[4])])).toEqual(breaks.cells.map((cell) => [cell.direction, cell.count, cell.p99_ns]));
});

test('the file of numbers holds what the table holds', async ({ page }) => {
  await open(page, `/run/${FINISHED}?t=60-160`);
  const [download] = await Promise.all([
    page.waitForEvent('download'), chart(page, 'I/Os a second').getByRole('button', { name: 'CSV' }).click(),
  ]);
  const lines = readFileSync(await download.path(), 'utf8').split('\r\n');
  expect(lines[0]).toContain('Time [ns],');
  const rows = await tableOf(page, 'I/Os a second');
  expect(lines.slice(1)).toEqual(rows.map((row) => row.join(',')));
});

test('the picture is one', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  for (const title of ['How many tiles it holds', 'Latency of every I/O']) {
    const [download] = await Promise.all([page.waitForEvent('download'), chart(page, title).getByRole('button', { name: 'PNG' }).click()]);
    const bytes = readFileSync(await download.path());
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(bytes.length).toBeGreaterThan(10_000);
  }
});
