import { expect, test } from '@playwright/test';
import { chart, FINISHED, open } from './pages';

test('a chart is read, zoomed and left with keys alone', async ({ page }) => {
  await open(page, `/run/${FINISHED}/latency`);
  const frame = chart(page, 'Latency of every I/O over time');
  const surface = frame.getByRole('application');
  await surface.focus();
  await page.keyboard.press('ArrowRight');
  const said = frame.locator('[aria-live]');
  await expect(said).toContainText('I/O');
  const first = await said.textContent();
  await page.keyboard.press('Shift+ArrowRight');
  await expect(said).not.toHaveText(first ?? '');
  const there = await said.textContent();
  await page.keyboard.press('ArrowUp');
  await expect(said).not.toHaveText(there ?? '');
  await page.keyboard.press('+');
  await expect(page).toHaveURL(/[?&]t=/);
  await page.keyboard.press('Escape');
  await expect(page).not.toHaveURL(/[?&]t=/);
  await expect(surface).toBeFocused();
});

test('a span is brushed, a moment opened and closed, focus comes back', async ({ page }) => {
  await open(page, `/run/${FINISHED}/latency`);
  const surface = chart(page, 'I/Os a second').getByRole('application');
  await surface.focus();
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('b');
  for (let i = 0; i < 4; i += 1) await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('b');
  await expect(page).toHaveURL(/t=10-51/);
  // Enter opens the moment under the cursor: of the span, once its numbers are drawn.
  await expect(surface).not.toHaveClass(/stale/);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/at=/);
  await expect(page.locator('aside')).toBeFocused();
  const next = page.getByRole('button', { name: 'Next spike' });
  // A key on a button that is off does nothing, and nothing waits for it.
  await expect(next).toBeEnabled();
  await next.press('Enter');
  await expect(page.locator('aside h2')).toContainText('00:37');
  await page.keyboard.press('Escape');
  await expect(page.locator('aside')).toHaveCount(0);
});

test('t opens the table and turns its pages', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  const frame = chart(page, 'I/Os a second');
  await frame.getByRole('application').focus();
  await page.keyboard.press('t');
  await expect(frame.locator('tbody tr')).toHaveCount(25);
  await frame.getByRole('button', { name: 'Later rows' }).press('Enter');
  await expect(frame.locator('caption')).toContainText('rows 26 to 50');
});

test('keys choose sizes and directions, go to pages, and can be switched off', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  await page.keyboard.press('6');
  await expect(page).toHaveURL(/bs=64k/);
  await page.keyboard.press('w');
  await expect(page).toHaveURL(/bs=64k&dir=w/);
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await expect(page).toHaveURL(/latency\?bs=64k&dir=w/);
  await page.keyboard.press('/');
  await page.keyboard.type('tile 3');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/tile=3/);
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog');
  await expect(help).toBeVisible();
  await help.getByRole('checkbox').uncheck();
  await help.getByRole('button', { name: 'Close' }).click();
  await page.locator('h1').click();
  await page.keyboard.press('r');
  await expect(page).not.toHaveURL(/dir=r/);
});

test('everything is reached with Tab, and the focus is seen', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  const names = new Set<string>();
  for (let i = 0; i < 70; i += 1) {
    await page.keyboard.press('Tab');
    const name: string | null = await page.evaluate(() => {
      const at = document.activeElement as HTMLElement | null;
      return at && at !== document.body ? `${at.getAttribute('aria-label') ?? at.textContent?.trim().slice(0, 40)}|${getComputedStyle(at).outlineStyle}` : null;
    });
    if (name) names.add(name);
  }
  const text = [...names].join('\n');
  for (const wanted of ['To the content', 'Latency', 'IOPS', 'How many tiles it holds', 'I/Os a second', 'Latency of every I/O', 'Block sizes']) {
    expect(text).toContain(wanted);
  }
  expect([...names].filter((name) => name.endsWith('|none'))).toEqual([]);
});

test('? explains the words of the page first and the keys after them', async ({ page }) => {
  await open(page, `/run/${FINISHED}`);
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Words, charts and keys' });
  for (const word of ['tile', 'score', 'limit', 'inconclusive', 'footprint']) {
    await expect(help.getByRole('term').filter({ hasText: new RegExp(`^${word}$`) })).toBeVisible();
  }
  const titles = await help.getByRole('heading', { level: 3 }).allTextContents();
  expect(titles.slice(0, 2)).toEqual(['Words', 'Charts']);
  expect(titles.at(-1)).toBe('Anywhere');
});
