import { expect, test } from '@playwright/test';
import { accessible, errors, FINISHED, LIVE, OF_COLOURS, OF_WIDTH, open, OTHERS, PAGES } from './pages';

for (const [name, path] of [...PAGES(FINISHED), ...OTHERS]) {
  test(`${name} shows itself, fits a screen of 360 pixels and is accessible, light and dark`, async ({ page }) => {
    const found = errors(page);
    await page.emulateMedia({ colorScheme: 'light' });
    await open(page, path);
    await expect(page.locator('main')).not.toBeEmpty();
    await accessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await accessible(page, OF_COLOURS);
    await page.setViewportSize({ width: 360, height: 780 });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await accessible(page, OF_WIDTH);
    expect(found).toEqual([]);
  });
}

for (const [name, path] of PAGES(LIVE)) {
  test(`${name} of a running run goes on by itself`, async ({ page }) => {
    const found = errors(page);
    await page.goto(path);
    const live = page.locator('.live');
    await expect(live).toContainText('under load');
    const before = await live.textContent();
    await expect(live).not.toHaveText(before ?? '', { timeout: 8000 });
    expect(found).toEqual([]);
  });
}

test('the overview answers in its first sentence, with units, and deep links lead to the proof', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  const answer = page.getByRole('region', { name: 'The answer' });
  await expect(answer.locator('.big').first()).toContainText('7 tiles');
  await expect(answer).toContainText('quick estimate, disks 1/512');
  await expect(answer).toContainText('112 ms of 100 ms');
  await expect(answer).toContainText('disturbed');
  const [above, below] = await Promise.all([answer.boundingBox(), page.getByRole('region', { name: /^Lens/ }).boundingBox()]);
  expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual((below?.y ?? 0) + 1);
  await expect(page.getByText('breaks at 8').first()).toBeVisible();
  await page.locator('.findings a').first().click();
  await expect(page).toHaveURL(/workload\?by=bs&dir=w&m=lat/);
  await expect(page.getByRole('combobox', { name: 'Break down by' })).toHaveValue('bs');
});

test('a run over hosts says what each did, and is looked at host by host', async ({ page }) => {
  await open(page, '/run/big-100');
  const table = page.getByRole('region', { name: /^Hosts with/ }).getByRole('table');
  await expect(table.getByRole('row').nth(2)).toContainText('1.8 times (1.7 to 1.9), 120,000 I/Os');
  await accessible(page);
  await page.getByRole('button', { name: 'pve2', exact: true }).click();
  await expect(page).toHaveURL(/big-100\?host=pve2$/);
  await page.getByRole('combobox', { name: 'Break down by' }).selectOption('host');
  await expect(page).toHaveURL(/big-100\?by=host&host=pve2$/);
  await page.getByRole('button', { name: 'Show everything' }).click();
  await expect(page).toHaveURL(/big-100\?by=host$/);
  await open(page, `/run/${FINISHED}`);
  await expect(page.getByRole('heading', { name: /^Hosts/ })).toHaveCount(0);
  await expect(page.getByRole('combobox', { name: 'Break down by' })).not.toContainText('Host');
});

test('an unknown run says so', async ({ page }) => {
  await page.goto('/run/nobody');
  await expect(page.getByRole('alert')).toContainText('there is no run nobody');
});

test('an unknown page says so', async ({ page }) => {
  await page.goto('/zoo');
  await expect(page.locator('main')).toContainText('There is no page');
});

for (const [name, path] of [
  ['the map with pins', `/run/${FINISHED}/map?pin=tile-1/shop,tile-2/web`], ['the tier of a model', '/run/tier-4/tier'], ['studies', '/study'], ['an empty comparison', '/compare'],
] as const) {
  test(`${name} is accessible with its tables open`, async ({ page }) => {
    await open(page, path);
    for (const button of (await page.getByRole('button', { name: 'Table', exact: true }).all()).slice(0, 2)) await button.click();
    // What the bar at the top covers by chance is not looked at.
    await page.evaluate(() => scrollTo(0, 0));
    await accessible(page);
  });
}
