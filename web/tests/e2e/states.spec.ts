import { expect, test } from '@playwright/test';
import { chart, FINISHED, LIVE, open, PAGES, settled } from './pages';

for (const [name, path] of PAGES('empty')) {
  test(`${name} of an empty run says that there is nothing`, async ({ page }) => {
    const found: string[] = [];
    page.on('pageerror', (error) => found.push(String(error)));
    await open(page, path);
    await expect(page.locator('main')).not.toBeEmpty();
    expect(await page.locator('main').innerText()).not.toMatch(/NaN|Infinity|undefined|null/);
    // Nothing is explained, waited for or exported where nothing is drawn.
    await expect(page.locator('figure.chart .legend')).toHaveCount(0);
    await expect(page.locator('main')).not.toContainText('nothing to show yet');
    expect(found).toEqual([]);
  });
}

for (const [name, path] of PAGES('big-100')) {
  test(`${name} of 100 tiles and 3 hours`, async ({ page }) => {
    const found: string[] = [];
    page.on('pageerror', (error) => found.push(String(error)));
    await open(page, path);
    await expect(page.locator('main')).toContainText(/tiles?/);
    expect(found).toEqual([]);
  });
}

test('a server that dies leaves its data and a banner, and comes back', async ({ page, context }) => {
  await open(page, `/run/${LIVE}`);
  await expect(chart(page, 'I/Os a second').getByRole('application')).toBeVisible();
  await context.setOffline(true);
  const banner = page.getByRole('alert').filter({ hasText: 'The server has not answered since' });
  // An open stream of events is not cut by the browser's own switch, so something is asked for.
  await page.getByRole('group', { name: 'Direction', exact: true }).getByRole('button', { name: 'Reads' }).click();
  await expect(banner).toBeVisible({ timeout: 10_000 });
  await expect(chart(page, 'I/Os a second').getByRole('application')).toBeVisible();
  await expect(page.locator('.lead, .answer .big').first()).toBeVisible();
  await context.setOffline(false);
  await expect(banner).toHaveCount(0, { timeout: 15_000 });
  await settled(page);
});

test('a slow answer keeps what was shown', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  await page.route('**/series?*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.continue();
  });
  await page.getByRole('group', { name: 'Direction', exact: true }).getByRole('button', { name: 'Writes' }).click();
  await expect(chart(page, 'I/Os a second').getByRole('application')).toBeVisible();
  await expect(chart(page, 'I/Os a second')).toContainText('writes: IOPS was highest', { timeout: 8000 });
});

test('shares of sizes that are not known yet are no 0 %', async ({ page }) => {
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route('**/overview**', async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`/run/${FINISHED}/workload`);
  const choice = page.getByRole('group', { name: 'Own choice of sizes and directions' });
  await expect(choice).toHaveAttribute('aria-busy', 'true');
  await expect(choice).not.toContainText('%');
  answer();
  await expect(choice).toHaveAttribute('aria-busy', 'false');
  await expect(choice).toContainText('24 %');
});

test('an answer that says no is shown where it belongs', async ({ page }) => {
  await page.route('**/heatmap*', (route) => route.fulfill({
    status: 400, contentType: 'application/problem+json', body: JSON.stringify({ type: 'about:blank', title: 'no', detail: 'rows: 1 to 240', status: 400 }),
  }));
  await page.goto(`/run/${FINISHED}`);
  await expect(chart(page, 'Latency of every I/O').getByRole('alert')).toContainText('rows: 1 to 240');
  await expect(page.locator('.answer .big').first()).toContainText('7 tiles');
});

for (const [name, path] of PAGES('order-1').filter(([name]) => name !== 'tier')) {
  test(`${name} of a trace without times and latencies says so once`, async ({ page }) => {
    await open(page, path);
    const main = page.locator('main');
    await expect(main.getByText('came in their order, without times and latencies')).toHaveCount(1);
    for (const title of ['I/Os a second', 'Throughput', 'Latency', 'Latency of every I/O', 'Latency of every I/O over time', 'What made it wait', 'Where it breaks']) {
      await expect(page.locator('figure.chart').getByRole('heading', { name: title, exact: true })).toHaveCount(0);
    }
    expect(await main.innerHTML()).not.toMatch(/NaN|Infinity/);
    await expect(page.locator('figure.chart').filter({ hasText: /IOPS/ })).toHaveCount(0);
  });
}

test('a running step shows its limits and who is in the way', async ({ page }) => {
  await open(page, `/run/${LIVE}`);
  const answer = page.getByRole('region', { name: 'The answer so far' });
  await expect(answer.getByRole('row', { name: /shop order p95/ })).toContainText('over');
  await expect(answer.getByRole('row', { name: /web page p95/ })).toContainText('no sample yet');
  await expect(answer).toContainText('most of it cc');
});
