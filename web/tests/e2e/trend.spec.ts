import { expect, test } from '@playwright/test';
import { accessible, chart, open, settled } from './pages';
import { tableOf } from './tables';

test('several runs are chosen in the list and stand side by side at an address of their own', async ({ page }) => {
  await open(page, '/');
  for (const id of ['big-100', 'ladder-10', 'tier-4']) await page.getByRole('checkbox', { name: `Choose ${id} to compare` }).check();
  await expect(page.getByRole('link', { name: 'Compare the two chosen' })).toHaveCount(0);
  await page.getByRole('link', { name: 'Put the chosen side by side' }).click();
  await expect(page).toHaveURL(/\/trend\?runs=ladder-10,big-100,tier-4$/);
  await settled(page);
  await expect(page.locator('.lead')).toContainText('2 runs against the first');
  const before = await page.locator('main').innerText();
  await page.goto('about:blank');
  await open(page, '/trend?runs=ladder-10,big-100,tier-4');
  expect(await page.locator('main').innerText()).toBe(before);
  await page.getByRole('button', { name: 'Take out run 2' }).click();
  await expect(page).toHaveURL(/\/trend\?runs=ladder-10,tier-4$/);
  await expect(page.locator('.lead')).toContainText('1 runs against the first');
});

test('each figure is read with keys, and its table says each verdict', async ({ page }) => {
  await open(page, '/trend?runs=ladder-10,tier-4,big-100');
  const frame = chart(page, 'IOPS');
  await frame.getByRole('application').focus();
  await page.keyboard.press('ArrowRight');
  await expect(frame.locator('[aria-live]')).toContainText(/tiles?: run 1 .* IOPS, run 2 .* IOPS, (worse|better|same|inconclusive): \+18\.0 %/);
  const rows = await tableOf(page, 'IOPS');
  expect(rows.filter((row) => row[0] === '1: ladder-10').every((row) => row[3] === '')).toBe(true);
  expect(new Set(rows.map((row) => row[3]))).toEqual(new Set(['', 'worse', 'better', 'same', 'inconclusive']));
  await accessible(page);
});

test('without runs, and with an unknown one, the page says so', async ({ page }) => {
  await open(page, '/trend');
  await expect(page.locator('.lead')).toContainText('Choose several runs');
  await page.goto('/trend?runs=ladder-10,nobody');
  await expect(page.getByRole('alert')).toContainText('there is no such run');
});
